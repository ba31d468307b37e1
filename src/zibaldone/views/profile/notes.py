"""Who made an entry, and what it was read as: a row beside each of the view's units that is one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, select

from zibaldone.storage.schema import profile_notes as table
from zibaldone.storage.schema import units as units_table
from zibaldone.views import units
from zibaldone.views.base import Generation
from zibaldone.views.profile.clauses import Kind, Reading


@dataclass(frozen=True, slots=True)
class EntryNote:
    """Beside the unit of that key; a unit without one was made before readings were noted, by the grammar."""

    key: units.Key
    topic: str  # of a model's instruction: what it is meant for
    # "<model>/<hash of the prompt>"; "offline": the grammar alone, since the model failed; "": none was asked
    made_by: str
    reading: str | None  # see `reading_of`; None: nobody noted it

    def reading_of(self, kind: Kind) -> Reading | None:
        """What the entry was read as when it was made; None where that was not noted."""
        if self.reading is None:
            return None
        topic, subject, value, areas = json.loads(self.reading)
        return Reading(kind, topic, subject, frozenset(value), frozenset(areas))


def noted(reading: Reading) -> str:
    """A reading as a note has it, but for its kind, which is the unit's."""
    texts = (reading.topic, reading.subject, sorted(reading.value), sorted(reading.areas))
    return json.dumps(texts, ensure_ascii=False)


def insert(connection: Connection, generation: Generation, notes: Iterable[EntryNote]) -> None:
    """Add notes, beside units of the same transaction."""
    mine = {"user": generation.user, "generation": generation.number}
    rows = [
        mine
        | {
            "seq": note.key[0],
            "part": note.key[1],
            "topic": note.topic,
            "made_by": note.made_by,
            "reading": note.reading,
        }
        for note in notes
    ]
    if rows:
        connection.execute(table.insert(), rows)


def load(connection: Connection, generation: Generation, *, after: int) -> dict[units.Key, EntryNote]:
    """The notes beside units that stand on messages above that seq."""
    rows = connection.execute(select(table).where(_of(generation), table.c.seq > after))
    notes = (EntryNote((row.seq, row.part), row.topic, row.made_by, row.reading) for row in rows)
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
