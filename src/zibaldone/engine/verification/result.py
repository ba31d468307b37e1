"""What a verification says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

FoundAs = Literal["text", "normalised text", "word", "reference", "key"]


@dataclass(frozen=True, slots=True)
class LookedAt:
    """One thing that was looked through, whole."""

    kind: Literal["table", "file", "object", "export"]
    name: str  # of a file of the memory, its path in the folder; of an object, its key
    rows: int  # of a table; 0 of a file
    bytes: int


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that should be gone."""

    kind: FoundAs
    where: str  # the table and the row's key, or the file and the bytes
    words: str  # of a text: some of its words; of a reference: what refers to what; of a key: its number


@dataclass(frozen=True, slots=True)
class Verification:
    """What was looked at, and what was found of what a receipt says was forgotten."""

    user: str
    time: datetime
    messages: int
    texts: int  # that were looked for; 0: only references were
    looked_for: int  # every 24 bytes in a row of these, short texts, telling words
    excused: int  # of those, how many stand in messages that are still there, and so prove nothing
    too_short: int  # texts of less than 8 bytes: they stand in any file by chance, and were not looked for
    purge_is_due: bool  # files are still to be written anew: whoever opens the memory next does it
    looked_at: tuple[LookedAt, ...]
    leftovers: tuple[Leftover, ...]
    unreadable: int = 0  # pieces that the destroyed key sealed: in a backup, say

    @property
    def ok(self) -> bool:
        """Nothing is left."""
        return not self.leftovers and not self.purge_is_due

    @property
    def bytes(self) -> int:
        """How much was looked through."""
        return sum(looked.bytes for looked in self.looked_at)


def of_kind(looked_at: Sequence[LookedAt], kind: str) -> list[LookedAt]:
    """Those of a kind."""
    return [looked for looked in looked_at if looked.kind == kind]
