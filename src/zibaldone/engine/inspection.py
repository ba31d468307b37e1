"""Statistics of a memory, and checks of its integrity."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
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
    """Statistics of one view."""

    view: str
    counts: tuple[Counted, ...]
    lag: int  # messages not read yet


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a memory, of one user or of all."""

    user: str | None
    users: int
    messages: int
    sessions: int
    views: tuple[ViewStats, ...]
    bytes_on_disk: int  # of the whole folder
    usage: tuple[Usage, ...]  # of models, per user, day, view and task


@dataclass(frozen=True, slots=True)
class Integrity:
    """Result of an integrity check."""

    users: int
    messages: int
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if there is no fault."""
        return not self.faults


def read_view(
    database: Database, user: str, view: View, read: Callable[[Connection, Generation], list[R]]
) -> list[R]:
    """Return `read(connection, generation)` of the user's serving generation; [] if there is none."""
    with damage_is_named(database, user, [view]), database.read(user) as connection:
        generation = generations.serving(connection, user, view)
        return read(connection, generation) if generation else []


# Python's own errors, raised by reading inconsistent rows.
_UNFIT = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


@contextmanager
def damage_is_named(database: Database, user: str, views: Sequence[ViewStore]) -> Iterator[None]:
    """Turn an error into StorageCorrupt, with the fix, if the views' own checks find inconsistent rows.

    Any other error is raised unchanged.
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
    """Describe how the user's serving generation disagrees with the log or with itself."""

    def read() -> list[str]:
        generation = generations.serving(connection, user, view)
        view.stats(connection, user)  # reads rows that `faults` does not
        return view.faults(connection, generation) if generation is not None else []

    return _faults_in(read)


def faults_beside(connection: Connection, user: str, view: ViewStore) -> list[str]:
    """Describe how the builds beside the serving one disagree with the log or with themselves."""
    fix = f"discard({view.name!r}, user={user!r}) removes it"
    return [
        f"the build that is {state}: {fault}; {fix}"
        for state in ("beside", "kept")
        if (generation := generations.standing(connection, user, view, state)) is not None
        for fault in _faults_in(partial(view.faults, connection, generation))
    ]


def _faults_in(read: Callable[[], list[str]]) -> list[str]:
    """Return the faults that `read` finds, or that reading itself fails."""
    try:
        return read()
    except UNREADABLE as error:
        return [str(error)]
    except _UNFIT as error:
        return [f"its rows do not fit together: {type(error).__name__} {shown(str(error))}"]


def stats(database: Database, views: Sequence[View], meter: Meter, user: str | None) -> Stats:
    """Count what one user has, or all; for all, without rows whose key is missing."""
    # Not inside the transaction below: a nested one would wait for the connection pool.
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
    """Compare the database file, the log, every view and its blocks; repairs nothing.

    Checks twice before it reports a fault: another process may have been moving a block.
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
