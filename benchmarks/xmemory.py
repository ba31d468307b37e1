"""The tables and figures of the paper xMemory, offline, on LoCoMo.

    python -m benchmarks.xmemory PATH [--tables 4 6 8 f] [--budget 2000] [--limit 20]

No chat model is asked: facts and narratives are the messages' own words, the reader of Stage II is the
offline signal, and where the paper scores answers, evidence recall stands in (`benchmarks.recall`).
Table 4 is Figure 3, Figure 4 and Tables 3 and 5 too; Table 6 is Figure 5 and Table 7; "f" is Eq. 1 of
partitions of the same semantics, among them some that nobody would want. All are of `XMemory.paper()` with
what the row names changed, but for "default", which is this engine's. Reassigned: the share of semantics
whose theme changes while they come, one by one; blocks and their tokens: over the questions whose answer they
cover. Over full: evidence, paired by question with the preset's, and the standard error of that.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks import results
from benchmarks.data import Conversation, Question, load
from benchmarks.recall import judge
from zibaldone import Message, XMemory
from zibaldone.cli.compare.evidence import Mean
from zibaldone.cli.compare.systems import USER, Engine, Equipment, Recalled, System
from zibaldone.engine import generations
from zibaldone.models.base import Vectors
from zibaldone.models.static import shared_static_embedder
from zibaldone.search import dense
from zibaldone.text.words import content_words, words
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.guided import Guided, GuidedThemes
from zibaldone.views.hierarchy.objective import Partition
from zibaldone.views.hierarchy.themes import CAP, group

PAPER, NAIVE = XMemory.paper(), "naive RAG"
_TOP = 20  # messages of naive RAG
KINDS = ("multi-hop", "temporal", "open-domain", "single-hop")
HITS = ("1-hit", "2-hit", "multi-hit")
Groups = Sequence[Sequence[int]]
Made = tuple[int, int, int]  # themes, semantics, reassigned ones of a conversation
Row = dict[str, object]  # a figure by its head

# Tables by their number in the paper, with its rows; None: no memory at all.
TABLES: Mapping[str, Mapping[str, XMemory | None]] = {
    "4": {
        NAIVE: None,
        "memory-only": replace(PAPER, select=False, include=False),
        "+RepSel": replace(PAPER, include=False),
        "+UncSion": replace(PAPER, select=False),
        "full": PAPER,
        "default": XMemory(),
    },
    "6": {
        "w/o merge & split": replace(PAPER, guided=Guided(split=False, merge=False)),
        "w/o split": replace(PAPER, guided=Guided(split=False)),
        "w/o merge": replace(PAPER, guided=Guided(merge=False)),
        "full": PAPER,
    },
    "8": {f"cap {cap}": replace(PAPER, theme_cap=cap) for cap in (14, 12, 10, 8)},
}


class NaiveRAG:
    """The twenty messages nearest to the question."""

    name, budgeted = NAIVE, False

    def __init__(self) -> None:
        self._embedder, self._texts = shared_static_embedder(), list[str]()

    def take(self, messages: Sequence[Message]) -> None:
        self._texts += [f"{message.speaker}: {message.content}" for message in messages]
        self._vectors = self._embedder.embed(self._texts)

    def recall(self, question: str, budget_tokens: int, now: object = None) -> Recalled:  # noqa: ARG002
        near = self._vectors @ self._embedder.embed([question])[0]
        units = [self._texts[row] for row in np.argsort(-near, kind="stable")[:_TOP]]
        return Recalled("\n".join(units), tuple(units), sum(self._embedder.count(units)))

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """One question asked under one setting."""

    category: str
    evidence: float | None
    tokens: int
    hits: tuple[float, ...] | None  # shares of blocks with one, two, more words of the answer
    blocks: int | None  # in the order of rank, until they have all words of the answer; None: they never have
    block_tokens: int | None


def ask(conversation: Conversation, question: Question, system: System, budget: int) -> Asked:
    """Ask one question, and look for the words of its answer in what was retrieved."""
    recalled = system.recall(question.text, budget, question.asked_at)
    judged = judge(conversation, question, system.name, budget, recalled, 0.0)
    wanted = set(content_words(question.answers[0])) if question.answers else set()
    found = [wanted & set(words(unit)) for unit in recalled.units] if wanted else []
    counts = np.array([len(some) for some in found])
    hits = tuple(float(kind.mean()) for kind in (counts == 1, counts == 2, counts > 2)) if found else None
    met = [len(set().union(*found[: n + 1])) for n in range(len(found))]
    blocks = met.index(len(wanted)) + 1 if met and met[-1] == len(wanted) else None
    tokens = sum(shared_static_embedder().count(list(recalled.units[:blocks]))) if blocks else None
    return Asked(question.category, judged.evidence, recalled.tokens, hits, blocks, tokens)


def vectors_of(engine: Engine) -> tuple[Vectors, list[int]]:
    """(vectors (n, d) of all semantics as they came, their stored themes)."""
    database, view = engine.memory._database, engine.memory._wiring.hierarchy  # noqa: SLF001
    with database.read() as connection:
        generation = generations.serving(connection, USER, view)
        assert generation
        stated, rows = table.statements(connection, generation), table.semantics(connection, generation)
    kept = [stated[row.units[0]][1] for row in rows.values()]
    return dense.from_bytes(kept, shared_static_embedder().dimension), [row.theme for row in rows.values()]


def reassigned(vectors: Vectors, config: XMemory, stored: Sequence[int]) -> int:
    """Let semantics come once more, to count those whose theme changes; they end as they are stored."""
    themes = GuidedThemes(config.guided or Guided(), config.theme_cap, vectors.shape[1])
    for number, vector in enumerate(vectors, 1):
        themes.add(number, vector)
    assert list(themes.of.values()) == list(stored)
    return len(themes.reassigned)


def row(name: str, setting: str, asked: Sequence[Asked], made: Sequence[Made], full: Sequence[Asked]) -> Row:
    """One row of a table, over all questions of all conversations; `full`: the preset's for the same."""
    evidence = Mean.of(one.evidence for one in asked)
    assert evidence
    figures: Row = {"table": name, "setting": setting, "questions": evidence.questions}
    figures |= {"evidence": evidence.value, "error": evidence.error}
    pairs = [(a.evidence, b.evidence) for a, b in zip(asked, full, strict=True)]
    over = Mean.of(a - b for a, b in pairs if a is not None and b is not None)
    figures |= {"over full": over.value if over else "", "its error": over.error if over else ""}
    for kind in KINDS:
        mean = Mean.of(one.evidence for one in asked if one.category == kind)
        figures[kind] = mean.value if mean else ""
    figures["tokens"] = fmean(one.tokens for one in asked)
    themes, semantics, moved = (sum(one) for one in zip(*made, strict=True)) if made else ("", "", "")
    figures |= {"themes": themes, "semantics": semantics}
    figures["reassigned"] = int(moved) / int(semantics) if made else ""
    figures |= {kind: [{}, *hits(setting, asked)][-1].get(kind, "") for kind in HITS}
    covering = [one for one in asked if one.blocks]
    figures["covered"] = len(covering) / len(asked)
    figures["blocks"] = fmean(one.blocks or 0 for one in covering) if covering else ""
    figures["block tokens"] = fmean(one.block_tokens or 0 for one in covering) if covering else ""
    return figures


