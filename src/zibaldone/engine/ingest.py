"""The write path: append messages to the log and to the messages view in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
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
from zibaldone.storage.columns import means
from zibaldone.storage.database import Database
from zibaldone.text.purgeable_cache import sweeping
from zibaldone.views.base import SavingView, View

_PREPARED_MESSAGES = 2048  # in memory at a time, with their vectors
_logger = logging.getLogger(__name__)
Progress = Callable[[int, int], None]  # messages done, messages in all
Parts = Sequence[tuple[str, Sequence[Message]]]  # who gets which messages


@sweeping()
def ingest(
    database: Database,
    view: View,
    parts: Parts,
    now: datetime,
    progress: Progress | None = None,
    *,
    keep_first: bool = False,
    later: bool = False,
) -> list[Appended]:
    """Store the messages of every part, all or none; they are durable when this returns.

    The log waits for no model: messages that cannot be embedded now are read by the view later, and recall
    finds them by their words. Messages are embedded before the transaction, up to a limit; the view reads the
    rest in batches afterwards. With `later` the view reads none of them here. `keep_first`: see log.append.
    """
    total = sum(len(messages) for _, messages in parts)
    done = 0

    def report(more: int) -> None:
        if progress:
            progress(min(done + more, total), total)

    prepared: list[Any] = []  # by the view, for each part; None: not prepared
    for _, messages in parts:
        made = None
        if done + len(messages) <= _PREPARED_MESSAGES and not later:
            with suppress(ModelFailed):
                made = view.prepare([replace(m, time=m.time or now) for m in messages], progress=report)
            done += len(messages)
        prepared.append(made)

    def step(messages: int) -> None:
        nonlocal done
        report(messages)
        done += messages

    def store(connection: Connection) -> tuple[list[Appended], list[str]]:
        """Append; returns the results, and the users whose messages the view has not read."""
        results, behind = [], []
        for (user, messages), ready in zip(parts, prepared, strict=True):
            means(connection, user)
            appended = log.append(connection, user, messages, now, keep_first=keep_first)
            results.append(appended)
            all_new = ready is not None and 0 < appended.new == len(messages)
            if not (all_new and maintenance.commit_new(connection, user, view, appended.stored, ready)):
                behind.append(user)
        return results, behind

    results, behind = database.transact(store, *(user for user, _ in parts))
    record("zibaldone.messages.added", sum(appended.new for appended in results))
    for user in () if later else behind:
        try:
            with damage_is_named(database, user, [view]):
                maintenance.advance(database, user, view, on_step=step)
        except StorageError as error:  # the messages are stored: the call must succeed
            _logger.warning("view %s lags behind for user %r: %s", view.name, user, error)
    for appended, (user, _) in zip(results, parts, strict=True):
        if not (appended.new and isinstance(view, SavingView)):
            continue
        if view.is_due(user, max(message.seq or 0 for message in appended.stored)):
            save_index(database, user, view, appended.new)
    report(total)
    return results


def save_index(database: Database, user: str, view: SavingView, added: int | None) -> None:
    """Have the view save what is in memory of a user, to whom somebody added; None: nobody waits."""
    try:
        with database.read(user) as connection:
            generation = serving(connection, user, view)
        if generation is not None:
            view.save(database, generation, added)
    except StorageError as error:  # an index is made from rows as well
        _logger.warning("the index of view %s was not saved for user %r: %s", view.name, user, error)
