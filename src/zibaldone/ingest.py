"""The write path: messages become durable, and the messages view reads them in the same transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from zibaldone import log, maintenance
from zibaldone.core import Message
from zibaldone.errors import ModelFailed, StorageError
from zibaldone.importers.importing import assign_users, read_all
from zibaldone.log import Appended
from zibaldone.storage.database import Database
from zibaldone.views.base import View

_logger = logging.getLogger(__name__)
Progress = Callable[[int, int], None]  # messages done, messages in all
Parts = Sequence[tuple[str, Sequence[Message]]]  # who gets which messages


@dataclass(frozen=True, slots=True)
class Imported:
    """What one import did."""

    format: str
    users: tuple[str, ...]  # whose memory grew, or would have
    conversations: int
    read: int  # messages in the file
    added: int  # of them, those that were not there already
    changed: int  # of them, those that were there with another content, and stay as first stored


def ingest(
    database: Database,
    view: View,
    parts: Parts,
    now: datetime,
    progress: Progress | None = None,
    *,
    keep_first: bool = False,
) -> list[Appended]:
    """Store the messages of each (user, messages), all of them or none; durable when this returns.

    The log waits for no model: what the view cannot embed now it reads later, and recall finds it by its
    words meanwhile. The slow part runs before the transaction. `keep_first`: see log.append.
    """
    total = sum(len(messages) for _, messages in parts)
    done = 0

    def report(of_this_part: int) -> None:
        if progress:
            progress(done + of_this_part, total)

    prepared: list[Any] = []  # what the view made of each part; None when it could not
    for _, messages in parts:
        timed = [replace(m, time=m.time or now) for m in messages]
        try:
            prepared.append(view.prepare(timed, progress=report))
        except ModelFailed:
            prepared.append(None)
        done += len(messages)
    results = []
    behind = []
    with database.write() as connection:
        for (user, messages), ready in zip(parts, prepared, strict=True):
            appended = log.append(connection, user, messages, now, keep_first=keep_first)
            results.append(appended)
            all_new = ready is not None and 0 < appended.new == len(messages)
            if not (all_new and maintenance.commit_new(connection, user, view, appended.stored, ready)):
                behind.append(user)
    for user in behind:
        try:
            maintenance.advance(database, user, view)
        except StorageError as error:  # the messages are stored: the caller must not be told otherwise
            _logger.warning("view %s lags behind for user %r: %s", view.name, user, error)
    return results


def import_file(
    store: Callable[[Parts], list[Appended]],
    path: Path,
    user: str | None,
    format: str | None,  # noqa: A002 - the word a caller expects
) -> Imported:
    """Read and check the whole file, then store all of it, or none.

    A message that was stored with another content before (edited since, or rendered anew) stays as it was,
    so that the rest of a newer export can come in. Raises InvalidImport, NoUser, and UnknownName for the
    format.
    """
    name, conversations = read_all(path, format)
    assigned = assign_users(conversations, user)
    appended = store([(part.user, part.messages) for part in assigned])
    return Imported(
        format=name,
        users=tuple(part.user for part in assigned),
        conversations=len(conversations),
        read=sum(len(part.messages) for part in assigned),
        added=sum(part.new for part in appended),
        changed=sum(part.changed for part in appended),
    )
