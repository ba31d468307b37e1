"""What is stored, and whether it agrees with itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from zibaldone import generations, log
from zibaldone.models.meter import Meter, Usage
from zibaldone.storage.database import Database
from zibaldone.views.base import Counted, Generation, View, ViewStore

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ViewStats:
    """What one view holds."""

    view: str
    counts: tuple[Counted, ...]
    lag: int  # messages that it has not read yet


@dataclass(frozen=True, slots=True)
class Stats:
    """What a memory holds, of one user or of all."""

    user: str | None
    users: int
    messages: int
    sessions: int
    views: tuple[ViewStats, ...]
    bytes_on_disk: int  # of the whole folder
    usage: tuple[Usage, ...]  # of models, per user, day, view and task


@dataclass(frozen=True, slots=True)
class Integrity:
    """What check_integrity found."""

    users: int
    messages: int
    faults: tuple[str, ...]  # in words; empty when all agrees

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.faults


def read_view(
    database: Database, user: str, view: View, read: Callable[[Connection, Generation], list[R]]
) -> list[R]:
    """What `read` finds in the generation of the view that serves the user; nothing where there is none."""
    with database.read() as connection:
        generation = generations.serving(connection, user, view)
        return read(connection, generation) if generation else []


def stats(database: Database, views: Sequence[View], meter: Meter, user: str | None) -> Stats:
    """Counts of one user, or of all."""
    with database.read() as connection:
        names = log.all_users(connection) if user is None else [user]
        found = []
        for view in views:
            totals: dict[str, int] = {}
            lag = 0
            for name in names:
                for counted in view.stats(connection, name):
                    totals[counted.kind] = totals.get(counted.kind, 0) + counted.rows
                lag += generations.lag(connection, name, view)
            counts = tuple(Counted(kind, rows) for kind, rows in totals.items())
            found.append(ViewStats(view.name, counts, lag))
        return Stats(
            user=user,
            users=len(names),
            messages=sum(log.count(connection, name) for name in names),
            sessions=sum(len(log.sessions(connection, name)) for name in names),
            views=tuple(found),
            bytes_on_disk=database.bytes_on_disk(),
            usage=tuple(meter.usage(user)),
        )


def check_integrity(database: Database, views: Sequence[ViewStore]) -> Integrity:
    """Compare the database file, the log, every view and its blocks with each other; repairs nothing.

    What is wrong in one snapshot and not in the next was a block that another process was moving.
    """
    found = _checked(database, views)
    return found if found.ok else _checked(database, views)


def _checked(database: Database, views: Sequence[ViewStore]) -> Integrity:
    faults = database.faults()
    with database.read() as connection:
        names = log.all_users(connection)
        total = 0
        for name in names:
            total += log.count(connection, name)
            found = log.faults(connection, name)
            for view in views:
                generation = generations.serving(connection, name, view)
                if generation is not None:
                    found += [f"view {view.name}: {fault}" for fault in view.faults(connection, generation)]
            faults += [f"user {name!r}: {fault}" for fault in found]
    return Integrity(len(names), total, tuple(faults))
