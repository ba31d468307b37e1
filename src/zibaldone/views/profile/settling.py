"""From what was said, statement by statement, to what holds: superseded, said again, corrected by hand.

Entries meet only where they are of one kind, speaker and subject. So what is new settles anew what is of its
own subject, and the result is the same as when everything is settled at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.text.words import terms
from zibaldone.views import units
from zibaldone.views.profile.clauses import KINDS, Kind
from zibaldone.views.profile.corrections import Correction, mark_of
from zibaldone.views.profile.entries import EntryDraft, ReadUnit, Subject, read_as
from zibaldone.views.profile.grammar import repeats, supersedes

_Statement = tuple[int, str, Kind]  # by which corrections know an entry: its message, its mark, its kind


@dataclass(frozen=True, slots=True)
class Settled:
    """All entries of a user, and what they were made of. Never changes: `settle` makes another one."""

    known: Mapping[units.Key, ReadUnit]
    statements: Mapping[_Statement, ReadUnit]
    corrections: Mapping[_Statement, tuple[Correction, ...]]  # of each statement, in their order
    read: Mapping[_Statement, EntryDraft]  # corrected, and beside nothing else yet
    groups: Mapping[Subject, tuple[EntryDraft, ...]]  # of these, in the order of time
    drafts: tuple[EntryDraft, ...]  # in the order of time, with what holds no longer
    holding: tuple[EntryDraft, ...]  # what holds
    vectors: Vectors  # (holding, d)
    newest: datetime | None  # when the last of it was said; None: nothing, or nobody knows
    replaced: Mapping[int, datetime]  # messages that somebody corrected, by seq, and when


def nothing(dimension: int) -> Settled:
    """Before anything was said; vectors will be of that dimension."""
    return Settled({}, {}, {}, {}, {}, (), (), np.zeros((0, dimension), dtype=np.float32), None, {})


def settle(
    before: Settled,
    gone: Iterable[units.Key],
    new: Mapping[units.Key, ReadUnit],
    corrections: Iterable[Correction],
    replaced: Mapping[int, datetime],
) -> Settled:
    """With these units left out, these put in, and these corrections, which are in no earlier one.

    What messages say that were `replaced` since is known, but makes no entries.
    """
    known, statements, given = {**before.known}, {**before.statements}, {**before.corrections}
    touched: dict[_Statement, None] = {}
    times = [before.newest] if before.newest is not None else []
    for key in gone:
        read = known.pop(key)
        if read.unit.kind in KINDS and statements.get(_statement(read)) is read:
            touched.setdefault(_statement(read))
            del statements[_statement(read)]
    for key in sorted(new):
        read = known[key] = new[key]
        if read.unit.is_dated:
            times.append(read.unit.time)
        if read.unit.kind in KINDS:
            touched.setdefault(_statement(read))
            statements[_statement(read)] = read
    for correction in sorted(corrections, key=lambda correction: correction.message.seq):
        corrected = correction.seq, correction.mark, correction.kind
        given[corrected] = (*given.get(corrected, ()), correction)
        touched.setdefault(corrected)
    if replaced.keys() - before.replaced.keys():
        touched.update((statement, None) for statement in statements if statement[0] in replaced)
    replaced = {**replaced, **before.replaced}
    drafts = {**before.read}
    members: dict[Subject, list[EntryDraft]] = {}
    for statement in touched:
        earlier = drafts.pop(statement, None)
        if earlier is not None:
            _members(members, before, earlier.subject).remove(earlier)
        stated = None if statement[0] in replaced else statements.get(statement)
        draft = _drafted(stated, given.get(statement, ()), known)
        if draft is not None:
            drafts[statement] = draft
            _members(members, before, draft.subject).append(draft)
    groups = {**before.groups}
    settled: list[EntryDraft] = []
    for subject, some in members.items():
        some.sort(key=lambda draft: draft.as_of)
        groups[subject] = tuple(some)
        settled += _settled(some)
        if not some:
            del groups[subject]
    unmoved = [draft for draft in before.drafts if draft.subject not in members]
    ordered = sorted([*unmoved, *settled], key=lambda draft: draft.as_of)
    holding, vectors = _holding(before, ordered, known)
    return Settled(
        known,
        statements,
        given,
        drafts,
        groups,
        tuple(ordered),
        holding,
        vectors,
        max(times, default=None),
        replaced,
    )


def said_before(settled: Settled, time: datetime) -> Settled:
    """As it was then: without what was said at that time or later. What was retired since stays so."""
    if settled.newest is None or settled.newest < time:
        return settled
    given = [correction for some in settled.corrections.values() for correction in some]
    known = {
        key: read
        for key, read in settled.known.items()
        if read.unit.kind not in KINDS or not read.unit.is_dated or read.unit.time < time
    }
    by_then = [act for act in given if act.act == "removed" or _time_of(act) < time]
    replaced = {seq: since for seq, since in settled.replaced.items() if since < time}
    return settle(nothing(settled.vectors.shape[1]), (), known, by_then, replaced)


def _time_of(correction: Correction) -> datetime:
    assert correction.message.time is not None  # what is stored has one
    return correction.message.time


def _statement(read: ReadUnit) -> _Statement:
    return read.unit.seq, mark_of(read.unit.text), read.reading.kind


def _members(members: dict[Subject, list[EntryDraft]], before: Settled, subject: Subject) -> list[EntryDraft]:
    if subject not in members:
        members[subject] = list(before.groups.get(subject, ()))
    return members[subject]


def _holding(
    before: Settled, ordered: Sequence[EntryDraft], known: Mapping[units.Key, ReadUnit]
) -> tuple[tuple[EntryDraft, ...], Vectors]:
    """What holds, with its vectors: those that are there are copied in one go."""
    holding = tuple([draft for draft in ordered if draft.superseded_by is None and not draft.retired])
    rows = dict(zip(map(id, before.holding), range(len(before.holding)), strict=True))
    there = np.array([rows.get(place, -1) for place in map(id, holding)], dtype=np.int64)
    vectors = np.zeros((len(holding), before.vectors.shape[1]), dtype=np.float32)
    vectors[there >= 0] = before.vectors[there[there >= 0]]
    for row in np.flatnonzero(there < 0).tolist():
        draft = holding[row]
        vectors[row] = known[(draft.spoken_by or draft.unit).key].vector
    return holding, vectors


def _drafted(
    read: ReadUnit | None, corrections: Sequence[Correction], known: Mapping[units.Key, ReadUnit]
) -> EntryDraft | None:
    """A statement with its corrections; what another grammar read there once comes back by an edit."""
    draft = None if read is None else _draft(read.unit.seq, mark_of(read.unit.text), read, read.unit.text)
    for correction in corrections:
        by_editor = known.get((correction.message.seq, 0))
        if by_editor is not None:
            reading = read_as(correction.kind, correction.text)
            draft = _corrected(draft, correction, replace(by_editor, reading=reading))
    if draft is not None:
        subject = draft.reading.subject or " ".join(terms(draft.text))
        draft.subject = (draft.reading.kind, draft.unit.speaker, subject)
    return draft


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
        subject=(read.reading.kind, "", ""),
        made_by=read.made_by,
        sources={*unit.sources},
        own_sources=unit.sources,
    )


def _corrected(draft: EntryDraft | None, correction: Correction, read: ReadUnit) -> EntryDraft | None:
    """After one correction."""
    if correction.act == "changed":
        if draft is None:
            draft = _draft(correction.seq, correction.mark, read, correction.text)
            draft.own_sources = (correction.seq,)
        draft.text, draft.reading, draft.spoken_by = correction.text, read.reading, read.unit
        draft.as_of = (read.unit.time, read.unit.seq, 0)
        draft.own_sources = tuple(dict.fromkeys((*draft.own_sources, read.unit.seq)))
        draft.retired = False
    if draft is None:
        return None
    draft.sources |= {*draft.own_sources, read.unit.seq}
    if correction.act == "removed":
        draft.retired = True
    elif correction.act != "changed":
        draft.pinned = correction.act == "pinned"
    return draft


def _settled(group: Sequence[EntryDraft]) -> list[EntryDraft]:
    """What took whose place in a group; a draft that merely says again what holds lends it its sources."""
    latest: EntryDraft | None = None
    kept = []
    for read in group:
        draft = replace(read, sources={*read.sources}, supersedes=[], repeats=[])
        before = None if draft.retired else latest
        if before is not None and supersedes(draft.reading, before.reading):
            before.superseded_by = draft.id
            draft.supersedes.append(before.id)
        elif before is not None and not draft.pinned and _says_again(draft, before):
            before.sources |= draft.sources
            before.repeats.append((draft.seq, draft.mark))
            continue
        if not draft.retired:
            latest = draft
        kept.append(draft)
    return kept


def _says_again(draft: EntryDraft, before: EntryDraft) -> bool:
    """Whether it may be left out: nobody corrected it, and it says what is known."""
    return draft.spoken_by is None and (repeats(draft.reading, before.reading) or not draft.reading.subject)
