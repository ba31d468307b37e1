"""From what was said, statement by statement, to what holds: superseded, said again, corrected by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from zibaldone.models.base import Vectors
from zibaldone.search.unit import Unit
from zibaldone.text.words import terms
from zibaldone.views.profile.clauses import KINDS, Kind, Reading
from zibaldone.views.profile.corrections import Correction, mark_of
from zibaldone.views.profile.grammar import readings, repeats, supersedes


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

    @property
    def holds(self) -> bool:
        """Neither superseded nor retired."""
        return self.superseded_by is None and not self.retired


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """A unit and what the grammar reads in it; of a correction, the words of the person."""

    unit: Unit
    reading: Reading
    vector: Vectors  # (d,)


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
    sources: set[int]
    own_sources: tuple[int, ...]  # whose words it has, without messages that merely say it again
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
        )


def read_as(kind: Kind, statement: str, *, among_people: bool = False) -> Reading:
    """The grammar's reading of that kind; where it has none, a person's word for it stands."""
    all_of_it = readings(statement, among_people=among_people)
    own = (reading for reading in all_of_it if reading.kind == kind)
    return next(own, Reading(kind, "" if kind == "instruction" else statement))


def drafts(known: Iterable[ReadUnit], corrections: Sequence[Correction]) -> list[EntryDraft]:
    """Every entry, in the order of time: what is superseded or retired too, but what is said again once."""
    made: dict[tuple[int, str, Kind], EntryDraft] = {}
    by_editor: dict[int, ReadUnit] = {}
    for read in known:
        if read.unit.kind in KINDS:
            mark = mark_of(read.unit.text)
            made[read.unit.seq, mark, read.reading.kind] = _draft(read.unit.seq, mark, read, read.unit.text)
        else:
            by_editor[read.unit.seq] = read
    for correction in corrections:
        _correct(made, correction, by_editor[correction.message.seq])
    return _settled(sorted(made.values(), key=lambda draft: draft.as_of))


def _draft(seq: int, mark: str, read: ReadUnit, text: str) -> EntryDraft:
    unit = read.unit
    return EntryDraft(
        seq=seq,
        mark=mark,
        unit=unit,
        reading=read.reading,
        text=text,
        spoken_by=None,
        as_of=(unit.time, unit.seq, unit.part),
        sources={*unit.sources},
        own_sources=unit.sources,
    )


def _correct(made: dict[tuple[int, str, Kind], EntryDraft], correction: Correction, read: ReadUnit) -> None:
    """One correction; what is not there (another grammar read the log) comes back by its new words."""
    key = (correction.seq, correction.mark, correction.kind)
    draft = made.get(key)
    if correction.act == "changed":
        if draft is None:
            draft = made[key] = _draft(correction.seq, correction.mark, read, correction.text)
            draft.own_sources = (correction.seq,)
        draft.text, draft.reading, draft.spoken_by = correction.text, read.reading, read.unit
        draft.as_of = (read.unit.time, read.unit.seq, 0)
        draft.own_sources = tuple(dict.fromkeys((*draft.own_sources, read.unit.seq)))
        draft.retired = False
    if draft is None:
        return
    draft.sources |= {*draft.own_sources, read.unit.seq}
    if correction.act == "removed":
        draft.retired = True
    elif correction.act != "changed":
        draft.pinned = correction.act == "pinned"


def _settled(ordered: Sequence[EntryDraft]) -> list[EntryDraft]:
    """With what took whose place; a draft that merely says again what holds lends it its sources."""
    latest: dict[tuple[str, str, str], EntryDraft] = {}
    kept = []
    for draft in ordered:
        reading = draft.reading
        subject = reading.subject or " ".join(terms(draft.text))
        key = (reading.kind, draft.unit.speaker, subject)
        before = None if draft.retired else latest.get(key)
        if before is not None and supersedes(reading, before.reading):
            before.superseded_by = draft.id
            draft.supersedes.append(before.id)
        elif before is not None and not draft.pinned and _says_again(draft, before):
            before.sources |= draft.sources
            continue
        if not draft.retired:
            latest[key] = draft
        kept.append(draft)
    return kept


def _says_again(draft: EntryDraft, before: EntryDraft) -> bool:
    """Whether it may be left out: nobody corrected it, and it says what is known."""
    return draft.spoken_by is None and (repeats(draft.reading, before.reading) or not draft.reading.subject)
