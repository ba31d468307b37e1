"""Units: the texts that recall can find."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

Days = tuple[tuple[int, int], ...]  # (first, last) ordinals, inclusive
PASSAGE = "passage"  # the kind of a unit that is a part of a message


@dataclass(frozen=True, slots=True)
class Unit:
    """A text, and all that a ranker asks of it. It never changes: another text is another unit.

    A message is one, and so is a passage of a long one, a chunk's item, a statement, an entry of a document.
    Time, session and who speaks are those of the message that it stands on, the first of its sources.
    """

    sources: tuple[
        int, ...
    ]  # seqs of the messages that it was made from; none of it stays without any of them
    part: int  # 0, 1 ... among its view's units that stand on the same message
    text: str
    kind: str  # such as "message", PASSAGE, "item", "statement", "entry"
    tokens: int  # of the rendered line and its line break
    session: str
    role: str
    name: str | None
    time: datetime
    days: Days = ()  # that the text names
    start: int = 0  # where in the message's content the text starts, if it is verbatim
    is_dated: bool = True  # False: its time is that of an import
    is_owners: bool = False  # an import marked the message as the owner's own; lists of units leave it out

    @property
    def seq(self) -> int:
        """Seq of the message that it stands on."""
        return self.sources[0]

    @property
    def key(self) -> tuple[int, int]:
        """Its key in its view."""
        return self.sources[0], self.part

    @property
    def speaker(self) -> str:
        """Name or role, as it stands before the colon."""
        return self.name or self.role