def hits(setting: str, asked: Sequence[Asked]) -> Iterator[Row]:
    """Figure 4: shares of blocks by category of question, and of all questions last."""
    for kind in (*KINDS, "all"):
        found = [one.hits for one in asked if one.hits and kind in (one.category, "all")]
        if found:
            means = dict(zip(HITS, np.mean(found, axis=0).tolist(), strict=True))
            yield {"setting": setting, "category": kind, "questions": len(found)} | means


def measure(
    config: XMemory | None, data: Sequence[Conversation], budget: int, limit: int | None
) -> tuple[list[Asked], list[Made]]:
    """Build and ask everything under one setting."""
    asked, made = [], []
    for conversation in data:
        with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder:
            tools = Equipment(shared_static_embedder(), Path(folder))
            system = Engine("hierarchy", tools, hierarchy=config) if config else NaiveRAG()
            system.take(conversation.messages)
            known = [question for question in conversation.questions if question.known][:limit]
            asked += [ask(conversation, question, system, budget) for question in known]
            if isinstance(system, Engine) and config and config.guided:
                vectors, stored = vectors_of(system)
                made.append((len(set(stored)), len(stored), reassigned(vectors, config, stored)))
            system.close()
    return asked, made


def objectives(data: Sequence[Conversation]) -> Iterator[Row]:
    """Compute f of the guided themes, of the default's, and of partitions that nobody would want."""

    def f(groups: Groups) -> float:
        themes = {number: vectors[list(places)] for number, places in enumerate(groups)}
        return Partition.nothing(vectors.shape[1]).changed((), themes).f()

    for conversation in data:
        with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder:
            engine = Engine("hierarchy", Equipment(shared_static_embedder(), Path(folder)), hierarchy=PAPER)
            engine.take(conversation.messages)
            vectors, stored = vectors_of(engine)
            engine.close()
        if not stored:
            continue
        n, batch = len(vectors), group(vectors, CAP)
        guided = [[place for place in range(n) if stored[place] == theme] for theme in sorted(set(stored))]
        mixed = [np.random.default_rng(seed).permutation(n).tolist() for seed in range(10)]
        values = {
            "guided": f(guided),
            "default": f(batch),
            "default, shuffled": fmean(f([[m[i] for i in some] for some in batch]) for m in mixed),
            "random fours": fmean(f([m[i : i + 4] for i in range(0, n, 4)]) for m in mixed),
            "singletons": f([[place] for place in range(n)]),
        }
        yield {"conversation": conversation.name, "semantics": n} | values


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.xmemory", description=__doc__)
    parser.add_argument("path", type=Path, help="LoCoMo's file")
    parser.add_argument("--tables", nargs="+", choices=[*TABLES, "f"], default=[*TABLES, "f"])
    parser.add_argument("--budget", type=int, default=2000, help="tokens of a recall")
    parser.add_argument("--limit", type=int, help="only the first questions of a conversation")
    parser.add_argument("--output", type=Path, default=results.RESULTS / "xmemory.json")
    given = parser.parse_args()
    data = load("locomo", given.path)
    tables = {name: TABLES[name] for name in given.tables if name != "f"}
    configs = {repr(config): config for settings in tables.values() for config in settings.values()}
    got = {key: measure(config, data, given.budget, given.limit) for key, config in configs.items()}
    named = [(name, own, got[repr(one)]) for name, some in tables.items() for own, one in some.items()]
    rows = [row(name, own, *one, got[repr(PAPER)][0]) for name, own, one in named]
    of_hits = [each for name, own, one in named if name == "4" for each in hits(own, one[0])]
    shown = {f"Table {name}": [each for each in rows if each["table"] == name] for name in tables}
    of_f = list(objectives(data)) if "f" in given.tables else []
    for title, some in (shown | {"Figure 4": of_hits, "f, Eq. 1": of_f}).items():
        if some:
            results.show(title, some)
    written = {"title": "xMemory", "note": _finding(of_f), "rows": rows}
    results.write(given.output, written | {"figure 4": of_hits, "f": of_f})


def _finding(of_f: Sequence[Row]) -> str:
    names = list(of_f[0])[2:] if of_f else []
    means = [f"{name} {fmean(float(str(each[name])) for each in of_f):.2f}" for name in names]
    return f"f (Eq. 1) prefers singletons: {', '.join(means)} (means over conversations)." if means else ""


if __name__ == "__main__":
    main()
