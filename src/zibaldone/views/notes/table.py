"""Rows of notes beside their units: author, clause, ending; and messages that a model has not read yet.

`notes` has a row per unit, by the same key. `notes_unread` has the messages that a model is still to read:
none where there is no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, func, or_, select, update

from zibaldone.models.base import Vectors
from zibaldone.search.unit import Unit
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import messages, notes, notes_unread
from zibaldone.storage.schema import units as units_table
from zibaldone.views import own_rows, units
from zibaldone.views.base import Generation
from zibaldone.views.own_rows import key_of, of

NAME = "notes"
_PER_STATEMENT = 400
_NONE = -1

Place = tuple[int, int, int]  # seq, and where it starts and ends in that message


@dataclass(frozen=True, slots=True)
class Ending:
    """The message that ended a note, and the words that replaced it."""

    by: int  # seq of the message that says so
    part: int | None  # of the note on that message that took its place
    instead: Place  # the words that took its place; empty where they start
    rule: str


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note to be stored: its unit, and the row beside it."""

    unit: units.Row
    made_by: str
    clause: Place | None = None  # word for word in one of its messages
    ended: Ending | None = None

    @property
    def key(self) -> units.Key:
        return self.unit.sources[0], self.unit.part

    def on(self, seq: int) -> NoteRow:
        """The row, standing on that message alone."""
        clause = None if self.clause is None else (seq, *self.clause[1:])
        return replace(self, unit=replace(self.unit, sources=(seq,)), clause=clause)


@dataclass(frozen=True, slots=True)
class StoredNote:
    """A note as read from the table, or from a message that the view has not read yet."""

    unit: Unit
    vector: Vectors  # (d,)
    made_by: str
    clause: Place | None
    ended: Ending | None = None

    @property
    def key(self) -> units.Key:
        return self.unit.key


def insert(connection: Connection, generation: Generation, rows: Sequence[NoteRow]) -> None:
    """Insert notes with their units."""
    units.insert(connection, NAME, generation, (row.unit for row in rows))
    beside = [
        key_of(generation)
        | {"seq": row.key[0], "part": row.key[1], "made_by": row.made_by}
        | _clause(row.clause)
        | _ending(row.ended)
        for row in rows
    ]
    own_rows.insert(connection, notes, beside)


def end(connection: Connection, generation: Generation, endings: Mapping[units.Key, Ending]) -> None:
    """Store the endings of notes."""
    for (seq, part), ending in endings.items():
        here = and_(of(notes, generation), notes.c.seq == seq, notes.c.part == part)
        connection.execute(update(notes).where(here).values(**_ending(ending)))


def load(
    connection: Connection, generation: Generation, dimension: int, *, after: int = 0
) -> dict[units.Key, StoredNote]:
    """Notes that stand on messages above seq `after`, by key. Raises StorageCorrupt."""
    query = (
        select(notes).where(of(notes, generation), notes.c.seq > after).order_by(notes.c.seq, notes.c.part)
    )
    beside = {(row.seq, row.part): row for row in connection.execute(query)}
    if not beside:
        return {}
    loaded, vectors = units.load(connection, NAME, generation, dimension, after=after, only=list(beside))
    return {
        unit.key: StoredNote(unit, vector, beside[unit.key].made_by, *_beside(beside[unit.key]))
        for unit, vector in zip(loaded, vectors, strict=True)
    }


def sizes(connection: Connection, generation: Generation) -> tuple[int, int]:
    """(notes, ended notes)."""
    query = select(func.count().label("all"), func.count(notes.c.ended_by).label("ended"))
    row = connection.execute(query.where(of(notes, generation))).one()
    return row[0], row[1]


def _beside(row: Any) -> tuple[Place | None, Ending | None]:
    clause = None if row.clause_seq is None else (row.clause_seq, row.clause_start, row.clause_end)
    if row.ended_by is None:
        return clause, None
    part = None if row.ended_part == _NONE else row.ended_part
    return clause, Ending(row.ended_by, part, (row.ended_by, row.instead_start, row.instead_end), row.rule)


