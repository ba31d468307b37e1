"""How a model's statements are held against their sources: true ones refused, and turned ones found.

    python -m benchmarks.flips [--output FILE]

The statements are a strong model's, as recorded of the bundled conversation (`benchmarks/recordings`), and
taken as true. One is turned by putting "not" behind its first auxiliary verb, or by leaving its "not" out.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from benchmarks import results
from benchmarks.consolidation import RECORDINGS, VIEWS, consolidate
from benchmarks.data import demo_conversation
from zibaldone.models.recorded import RecordedModel
from zibaldone.text.faithfulness import SourceTexts

_AUXILIARY = re.compile(r"\b(?:is|are|was|were|has|had|will|would|should|can|could)\b")
Refusals = dict[tuple[SourceTexts, tuple[str, ...], str], str]  # by sources, their texts, and statement
_NOT = re.compile(r"\b(?:not|no|never)\b |n't\b")


def turned(statement: str) -> tuple[str, str]:
    """Return ("put in" or "left out", the statement with its meaning turned); ("", "") if it cannot be."""
    if denial := _NOT.search(statement):
        plain = statement[: denial.start()] + statement[denial.end() :]
        return ("", "") if _NOT.search(plain) else ("left out", plain)
    verb = _AUXILIARY.search(statement)
    return ("put in", f"{statement[: verb.end()]} not{statement[verb.end() :]}") if verb else ("", "")


@contextmanager
def checked() -> Iterator[Refusals]:
    """Collect the refusals, "" for none, of all statements that are checked meanwhile."""
    texts_of: dict[int, tuple[SourceTexts, tuple[str, ...]]] = {}
    refusals: Refusals = {}
    begin, refuse = SourceTexts.__init__, SourceTexts.refusal

    def init(self: SourceTexts, texts: Sequence[str], context: str = "") -> None:
        given = tuple(texts)
        texts_of[id(self)] = self, given
        begin(self, given, context)

    def refusal(self: SourceTexts, statement: str) -> str:
        fault = refusals[self, texts_of[id(self)][1], statement] = refuse(self, statement)
        return fault

    with patch.object(SourceTexts, "__init__", init), patch.object(SourceTexts, "refusal", refusal):
        yield refusals


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, and print the shares."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flips", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("flips.json"))
    given = parser.parse_args(arguments)
    with checked() as refusals:
        for view in VIEWS:
            consolidate(demo_conversation(), view, RecordedModel(RECORDINGS / "bundled", on_miss="error"))
    statements = {(texts, statement): (given, fault) for (given, texts, statement), fault in refusals.items()}
    of, caught = Counter[str](), Counter[str]()
    for (_, statement), (sources, fault) in statements.items():
        of["true"] += 1
        caught["true"] += "opposite" in fault
        kind, other = turned(statement)
        if kind and not fault:
            of[f"not {kind}"] += 1
            caught[f"not {kind}"] += bool(sources.refusal(other))
    rows = [
        {
            "statements": kind,
            "of": of[kind],
            "refused": caught[kind],
            "share": f"{caught[kind] / of[kind]:.3f}",
        }
        for kind in of
    ]
    results.show("statements refused", rows)
    results.write(given.output, {"title": "Statements against their sources", "note": __doc__, "rows": rows})


if __name__ == "__main__":
    main()
