"""What memory itself writes: names of tables, views, kinds, roles, operations, days and months."""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, select

from zibaldone import core
from zibaldone.log.audit import operations
from zibaldone.storage.database import Database
from zibaldone.storage.migrations import FIRST_NAME, MIGRATIONS
from zibaldone.storage.schema import view_states
from zibaldone.views.base import ViewStore
from zibaldone.views.notes import KINDS

_NAMED = (
    *calendar.day_name,
    *calendar.month_name,
    *core.MACHINES,
    *core.OWN_METADATA,
    *core.NOISES,
    core.EDITOR,
    *KINDS,
    *("statement", "superseded", "semantic"),  # kinds of units
    *("stated", "hand", "edited", "retired"),  # who made a note, or ended it
    *("beside", "kept"),  # where a generation stands
    "SQLite format 3",
)


def own_words(database: Database, connection: Connection, views: Sequence[ViewStore]) -> Iterator[str]:
    """Texts that stand in a memory in which nobody ever said anything."""
    yield from _NAMED
    yield from operations()
    yield from (FIRST_NAME, *(migration.__name__ for migration in MIGRATIONS))
    for view in views:
        yield view.name
        yield str(getattr(view, "fingerprint", ""))
    c = view_states.c
    for row in connection.execute(select(c.fingerprint, c.chosen_over, c.chat).distinct()):
        yield from filter(None, row)
    yield from database.words(connection)
