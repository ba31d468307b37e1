"""Drives the views forward: cursors, generations, transactions.

A view's output and its cursor are committed together. Whoever finds the cursor moved by somebody else
throws its own work away and goes on from there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, select, update

from commonplace import log
from commonplace.core import Message
from commonplace.errors import ModelFailed
from commonplace.storage.database import Database
from commonplace.storage.schema import view_states
from commonplace.views.base import Generation, View

BATCH_MESSAGES = 512  # read, prepared and committed at a time: bounds memory and the time of a write lock
_logger = logging.getLogger(__name__)


def serving(connection: Connection, user: str, view: View) -> Generation | None:
    """The generation that recall reads, whatever its fingerprint."""
    return _generation(connection, user, view, serving=True)


def commit_new(
    connection: Connection, user: str, view: View, messages: Sequence[Message], prepared: Any
) -> bool:
    """Commit freshly appended messages in the transaction that appended them.

    False, and nothing is written, when the view lags behind or serves another fingerprint: `advance` will do.
    """
    generation = serving(connection, user, view)
    if generation is None and messages[0].seq == 1:
        generation = _start(connection, user, view, 1, serving=True)
    if generation is None or generation.fingerprint != view.fingerprint:
        return False
    if generation.cursor != messages[0].seq - 1:
        return False
    view.commit(connection, generation, messages, prepared)
    _move(connection, view, generation, messages[-1].seq)
    return True


def advance(database: Database, user: str, view: View) -> bool:
    """Bring the view to the end of the log; a new fingerprint is built beside the old one first.

    False when a model failed on the way: what was committed stays, and a later call goes on from there.
    """
    while True:
        with database.read() as connection:
            current = serving(connection, user, view)
            stale = current is not None and current.fingerprint != view.fingerprint
            lags = (current.cursor if current else 0) < log.state(connection, user).last_seq
        try:
            if stale:
                rebuild(database, user, view)
            elif lags:
                _step(database, user, view, current)
            else:
                return True
        except ModelFailed as error:
            _logger.warning("view %s lags behind for user %r: %s", view.name, user, error)
            return False


def rebuild(database: Database, user: str, view: View) -> None:
    """Make the view anew from the log; the old generation serves until the new one is complete.

    An interrupted rebuild of the same fingerprint goes on where it stopped. Raises ModelFailed.
    """
    with database.write() as connection:
        if not log.state(connection, user).last_seq:
            return  # nobody of this name ever said anything
        current = serving(connection, user, view)
        building = _generation(connection, user, view, serving=False)
        if building is not None and building.fingerprint != view.fingerprint:
            _drop(connection, view, building)
            building = None
        if building is None:
            building = _start(connection, user, view, current.number + 1 if current else 1, serving=False)
    while not _switch(database, view, building):
        with database.read() as connection:
            latest = _generation(connection, user, view, serving=False)
        if latest is None or (latest.number, latest.fingerprint) != (building.number, building.fingerprint):
            return  # another process finished or replaced this build
        _step(database, user, view, latest)


def _step(database: Database, user: str, view: View, generation: Generation | None) -> None:
    """Read one batch behind the cursor and commit it, unless somebody else did meanwhile."""
    cursor = generation.cursor if generation else 0
    with database.read() as connection:
        batch = log.read(connection, user, after=cursor, limit=BATCH_MESSAGES)
        end = batch[-1].seq if batch else log.state(connection, user).last_seq
    prepared = view.prepare(batch) if batch else None
    with database.write() as connection:
        if generation is None:
            if serving(connection, user, view) is not None:
                return
            generation = _start(connection, user, view, 1, serving=True)
        elif _cursor(connection, view, generation) != cursor:
            return
        present = log.fetch(connection, user, [message.seq for message in batch])
        if len(present) < len(batch):
            return  # some were forgotten meanwhile: their text must not come back
        if batch:
            view.commit(connection, generation, batch, prepared)
        _move(connection, view, generation, end)
        log.touch(connection, user)


def _switch(database: Database, view: View, building: Generation) -> bool:
    """Let the new generation serve, if it has read the whole log; drops the old one."""
    with database.write() as connection:
        cursor = _cursor(connection, view, building)
        if cursor is None:
            return True
        if cursor < log.state(connection, building.user).last_seq:
            return False
        current = serving(connection, building.user, view)
        if current is not None and current.number == building.number:
            return True
        if current is not None:
            _drop(connection, view, current)
        connection.execute(update(view_states).where(_row(view, building)).values(serving=1))
        log.touch(connection, building.user, deleted=True)
        return True


def _generation(connection: Connection, user: str, view: View, *, serving: bool) -> Generation | None:
    c = view_states.c
    row = connection.execute(
        select(c.generation, c.fingerprint, c.cursor).where(
            c.user == user, c.view == view.name, c.serving == int(serving)
        )
    ).first()
    return Generation(user, row.generation, row.fingerprint, row.cursor) if row else None


def _start(connection: Connection, user: str, view: View, number: int, *, serving: bool) -> Generation:
    connection.execute(
        view_states.insert().values(
            user=user,
            view=view.name,
            generation=number,
            fingerprint=view.fingerprint,
            cursor=0,
            serving=int(serving),
        )
    )
    return Generation(user, number, view.fingerprint, 0)


def _drop(connection: Connection, view: View, generation: Generation) -> None:
    view.drop(connection, generation)
    connection.execute(delete(view_states).where(_row(view, generation)))


def _cursor(connection: Connection, view: View, generation: Generation) -> int | None:
    return connection.execute(select(view_states.c.cursor).where(_row(view, generation))).scalar()


def _move(connection: Connection, view: View, generation: Generation, cursor: int) -> None:
    connection.execute(update(view_states).where(_row(view, generation)).values(cursor=cursor))


def _row(view: View, generation: Generation) -> Any:
    """The generation's row; none once another model's build has taken its number."""
    c = view_states.c
    return and_(
        c.user == generation.user,
        c.view == view.name,
        c.generation == generation.number,
        c.fingerprint == generation.fingerprint,
    )
