"""Forgetting of many messages in steps, as all users of a folder share one write lock.

The first transaction notes the messages. From then on nobody reads or writes rows of the user before all are
removed: whoever opens a transaction of the user finishes first (`Database.finish_forgetting`). After a crash
the next opening or maintenance of the folder does so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

from sqlalchemy import Connection, delete, select

from zibaldone import log
from zibaldone.errors import StorageFull
from zibaldone.log import audit
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.database import Database
from zibaldone.storage.schema import forgettings
from zibaldone.text.purgeable_cache import forget_texts, sweeping
from zibaldone.views.base import SheddingView, ViewStore

# Limits of one step: messages, their bytes, and units of a single longer message.
STEP_MESSAGES, STEP_SIZE, STEP_UNITS = 100, 100_000, 1000
_LONGEST_PAUSE_S = 0.1
T = TypeVar("T")
_logger = logging.getLogger(__name__)


def fits_in_one(connection: Connection, database: Database, user: str, seqs: Sequence[int]) -> bool:
    """True if one short transaction can remove these messages."""
    if database.shared:  # each user has a lock of their own
        return True
    return len(seqs) <= STEP_MESSAGES and sum(log.sizes(connection, user, seqs).values()) <= STEP_SIZE


def in_room(database: Database, write: Callable[[], T]) -> T:
    """Run a write transaction; on a full disk again, with the reserve file's room."""
    try:
        return write()
    except StorageFull:
        if not database.make_room():
            raise
    return write()


def note(connection: Connection, user: str, seqs: Sequence[int]) -> None:
    """Note messages to be removed by `finish`, whatever happens until then."""
    connection.execute(forgettings.insert().values(user=user, seqs=_runs(seqs)))
    log.touch(connection, user, deleted=True)
    audit.note(connection, user, "forget", len(seqs))


@sweeping()
def finish(database: Database, views: Sequence[ViewStore], user: str) -> None:
    """Remove the noted messages step by step; other processes may do so at the same time.

    Views that cannot forget in parts do so first, in one transaction each.
    """
    with database.step(user) as connection:
        noted = _noted(connection, user)
    if noted is None:
        return
    seqs = _seqs(noted)
    step = partial(_step, database, user, noted)
    for view in views:
        if not isinstance(view, SheddingView):
            step(partial(_forget_whole, view, user, seqs))
    shedding = [view for view in views if isinstance(view, SheddingView)]
    for batch in in_chunks(seqs, STEP_MESSAGES):
        left = batch
        while left:
            left = step(partial(_less, shedding, user, left))
    step(partial(_end, user))
    forget_texts()


def finish_all(database: Database, views: Callable[[], Sequence[ViewStore]]) -> bool:
    """Finish interrupted forgettings of all users; True if there were any."""
    with database.read() as connection:
        stopped = connection.execute(select(forgettings.c.user)).scalars().all()
    for user in stopped:
        _logger.warning("forgetting for user %r was interrupted: continuing", user)
        finish(database, views(), user)
    return bool(stopped)


def _step(
    database: Database, user: str, noted: str, work: Callable[[Connection], Sequence[int]]
) -> Sequence[int]:
    """Run one transaction and pause for other writers; returns the seqs left, none if finished elsewhere."""
    began = time.monotonic()

    def step() -> Sequence[int]:
        with database.step(user) as connection:
            if _noted(connection, user) != noted:  # finished elsewhere, and perhaps another one noted
                return ()
            database.purge_is_due(connection)
            return work(connection)

    left = in_room(database, step)
    pause(began)
    return left


def _noted(connection: Connection, user: str) -> str | None:
    return connection.execute(select(forgettings.c.seqs).where(forgettings.c.user == user)).scalar()


def pause(began: float) -> None:
    """Leave the write lock to others for as long as a step took that began at `began`."""
    time.sleep(min(time.monotonic() - began, _LONGEST_PAUSE_S))


def _forget_whole(view: ViewStore, user: str, seqs: Sequence[int], connection: Connection) -> Sequence[int]:
    view.forget(connection, user, seqs)
    return ()


def _less(
    views: Sequence[SheddingView], user: str, seqs: Sequence[int], connection: Connection
) -> Sequence[int]:
    """Remove some of these messages, or a part of the first one's units; returns the seqs left."""
    some: list[int] = []
    size = 0
    for seq, its_size in sorted(log.sizes(connection, user, seqs).items()):
        size += its_size
        if some and size > STEP_SIZE:
            break
        some.append(seq)
    if not some:
        return ()
    if max((view.shed(connection, user, some, STEP_UNITS) for view in views), default=0) == STEP_UNITS:
        return seqs
    for view in views:
        view.forget(connection, user, some)
    log.delete_rows(connection, user, some)
    return [seq for seq in seqs if seq > some[-1]]


def _end(user: str, connection: Connection) -> Sequence[int]:
    connection.execute(delete(forgettings).where(forgettings.c.user == user))
    log.touch(connection, user, deleted=True)
    return ()


def _runs(seqs: Iterable[int]) -> str:
    """Encode rising numbers as ranges: "1-5 8-8"."""
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and runs[-1][1] == seq - 1:
            runs[-1][1] = seq
        else:
            runs.append([seq, seq])
    return " ".join(f"{first}-{last}" for first, last in runs)


def _seqs(runs: str) -> list[int]:
    ends = (run.split("-") for run in runs.split())
    return list(chain.from_iterable(range(int(first), int(last) + 1) for first, last in ends))
