"""Who made an entry, and what a model says that it is about: rows beside some of the view's units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, select

from zibaldone.storage.schema import profile_notes as table
from zibaldone.storage.schema import units as units_table
from zibaldone.views import units
from zibaldone.views.base import Generation


@dataclass(frozen=True, slots=True)
class EntryNote:
    """Beside the unit of that key; a unit without one is the grammar's, and nobody was to be asked."""

    key: units.Key
    topic: str  # of a model's instruction: what it is meant for
    made_by: str  # "<model>/<hash of the prompt>"; "offline": the grammar alone, since the model failed


def insert(connection: Connection, generation: Generation, notes: Iterable[EntryNote]) -> None:
    """Add notes, beside units of the same transaction."""
    mine = {"user": generation.user, "generation": generation.number}
    rows = [
        mine | {"seq": note.key[0], "part": note.key[1], "topic": note.topic, "made_by": note.made_by}
        for note in notes
    ]
    if rows:
        connection.execute(table.insert(), rows)


def load(connection: Connection, generation: Generation, *, after: int) -> dict[units.Key, EntryNote]:
    """The notes beside units that stand on messages above that seq."""
    rows = connection.execute(select(table).where(_of(generation), table.c.seq > after))
    notes = (EntryNote((row.seq, row.part), row.topic, row.made_by) for row in rows)
    return {note.key: note for note in notes}


def forget(connection: Connection, view: str, user: str) -> None:
    """Delete the notes of units that are there no more."""
    n, u = table.c, units_table.c
    beside = and_(
        u.user == n.user, u.view == view, u.generation == n.generation, u.seq == n.seq, u.part == n.part
    )
    gone = ~exists().where(beside).correlate(table)
    connection.execute(delete(table).where(n.user == user, gone))


def drop(connection: Connection, generation: Generation) -> None:
    """Delete those of a generation."""
    connection.execute(delete(table).where(_of(generation)))


def _of(generation: Generation) -> ColumnElement[bool]:
    return and_(table.c.user == generation.user, table.c.generation == generation.number)
