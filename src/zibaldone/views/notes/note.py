"""A note: one thing that holds of somebody, where it was said, and what ended it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

Kind = Literal["instruction", "constraint", "preference", "fact", "person", "plan", "decision"]
KINDS: tuple[Kind, ...] = get_args(Kind)
RULES: frozenset[Kind] = frozenset({"instruction", "constraint"})  # a person's own words alone make one
STATED = "stated"  # who made a note: the reader of stated forms,
BY_HAND = "hand"  # or a person; else "<model>/<hash of the prompt>"
_KINDS_OF_BEFORE: dict[str, Kind] = {"relation": "person"}  # as folders of before call them


@dataclass(frozen=True, slots=True)
class UserNote:
    """A thing that holds or held, in the words of a message or of the person who edited it."""

    id: str  # such as "12.0": the message that it stands on, and its number there
    kind: Kind
    text: str
    about: str  # who says it of themselves
    sources: tuple[int, ...]  # seqs of the messages that say it, a person's edits of it among them
    time: datetime  # of the message that it stands on, or of its last edit
    session: str
    made_by: str = STATED
    supersedes: tuple[str, ...] = ()  # ids of the notes whose place it took
    superseded_by: str | None = None
    ended_by: int | None = None  # seq of the message by which it holds no more
    ended: datetime | None = None  # when that was said
    pinned: bool = False
    retired: bool = False
    edited: bool = False
    is_dated: bool = True  # False: nobody knows when it was said, and its time is that of an import

    @property
    def holds(self) -> bool:
        """True if nothing has ended it and nobody has retired it."""
        return self.ended_by is None and not self.retired


@dataclass(frozen=True, slots=True)
class Link:
    """A clause that no longer holds, and its replacement."""

    old_seq: int
    old_start: int  # content[old_start:old_end] of the old message
    old_end: int
    new_seq: int
    new_start: int
    new_end: int  # new_start where nothing took its place: somebody retired it
    rule: str  # STATED, the name of the model that said so, "edited" or "retired"


def kind_of(given: object) -> Kind | None:
    """The kind of that name, also as older folders spell it; None if there is none."""
    name = _KINDS_OF_BEFORE.get(given, given) if isinstance(given, str) else given
    return next((kind for kind in KINDS if kind == name), None)
