"""The write path: append messages to the log and to the messages view in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Ingest:
    """The write path of one open memory."""

    database: Database
    view_of: Callable[[str], View]  # the messages view, with the models of the user's serving build
    now: Callable[[], datetime]
    is_later: Callable[[], bool]  # True: making vectors may take long, and is the background worker's
    notify: Callable[[str], None]  # tells the worker that a user has something to be read

    def add(self, user: str, messages: Sequence[Message]) -> list[Message]:
        """Store checked messages, all or none; returns them as stored."""
        appended = self.store(user, messages, later=self.is_later())
        self.notify(user)
        return appended.stored

    @sweeping()
    def store(
        self, user: str, messages: Sequence[Message], *, keep_first: bool = False, later: bool = False
    ) -> Appended:
        """Store messages of a user, all or none; they are durable when this returns.

        The log waits for no model: messages that cannot be embedded now are read by the view later, and
        recall finds them by their words. Messages are embedded before the transaction, up to a limit; the
        view reads more in batches afterwards. With `later` the view reads none of them here. `keep_first`:
        see log.append.
        """
        now, view = self.now(), self.view_of(user)
        prepared: Any = None
        if len(messages) <= _PREPARED_MESSAGES and not later:
            with suppress(ModelFailed):
                prepared = view.prepare([replace(m, time=m.time or now) for m in messages])

        def append(connection: Connection) -> tuple[Appended, bool]:
            appended = log.append(connection, user, messages, now, keep_first=keep_first)
            if prepared is None or not 0 < appended.new == len(messages):
                return appended, False
            seqs = [message.seq for message in appended.stored]
            return appended, maintenance.commit_new(connection, user, view, seqs, prepared)

        appended, is_read = self.database.transact(append, user)
        record("zibaldone.messages.added", appended.new)
        if not (is_read or later):
            try:
                with damage_is_named(self.database, user, [view]):
                    maintenance.advance(self.database, user, view)
            except StorageError as error:  # the messages are stored: the call must succeed
                _logger.warning("view %s lags behind for user %r: %s", view.name, user, error)
        last_seq = max((message.seq for message in appended.stored), default=0)
        if appended.new and isinstance(view, SavingView) and view.is_due(user, last_seq):
            save_index(self.database, user, view, appended.new)
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