def forget(connection: Connection, user: str, seqs: Sequence[int]) -> None:
    """Delete rows whose units are gone, and undo endings by these messages."""
    n, u, other = notes.c, units_table.c, notes.alias()
    here = and_(u.user == n.user, u.view == NAME, u.generation == n.generation, u.seq == n.seq)
    gone = ~exists().where(and_(here, u.part == n.part)).correlate(notes)
    connection.execute(delete(notes).where(n.user == user, gone))
    o = other.c
    newer = and_(o.user == n.user, o.generation == n.generation, o.seq == n.ended_by, o.part == n.ended_part)
    orphaned = and_(n.ended_part != _NONE, ~exists().where(newer).correlate(notes))
    holds = _ending(None)
    connection.execute(update(notes).where(n.user == user, n.ended_by.is_not(None), orphaned).values(**holds))
    for some in in_chunks(seqs, _PER_STATEMENT):
        connection.execute(update(notes).where(n.user == user, n.ended_by.in_(some)).values(**holds))
        unclaused = {"clause_seq": None, "clause_start": 0, "clause_end": 0}
        connection.execute(update(notes).where(n.user == user, n.clause_seq.in_(some)).values(**unclaused))
        unread = and_(notes_unread.c.user == user, notes_unread.c.seq.in_(some))
        connection.execute(delete(notes_unread).where(unread))


def drop(connection: Connection, generation: Generation) -> None:
    """Delete a generation's rows and its unread messages."""
    own_rows.drop(connection, generation, notes, notes_unread)


def add_unread(connection: Connection, generation: Generation, tokens: Mapping[int, int]) -> None:
    """Store messages that a model is to read, with tokens by seq."""
    rows = [key_of(generation) | {"seq": seq, "tokens": count} for seq, count in tokens.items()]
    own_rows.insert(connection, notes_unread, rows)


def unread(connection: Connection, generation: Generation) -> dict[int, int]:
    """Messages that a model is to read: tokens by rising seq."""
    u = notes_unread.c
    query = select(u.seq, u.tokens).where(of(notes_unread, generation)).order_by(u.seq)
    return {row.seq: row.tokens for row in connection.execute(query)}


def take_unread(connection: Connection, generation: Generation, seqs: Iterable[int]) -> bool:
    """Mark messages as read; False if another process was faster, or one of them is forgotten."""
    wanted = sorted(seqs)
    done = 0
    for some in in_chunks(wanted, _PER_STATEMENT):
        here = and_(of(notes_unread, generation), notes_unread.c.seq.in_(some))
        done += connection.execute(delete(notes_unread).where(here)).rowcount
    return done == len(wanted)


def waiting(connection: Connection, quiet_since_us: int, most_tokens: int, user: str | None) -> set[str]:
    """Users, or the one given, with a session that is quiet since then, or has `most_tokens` unread."""
    u, m = notes_unread.c, messages.c
    query = (
        select(u.user)
        .join_from(notes_unread, messages, and_(m.user == u.user, m.seq == u.seq))
        .group_by(u.user, u.generation, m.session)
        .having(or_(func.max(m.time_us) <= quiet_since_us, func.sum(u.tokens) >= most_tokens))
    )
    if user is not None:
        query = query.where(u.user == user)
    return set(connection.execute(query).scalars())


def faults(connection: Connection, generation: Generation) -> list[str]:
    """Units without a row, and notes ended by a message that the log lacks."""
    n, m, u = notes.c, messages.c, units_table.c
    same = and_(n.user == u.user, n.generation == u.generation, n.seq == u.seq, n.part == u.part)
    alone = select(u.seq).outerjoin_from(units_table, notes, same)
    alone = alone.where(units.of(NAME, generation), n.seq.is_(None))
    by = and_(m.user == n.user, m.seq == n.ended_by)
    lost = select(n.ended_by).outerjoin_from(notes, messages, by)
    lost = lost.where(of(notes, generation), n.ended_by.is_not(None), m.seq.is_(None))
    return [
        *(f"a note of message {seq} without its row" for seq in connection.execute(alone).scalars()),
        *(
            f"a note ended by message {seq}, which is not in the log"
            for seq in connection.execute(lost).scalars()
        ),
    ]


def _clause(place: Place | None) -> dict[str, int | None]:
    seq, start, end = place or (None, 0, 0)
    return {"clause_seq": seq, "clause_start": start, "clause_end": end}


def _ending(ending: Ending | None) -> dict[str, int | str | None]:
    if ending is None:
        return {"ended_by": None, "ended_part": _NONE, "instead_start": 0, "instead_end": 0, "rule": ""}
    return {
        "ended_by": ending.by,
        "ended_part": _NONE if ending.part is None else ending.part,
        "instead_start": ending.instead[1],
        "instead_end": ending.instead[2],
        "rule": ending.rule,
    }
