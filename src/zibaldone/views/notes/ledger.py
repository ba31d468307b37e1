"""Derives notes that hold from stored notes and a person's edits: ended, superseded, pinned, retired.

Without a model only one thing supersedes: another value of the same relation, said later by the same person
of themselves ("I live in Oslo", "I moved to Bergen"; text/statements).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from zibaldone.core import Message
from zibaldone.models.base import Vectors
from zibaldone.search.unit import Unit
from zibaldone.text.purgeable_cache import remembered
from zibaldone.text.sentences import sentences
from zibaldone.text.statements import PlainStatement, statements, supersedes
from zibaldone.views.notes.hand import HandEdit, mark_of
from zibaldone.views.notes.note import BY_HAND, STATED, Kind, Link, UserNote, kind_of
from zibaldone.views.notes.table import Ending, Place, StoredNote
from zibaldone.views.units import unit_on


@dataclass(slots=True)
class NoteDraft:
    """A note while the ledger is derived."""

    unit: Unit
    vector: Vectors
    kind: Kind
    text: str
    made_by: str
    clause: Place | None
    mark: str  # of the words that it began with: by this and a source edits know it
    ended: Ending | None
    spoken: Unit | None = None  # the edit that has its words
    edits: list[HandEdit] = field(default_factory=list)
    sources: dict[int, None] = field(default_factory=dict)
    repeats: list[Place] = field(default_factory=list)  # where else it is said word for word
    superseded_by: str | None = None
    supersedes: list[str] = field(default_factory=list)
    pinned: bool = False
    retired: bool = False

    @property
    def id(self) -> str:
        return f"{self.unit.seq}.{self.unit.part}"

    @property
    def speaker(self) -> str:
        """Who says it of themselves; the owner under any name is "user"."""
        return "user" if self.made_by == BY_HAND or self.unit.is_owners else self.unit.speaker

    @property
    def holds(self) -> bool:
        return self.ended is None and not self.retired

    @property
    def clauses(self) -> list[Place]:
        """All places where it is said word for word."""
        return [*([self.clause] if self.clause else []), *self.repeats]

    @property
    def own_sources(self) -> tuple[int, ...]:
        """Messages whose words it has; pins have none."""
        return tuple(sorted({*self.unit.sources, (self.spoken or self.unit).seq}))


@dataclass(frozen=True, slots=True)
class Ledger:
    """All notes of a user at one time; immutable."""

    drafts: tuple[NoteDraft, ...]  # in the order of time
    holding: tuple[NoteDraft, ...]  # those that hold
    vectors: Vectors  # (holding, d)
    times: Mapping[int, datetime]  # of messages that ended something
    links: Mapping[int, tuple[Link, ...]]  # by either end

    def notes(self) -> list[UserNote]:
        """All notes, in the order of time."""
        return [self._note(draft) for draft in self.drafts]

    def of_id(self, note_id: str) -> NoteDraft | None:
        """The note of that id; None if there is none."""
        return next((draft for draft in self.drafts if draft.id == note_id), None)

    def _note(self, draft: NoteDraft) -> UserNote:
        spoken = draft.spoken or draft.unit
        by = draft.ended.by if draft.ended else None
        return UserNote(
            id=draft.id,
            kind=draft.kind,
            text=draft.text,
            about=draft.speaker,
            sources=tuple(sorted(draft.sources)),
            time=spoken.time,
            session=draft.unit.session,
            made_by=draft.made_by,
            supersedes=tuple(draft.supersedes),
            superseded_by=draft.superseded_by,
            ended_by=by,
            ended=None if by is None else self.times.get(by),
            pinned=draft.pinned,
            retired=draft.retired,
            edited=draft.spoken is not None,
            is_dated=spoken.is_dated,
        )


def settle(
    stored: Iterable[StoredNote],
    edits: Sequence[HandEdit],
    messages: Mapping[int, Message],
    replaced: Collection[int],
    dimension: int,
    before: datetime | None = None,
) -> Ledger:
    """Derive the ledger; `edits` are in order, `messages` those that end or are edited.

    What was said in messages that were `replaced` since is no note. With `before`, as it was then: without
    what was said or ended at that time or later; what a person retired since stays so.
    """
    drafts = [_draft(note) for note in stored if not any(seq in replaced for seq in note.unit.sources)]
    if before is not None:
        drafts = [draft for draft in drafts if not draft.unit.is_dated or draft.unit.time < before]
        edits = [edit for edit in edits if edit.act == "removed" or _time(edit.message) < before]
        for draft in drafts:
            by = messages.get(draft.ended.by) if draft.ended else None
            if by is not None and by.is_dated and _time(by) >= before:
                draft.ended = None
    drafts = _in_turn(sorted(drafts, key=lambda draft: (draft.unit.time, draft.unit.key)))
    links = [link for draft in drafts for link in _links(draft)]
    drafts, by_hand = _edited(drafts, edits, messages, dimension)
    links += by_hand
    ids = {draft.unit.key: draft for draft in drafts}
    for draft in drafts:
        newer = (
            ids.get((draft.ended.by, draft.ended.part))
            if draft.ended and draft.ended.part is not None
            else None
        )
        if newer is not None:
            draft.superseded_by = newer.id
            newer.supersedes.append(draft.id)
    holding = tuple(draft for draft in drafts if draft.holds)
    vectors = (
        np.stack([draft.vector for draft in holding]) if holding else np.zeros((0, dimension), np.float32)
    )
    by_seq: dict[int, list[Link]] = {}
    for link in sorted(links, key=lambda link: (link.new_seq, link.new_start, link.old_seq, link.old_start)):
        for seq in {link.old_seq, link.new_seq}:
            by_seq.setdefault(seq, []).append(link)
    times = {draft.unit.seq: draft.unit.time for draft in drafts}
    times |= {seq: _time(message) for seq, message in messages.items()}
    return Ledger(tuple(drafts), holding, vectors, times, {seq: tuple(some) for seq, some in by_seq.items()})


def _draft(note: StoredNote) -> NoteDraft:
    unit = note.unit
    kind = kind_of(unit.kind)
    assert kind is not None  # the view writes no other
    return NoteDraft(
        unit,
        note.vector,
        kind,
        unit.text,
        note.made_by,
        note.clause,
        mark_of(unit.text),
        note.ended,
        sources=dict.fromkeys(unit.sources),
    )


def _in_turn(drafts: Iterable[NoteDraft]) -> list[NoteDraft]:
    """Merge repeats, and end notes whose relation has got another value."""
    kept: list[NoteDraft] = []
    same: dict[tuple[str, str, str], NoteDraft] = {}
    latest: dict[tuple[str, str], tuple[NoteDraft, PlainStatement]] = {}
    for draft in drafts:
        words = draft.kind, draft.speaker, draft.mark
        first = same.get(words)
        if first is not None and first.ended is None and draft.ended is None and draft.made_by != BY_HAND:
            first.sources |= draft.sources
            first.repeats += [draft.clause] if draft.clause else []
            continue
        same[words] = draft
        kept.append(draft)
        if draft.made_by != STATED or draft.kind != "fact":
            continue
        for stated in _statements(draft.text, draft.speaker):
            slot = stated.subject, stated.relation
            old, before = latest.get(slot, (draft, stated))
            alone = len(_statements(old.text, old.speaker)) == 1  # else something of it may still hold
            if old.ended is None and alone and supersedes(stated, before):
                place = draft.clause or (draft.unit.seq, 0, 0)
                old.ended = Ending(draft.unit.seq, draft.unit.part, place, STATED)
            latest[slot] = draft, stated
    return kept


@remembered(20_000)
def _statements(text: str, speaker: str) -> tuple[PlainStatement, ...]:
    return tuple(statements(text, speaker))


def _links(draft: NoteDraft) -> list[Link]:
    if draft.ended is None:
        return []
    return [Link(*clause, *draft.ended.instead, draft.ended.rule) for clause in draft.clauses]


def _edited(
    drafts: list[NoteDraft], edits: Sequence[HandEdit], messages: Mapping[int, Message], dimension: int
) -> tuple[list[NoteDraft], list[Link]]:
    """(drafts with a person's edits, links from the words before to theirs).

    What an edit is of may be gone, where another model or reader made it: the edit's own words stand then, or
    the sentence of the message that has the mark.
    """
    known = {(source, draft.mark): draft for draft in drafts for source in draft.sources}
    own = {draft.unit.seq: draft for draft in drafts if draft.made_by == BY_HAND}
    hidden: set[int] = set()
    made = list(drafts)
    for edit in edits:
        if edit.act == "added":
            continue
        draft = known.get((edit.seq, edit.mark))
        if draft is None:
            draft = own.get(edit.message.seq) or _recovered(edit, messages, dimension)
            if draft is None:
                continue
            known[edit.seq, edit.mark] = draft
            if draft not in made:
                made.append(draft)
        _apply(edit, draft, own.get(edit.message.seq))
        if edit.act == "changed" and draft.unit.seq != edit.message.seq:
            hidden.add(edit.message.seq)
    links = [link for draft in made for link in _links_by_hand(draft)]
    return [draft for draft in made if draft.made_by != BY_HAND or draft.unit.seq not in hidden], links


def _apply(edit: HandEdit, draft: NoteDraft, words: NoteDraft | None) -> None:
    draft.sources[edit.message.seq] = None
    if edit.act == "changed":
        draft.text, draft.retired = edit.text, False
        if draft.ended is not None and draft.ended.by < edit.message.seq:
            draft.ended = None
        if words is not None:
            draft.spoken, draft.vector = words.unit, words.vector
        draft.edits.append(edit)
    elif edit.act == "removed":
        draft.retired = True
        draft.edits.append(edit)
    else:
        draft.pinned = edit.act == "pinned"


def _recovered(edit: HandEdit, messages: Mapping[int, Message], dimension: int) -> NoteDraft | None:
    """A draft of the sentence that an edit is of; None if the message has none such."""
    message = messages.get(edit.seq)
    if message is None or edit.act == "changed":
        return None
    for start, end in sentences(message.content):
        text = message.content[start:end]
        if mark_of(text) == edit.mark:
            unit = unit_on(message, (message.seq,), start, text, edit.kind, 0, start)
            nothing = np.zeros(dimension, np.float32)
            place = (message.seq, start, end)
            return NoteDraft(
                unit, nothing, edit.kind, text, STATED, place, edit.mark, None, sources={message.seq: None}
            )
    return None


def _links_by_hand(draft: NoteDraft) -> list[Link]:
    """Links from the clause, and from earlier edited words, to the last edit."""
    if not draft.edits:
        return []
    *before, last = draft.edits
    rule = "edited" if last.act == "changed" else "retired"
    new = (last.message.seq, 0, len(last.message.content) if last.act == "changed" else 0)
    olds = [] if last.text and mark_of(last.text) == draft.mark else draft.clauses
    olds += [
        (edit.message.seq, 0, len(edit.message.content))
        for edit in before
        if edit.act == "changed" and edit.text != last.text
    ]
    olds = [old for old in olds if old[0] != last.message.seq]
    return [Link(*old, *new, rule) for old in olds]


def _time(message: Message) -> datetime:
    assert message.time is not None  # what is stored has one
    return message.time
