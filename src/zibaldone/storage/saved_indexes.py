"""Saved indexes: segments in the format of safetensors, each with a row that says whether it is current.

They are derived, and hold words of messages. A row is there before its object, and goes after it: so a crash
leaves nothing that no row names. Forgetting releases the rows in the transaction that forgets a message, and
whoever saves publishes in one, so that it sees whether anything was forgotten meanwhile.
"""

from __future__ import annotations

import logging
import mmap
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import ColumnElement, Connection, and_, delete, or_, select, update

from zibaldone.errors import StorageError
from zibaldone.storage.columns import UNREADABLE, means
from zibaldone.storage.objects import ObjectStore, files_under, owner_of
from zibaldone.storage.schema import saved_indexes as table
from zibaldone.storage.schema import stored_objects

if TYPE_CHECKING:
    from zibaldone.storage.keyring import Keyring

SAVED = "saved indexes"  # in a connection's info: those of its database
INDEX_ROWS = "index"  # their kind, where they are rows
_GRACE_S = 3600.0  # an object that is being written for longer is a crash's
_RETRY_DELAY_S = 15.0  # after a store did not answer, indexes are made from the rows for so long
_logger = logging.getLogger(__name__)


class Transactions(Protocol):
    """The part of a Database that saved indexes need; see Database."""

    keyring: Keyring | None

    def read(self, user: str | None = None) -> AbstractContextManager[Connection]: ...

    def unlocked(self) -> AbstractContextManager[Connection]: ...

    def now_us(self, connection: Connection) -> int: ...


class SavedIndexes:
    """The current segments of a user's index of each name: each whole, or not there."""

    def __init__(self, database: Transactions, store: ObjectStore) -> None:
        self.store = store
        self._database = database
        self._retry_at = 0.0

    def headers(self, connection: Connection, user: str, name: str) -> dict[str, bytes]:
        """Return the headers of current segments, the bytes before their arrays, by key."""
        rows = connection.execute(select(table.c.key, table.c.header).where(_current(user, name)))
        return {row.key: row.header for row in rows}

    def contents(self, user: str, key: str) -> bytearray | mmap.mmap | None:
        """Return a private copy of a segment; None if it is not there, or while the store does not answer."""
        if time.monotonic() < self._retry_at:
            return None
        try:
            return self.store.own(key)
        except (KeyError, *UNREADABLE) as error:
            _logger.warning("a saved index of user %r is not there, or cannot be opened: %s", user, error)
            # Of an older snapshot: another may be current.
            self._release(table.c.user == user, table.c.key == key)
        except StorageError as error:
            self._retry_at = time.monotonic() + _RETRY_DELAY_S
            _logger.warning("a saved index of user %r is made from the rows instead: %s", user, error)
        return None

    @contextmanager
    def draft(
        self, user: str, name: str, arrays: Mapping[str, Any], metadata: dict[str, str]
    ) -> Iterator[str]:
        """Write a draft and yield its key for `publish`; an unpublished one is deleted at the end.

        Raises SafetensorError and StorageError.
        """
        from safetensors.numpy import save

        data = save(dict(arrays), metadata)
        if self._database.keyring is not None:
            self._database.keyring.of_user(user)  # nobody is given a key for this
        key = f"{owner_of(user)}/{name}-{uuid.uuid4().hex}"
        with self._database.unlocked() as connection:
            means(connection, user)
            connection.execute(
                table.insert().values(
                    user=user,
                    key=key,
                    name=name,
                    state="written",
                    since_us=self._database.now_us(connection),
                    bytes=len(data),
                    header=data[: 8 + int.from_bytes(data[:8], "little")],
                )
            )
        try:
            self.store.put(key, data)
            yield key
        finally:
            mine = and_(table.c.user == user, table.c.key == key)
            with suppress(StorageError):  # whoever sweeps next knows of it
                self._release(mine, table.c.state == "written")
                with self._database.read(user) as connection:
                    state = connection.execute(select(table.c.state).where(mine)).scalar()
                if state != "current":  # it was released meanwhile, perhaps before there was an object
                    self.store.delete(key)
                self.sweep(user)

    def publish(
        self,
        connection: Connection,
        user: str,
        name: str,
        draft: str,
        known: Collection[str],
        kept: Collection[str],
    ) -> None:
        """Put a draft behind the `kept` ones of the `known` current segments, in place of the others.

        Raises OSError, also where other segments are current by now.
        """
        mine = update(table).where(table.c.user == user, table.c.key == draft, table.c.state == "written")
        if set(connection.execute(select(table.c.key).where(_current(user, name))).scalars()) != set(known):
            raise OSError("somebody else saved it meanwhile")
        replaced = update(table).where(_current(user, name), table.c.key.not_in(kept))
        connection.execute(replaced.values(state="released"))
        if not connection.execute(mine.values(state="current")).rowcount:
            raise OSError("it was swept away before it was whole")

    def discard(self, user: str, keys: Collection[str]) -> None:
        """Release damaged segments, which are then built anew."""
        self._release(table.c.user == user, table.c.key.in_(keys))

    def _release(self, *which: ColumnElement[bool]) -> None:
        with suppress(StorageError), self._database.unlocked() as connection:
            connection.execute(update(table).where(*which).values(state="released"))

    def drop(self, connection: Connection, user: str) -> None:
        """Release all indexes of the user, drafts included; `sweep` deletes the objects."""
        connection.execute(update(table).where(table.c.user == user).values(state="released"))

    def clear(self, connection: Connection) -> None:
        """Release all users' indexes before they move elsewhere; delete those kept as rows."""
        connection.execute(update(table).values(state="released"))
        connection.execute(delete(stored_objects).where(stored_objects.c.kind == INDEX_ROWS))

    def sweep(self, user: str | None = None) -> None:
        """Delete the objects of released indexes, and those that a crash left, of one user or of all.

        Call after the transaction that released them. Raises StorageError; the next call goes on.
        """
        c = table.c
        whose = [] if user is None else [c.user == user]
        strays = self._strays(user)
        with self._database.read(user) as connection:
            since_us = self._database.now_us(connection) - round(_GRACE_S * 1e6)
            left = or_(c.state == "released", and_(c.state == "written", c.since_us < since_us))
            gone = connection.execute(select(c.user, c.key).where(left, *whose)).all()
        if gone or strays:
            self.store.delete(*strays, *(row.key for row in gone))
        if gone:
            with self._database.unlocked() as connection:
                for row in gone:
                    connection.execute(delete(table).where(c.user == row.user, c.key == row.key))

    def _strays(self, user: str | None) -> list[str]:
        """Find files that no row names: of a folder put together from copies."""
        files = files_under(self.store)
        folder = "" if user is None else f"{owner_of(user)}/"
        there = [name for name, _ in files.names(folder)] if files else []
        if not there:
            return []
        whose = [] if user is None else [table.c.user == user]
        with self._database.read(user) as connection:
            known = set(connection.execute(select(table.c.key).where(*whose)).scalars())
        return [name for name in there if name not in known]


def indexes_of(connection: Connection) -> SavedIndexes:
    """Return the saved indexes of the connection's database."""
    indexes: SavedIndexes = connection.info[SAVED]
    return indexes


def _current(user: str, name: str) -> ColumnElement[bool]:
    return and_(table.c.user == user, table.c.name == name, table.c.state == "current")
