"""Forgetting a user by destroying the key that seals their words: every copy is unreadable at once.

    condemn    mark the user's key as being destroyed: nobody seals with it any more, so nothing is
               acknowledged and lost
    destroy    overwrite it where it is stored, and leave a mark
    erase      delete all rows of the user in steps, with saved indexes, and release blocks
    clear      clear the views' caches, delete blocks and objects, and purge the files

After a crash the key stays condemned: the next opening of the memory, or the next shredding, continues. From
`destroy` on the user's words are protected by the missing key, in backups as well.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, Delete, delete, select, tuple_, update

from zibaldone import log
from zibaldone.engine.forgetting import Receipt, Removed, Selector, ended, preview, purge, refreshed, texts_at
from zibaldone.engine.forgetting_steps import STEP_MESSAGES, STEP_UNITS, in_room, pause
from zibaldone.errors import InvalidInput
from zibaldone.log import audit
from zibaldone.storage.columns import UNREADABLE
from zibaldone.storage.database import Database
from zibaldone.storage.keyring import Keyring
from zibaldone.storage.schema import blocks, message_files, messages, metadata
from zibaldone.text.purgeable_cache import forget_texts, sweeping
from zibaldone.views.base import ViewStore

# Tables that keep rows of the user: counters that survive any forgetting, rows deleted with their keys, and
# blocks and objects, whose bytes are deleted first.
_LEFT = frozenset(
    {"users", "forgotten_ids", "exports", "audit", "model_usage", "leases", "server_keys"}
    | {"user_keys", "saved_indexes", "blocks"}
)
_logger = logging.getLogger(__name__)
_Found = tuple[str | None, list[int], tuple[str, ...], tuple[Removed, ...]]


@sweeping()
def shred(
    database: Database,
    views: Sequence[ViewStore],
    user: str,
    *,
    dry_run: bool = False,
    keep_texts: bool = False,
    now: datetime | None = None,
    also: Sequence[ViewStore] = (),
) -> Receipt:
    """Forget everything of a user by destroying their key; see `forgetting.forget_each` for the parameters.

    Raises InvalidInput if the memory has no keys of users.
    """
    keyring = database.keyring
    if keyring is None:
        raise InvalidInput(
            "shred=True destroys a user's key, and this memory has none: leave it out, or begin a memory"
            " with user_keys="
        )
    if dry_run:
        everything = Selector(everything=True)
        return preview(database, views, user, everything, keep_texts=keep_texts, now=now)
    number, seqs, texts, counted = database.transact(
        lambda connection: _condemn(connection, keyring, views, user, keep_texts=keep_texts), user
    )
    if number is not None:
        keyring.destroy(number, user)
        _erase(database, keyring, user, number)
    forget_texts()
    deleted = refreshed(database, [*views, *also], user)
    receipt = Receipt(user, False, tuple(seqs), counted, deleted, time=now, texts=texts, key=number or "")
    return ended(database, receipt, purged=purge(database))


def finish(database: Database, views: Callable[[], Sequence[ViewStore]], now: datetime) -> None:
    """Finish interrupted shreddings."""
    if database.keyring is None:
        return
    with database.read() as connection:
        stopped = database.keyring.condemned(connection)
    for user in stopped:
        _logger.warning("destroying the key of user %r was interrupted: continuing", user)
        shred(database, views(), user, now=now)


def _condemn(
    connection: Connection, keyring: Keyring, views: Sequence[ViewStore], user: str, *, keep_texts: bool
) -> _Found:
    """Condemn the key, and count what the receipt says while it can still be read."""
    texts: tuple[str, ...] = ()
    counted: tuple[Removed, ...] = ()
    seqs = log.seqs_where(connection, user)
    if keyring.condemned_key(connection, user) is None:
        try:
            log.note_forgotten(connection, user, seqs)
            texts = texts_at(connection, user, seqs) if keep_texts else ()
            counted = tuple(Removed(view.name, view.preview_forget(connection, user, seqs)) for view in views)
        except UNREADABLE as error:  # no reason to keep the key
            _logger.warning("data of user %r cannot be read any more, and is not counted: %s", user, error)
    return keyring.condemn(connection, user), seqs, texts, counted


def _erase(database: Database, keyring: Keyring, user: str, number: str) -> None:
    """Delete every row of the user except counters, digests and the audit, without reading any.

    In steps, the messages last. Each step checks the key's number: after another process has finished, the
    user may have come back with a new key.
    """

    def step(work: Callable[[Connection], int]) -> int:
        def checked(connection: Connection) -> int:
            if keyring.condemned_key(connection, user) != number:
                return 0
            database.purge_is_due(connection)
            return work(connection)

        began = time.monotonic()
        outcome = in_room(database, lambda: database.transact(checked, user))
        pause(began)
        return outcome

    def release(connection: Connection) -> int:
        database.saved.drop(connection, user)
        released = update(blocks).where(blocks.c.user == user).values(released=1, invalid=blocks.c.records)
        connection.execute(released)
        return log.count(connection, user)

    def end(connection: Connection) -> int:
        keyring.release(connection, user)
        if amount:
            log.touch(connection, user, deleted=True)
            audit.note(connection, user, "forget", amount)
        return 0

    amount = step(release)
    for table in sorted(metadata.sorted_tables, key=lambda table: table is messages):
        if "user" in table.c and table.name not in _LEFT:
            key, mine = list(table.primary_key), table.c.user == user
            most = STEP_MESSAGES if table in (messages, message_files) else STEP_UNITS
            some = delete(table).where(mine, tuple_(*key).in_(select(*key).where(mine).limit(most)))
            while step(partial(_deleted, some)) == most:
                pass
    step(end)


def _deleted(some: Delete, connection: Connection) -> int:
    return connection.execute(some).rowcount
