"""What the generated facts are about: kinds of things, and relations in several wordings each.

In relations.json `{s}` is the subject and `{v}` the value. Wordings of one relation differ in words and in
order, so that no single pattern reads them all.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation of which a subject has one value at a time."""

    name: str
    subject: str  # a kind of thing
    value: str  # a kind of thing, or a list of plain values
    says: tuple[str, ...]  # whole sentences
    asks: tuple[str, ...]  # questions for the value
    nouns: tuple[str, ...]  # the value described by its subject, for a question's inner links


def _relations() -> tuple[Relation, ...]:
    rows = json.loads((files(__package__) / "relations.json").read_text(encoding="utf-8"))
    wordings = ("says", "asks", "nouns")
    return tuple(Relation(**row | {name: tuple(row[name]) for name in wordings}) for row in rows)


RELATIONS = _relations()
