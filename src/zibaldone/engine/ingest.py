"""The write path: append messages to the log and to the messages view in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.core.telemetry import record
from zibaldone.engine import maintenance
from zibaldone.engine.generations import serving
from zibaldone.engine.inspection import damage_is_named
from zibaldone.errors import ModelFailed, StorageError
from zibaldone.log import Appended
from zibaldone.storage.database import Database
from zibaldone.text.purgeable_cache import sweeping
from zibaldone.views.base import SavingView, View

_PREPARED_MESSAGES = 2048  # in memory at a time, with their vectors
_logger = logging.getLogger(__name__)
Progress = Callable[[int, int], None]  # messages done, messages in all


@sweeping()
def ingest(
    database: Database,
    view: View,
    user: str,
    messages: Sequence[Message],
    now: datetime,
    *,
    keep_first: bool = False,
    later: bool = False,
) -> Appended:
    """Store messages of a user, all or none; they are durable when this returns.

    The log waits for no model: messages that cannot be embedded now are read by the view later, and recall
    finds them by their words. Messages are embedded before the transaction, up to a limit; the view reads the
    rest in batches afterwards. With `later` the view reads none of them here. `keep_first`: see log.append.
    """
    prepared = None
    if len(messages) <= _PREPARED_MESSAGES and not later:
        with suppress(ModelFailed):
            prepared = view.prepare([replace(m, time=m.time or now) for m in messages])

    def store(connection: Connection) -> tuple[Appended, bool]:
        """Append; returns the result, and whether the view has read it."""
        appended = log.append(connection, user, messages, now, keep_first=keep_first)
        all_new = prepared is not None and 0 < appended.new == len(messages)
        stored = appended.stored
        return appended, all_new and maintenance.commit_new(connection, user, view, stored, prepared)

    appended, is_read = database.transact(store, user)
    record("zibaldone.messages.added", appended.new)
    if not is_read and not later:
        try:
            with damage_is_named(database, user, [view]):
                maintenance.advance(database, user, view)
        except StorageError as error:  # the messages are stored: the call must succeed
            _logger.warning("view %s lags behind for user %r: %s", view.name, user, error)
    newest = max((message.seq for message in appended.stored), default=0)
    if appended.new and isinstance(view, SavingView) and view.is_due(user, newest):
        save_index(database, user, view, appended.new)
    return appended


def save_index(database: Database, user: str, view: SavingView, added: int | None) -> None:
    """Have the view save what is in memory of a user, to whom somebody added; None: nobody waits."""
    try:
        with database.read(user) as connection:
            generation = serving(connection, user, view)
        if generation is not None:
            view.save(database, generation, added)
    except StorageError as error:  # an index is made from rows as well
        _logger.warning("the index of view %s was not saved for user %r: %s", view.name, user, error)
