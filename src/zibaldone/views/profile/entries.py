"""What is known of a user, entry by entry: as it is shown, and as it is in the making."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from zibaldone.models.asker import OFFLINE
from zibaldone.models.base import Vectors
from zibaldone.search.unit import Unit
from zibaldone.views.profile.clauses import Kind, Reading
from zibaldone.views.profile.constraints import areas_of
from zibaldone.views.profile.grammar import readings

Subject = tuple[Kind, str, str]  # kind, speaker, what it is about: only entries of one subject meet


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """One thing that is known of a user, in the words of a message, or of the person who corrected it."""

    id: str  # such as "12.0": the message that it was first read from, and its place there
    kind: Kind
    text: str
    topic: str  # what it is about; of an instruction, what it is meant for ("": every answer)
    speaker: str  # who says it of themselves
    sources: tuple[int, ...]  # seqs of all messages that say it, its corrections among them
    time: datetime  # of the message that it was first read from, or of its last edit
    session: str
    supersedes: tuple[str, ...] = ()  # ids of what it took the place of
    superseded_by: str | None = None
    pinned: bool = False
    retired: bool = False
    edited: bool = False
    is_dated: bool = True  # False: nobody knows when it was said, and its time is that of an import
    made_by: str = OFFLINE  # or "<model>/<hash of the prompt>"
    degraded: bool = False  # read offline because the model that was to be asked as well failed
    place: tuple[int, int] | None = None  # its message and where it starts there; None: a person wrote it
    ended_by: int | None = None  # the seq of a message by which it holds no more, as recall marks it

    @property
    def holds(self) -> bool:
        """Neither superseded, nor retired, nor ended by what was said since."""
        return self.superseded_by is None and not self.retired and self.ended_by is None


@dataclass(frozen=True, slots=True)
class EntryInMessage:
    """An entry or a correction in a message, before it is a unit."""

    kind: str
    start: int
    end: int
    reading: Reading
    words: str  # what is embedded
    own_words: str | None = None  # a model's, where they are no part of the message
    further: tuple[int, ...] = ()  # seqs of other messages that it was made from
    made_by: str = ""  # as of a ReadUnit

    def text(self, content: str) -> str:
        """The entry's words; `content` is that of its message."""
        return content[self.start : self.end] if self.own_words is None else self.own_words


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """A unit and what is read in it; of a correction, the words of the person."""

    unit: Unit
    reading: Reading
    vector: Vectors  # (d,)
    made_by: str = ""  # a model; or "offline" where the grammar stands in for one that failed; or the grammar


@dataclass(slots=True)
class EntryDraft:
    """An entry in the making, and which unit's vector is its own."""

    seq: int  # by which corrections know it: the message that it was first read from,
    mark: str  # and of its words there
    unit: Unit  # that it is read from
    reading: Reading
    text: str
    spoken_by: Unit | None  # the correction that has its words, if there is one
    as_of: tuple[datetime, int, int]
    subject: Subject
    made_by: str  # as of a ReadUnit
    sources: set[int]
    own_sources: tuple[int, ...]  # whose words it has, without messages that merely say it again
    repeats: list[tuple[int, str]] = field(default_factory=list)  # these: message, and mark of its words
    supersedes: list[str] = field(default_factory=list)
    superseded_by: str | None = None
    pinned: bool = False
    retired: bool = False

    @property
    def id(self) -> str:
        return f"{self.unit.seq}.{self.unit.part}"

    def entry(self) -> ProfileEntry:
        """As it is shown."""
        return ProfileEntry(
            id=self.id,
            kind=self.reading.kind,
            text=self.text,
            topic=self.reading.topic,
            speaker=self.unit.speaker,
            sources=tuple(sorted(self.sources)),
            time=self.as_of[0],
            session=self.unit.session,
            supersedes=tuple(self.supersedes),
            superseded_by=self.superseded_by,
            pinned=self.pinned,
            retired=self.retired,
            edited=self.spoken_by is not None,
            is_dated=(self.spoken_by or self.unit).is_dated,
            made_by=self.made_by or OFFLINE,
            degraded=self.made_by == OFFLINE,
            place=(self.unit.seq, self.unit.start) if self.spoken_by is None else None,
        )


def read_as(kind: Kind, statement: str, *, among_people: bool = False) -> Reading:
    """The grammar's reading of that kind; where it has none, a person's word for it stands."""
    all_of_it = readings(statement, among_people=among_people)
    own = (reading for reading in all_of_it if reading.kind == kind)
    if (reading := next(own, None)) is not None:
        return reading
    areas = areas_of(statement, noted=True) if kind in ("fact", "preference") else frozenset()
    return Reading(kind, "" if kind == "instruction" else statement, areas=areas)
