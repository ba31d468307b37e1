"""What is stored, and whether it agrees with itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core.validation import shown
from zibaldone.engine import generations
from zibaldone.errors import KeyDestroyed, KeyMissing, StorageCorrupt, ZibaldoneError
from zibaldone.models.meter import Meter, Usage
from zibaldone.storage.columns import UNREADABLE
from zibaldone.storage.database import Database
from zibaldone.views.base import Counted, Generation, View, ViewStore

R = TypeVar("R")
_logger = logging.getLogger(__name__)


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
    with damage_is_named(database, user, [view]), database.read(user) as connection:
        generation = generations.serving(connection, user, view)
        return read(connection, generation) if generation else []


# What reading rows raises that do not fit together: each is Python's own, and names no fix.
_UNFIT = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


@contextmanager
def damage_is_named(database: Database, user: str, views: Sequence[ViewStore]) -> Iterator[None]:
    """Raise StorageCorrupt, with the fix, for an error that comes of rows which do not fit together.

    It is told from any other error, which goes on as it is, by what the views' own check finds.
    """
    try:
        yield
    except ZibaldoneError:
        raise
    except _UNFIT as error:
        with database.read(user) as connection:
            for view in views:
                if faults := faults_of(connection, user, view):
                    raise StorageCorrupt(
                        f"the {view.name} view of user {user!r} is damaged ({faults[0]}): make it anew with"
                        f" rebuild(user={user!r}, view={view.name!r}), or restore a copy"
                    ) from error
        raise


def faults_of(connection: Connection, user: str, view: ViewStore) -> list[str]:
    """Where what serves the user disagrees with the log, or with itself; empty when it agrees."""
    try:
        generation = generations.serving(connection, user, view)
        view.stats(connection, user)  # reads what `faults` has nothing to compare with
        return view.faults(connection, generation) if generation is not None else []
    except UNREADABLE as error:
        return [str(error)]
    except _UNFIT as error:
        return [f"its rows do not fit together: {type(error).__name__} {shown(str(error))}"]


def faults_beside(connection: Connection, user: str, view: ViewStore) -> list[str]:
    """Where what stands beside the serving generation, or is kept, disagrees with the log or with itself."""
    disagreeing = []
    for stands in ("beside", "kept"):
        generation = generations.standing(connection, user, view, stands)
        if generation is None:
            continue
        try:
            faults = view.faults(connection, generation)
        except UNREADABLE as error:
            faults = [str(error)]
        except _UNFIT as error:
            faults = [f"its rows do not fit together: {type(error).__name__} {shown(str(error))}"]
        fix = f"discard({view.name!r}, user={user!r}) removes it"
        disagreeing += [f"the build that is {stands}: {fault}; {fix}" for fault in faults]
    return disagreeing


def stats(database: Database, views: Sequence[View], meter: Meter, user: str | None) -> Stats:
    """Counts of one user, or of all: then without rows that wait for a key that is gone."""
    # Each in a transaction of its own: one inside another waits for the pool.
    usage, bytes_on_disk = tuple(meter.usage(user)), database.bytes_on_disk()
    with database.read(user) as connection:
        names = log.all_users(connection) if user is None else [user]
        held = []
        for view in views:
            totals: dict[str, int] = {}
            lag = 0
            for name in names:
                try:
                    with damage_is_named(database, name, [view]):
                        counted_rows = view.stats(connection, name)
                except (KeyDestroyed, KeyMissing) as error:
                    if user is not None:
                        raise
                    _logger.warning("view %s of user %r goes uncounted: %s", view.name, name, error)
                    counted_rows = ()
                for counted in counted_rows:
                    totals[counted.kind] = totals.get(counted.kind, 0) + counted.rows
                lag += generations.lag(connection, name, view)
            counts = tuple(Counted(kind, rows) for kind, rows in totals.items())
            held.append(ViewStats(view.name, counts, lag))
        return Stats(
            user=user,
            users=len(names),
            messages=sum(log.count(connection, name) for name in names),
            sessions=sum(log.count_sessions(connection, name) for name in names),
            views=tuple(held),
            bytes_on_disk=bytes_on_disk,
            usage=usage,
        )


def check_integrity(database: Database, views: Sequence[ViewStore]) -> Integrity:
    """Compare the database file, the log, every view and its blocks with each other; repairs nothing.

    What is wrong in one snapshot and not in the next was a block that another process was moving.
    """
    integrity = _checked(database, views)
    return integrity if integrity.ok else _checked(database, views)


def _checked(database: Database, views: Sequence[ViewStore]) -> Integrity:
    faults = database.faults()
    with database.read() as connection:
        names = log.all_users(connection)
        total = 0
        for name in names:
            total += log.count(connection, name)
            try:
                disagreeing = log.faults(connection, name)
            except (KeyDestroyed, KeyMissing) as error:  # then nothing else of it can be read
                faults.append(f"user {name!r}: {error}")
                continue
            for view in views:
                wrong = faults_of(connection, name, view) + faults_beside(connection, name, view)
                disagreeing += [f"view {view.name}: {fault}" for fault in wrong]
            faults += [f"user {name!r}: {fault}" for fault in disagreeing]
    return Integrity(len(names), total, tuple(faults))
