"""The contract of a database, fulfilled by SQLite and PostgreSQL.

The rest of the package uses SQLAlchemy with either. Their differences are in this folder: `sqlite`,
`postgres`, the types of `columns`, the SQL of `migrations`, and the stores of data outside of tables
(`objects`, `saved_indexes`).
"""

from __future__ import annotations

import os
import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, Engine

from zibaldone.errors import InvalidInput, StorageBusy
from zibaldone.storage.bucket import Bucket
from zibaldone.storage.folder_layout import HEADER
from zibaldone.storage.objects import EncryptedObjects, ObjectStore
from zibaldone.storage.saved_indexes import SAVED, SavedIndexes

if TYPE_CHECKING:
    from zibaldone.storage.keyring import Keyring

T = TypeVar("T")
_ATTEMPTS = 5  # of a transaction that conflicts with others
_FIRST_PAUSE_S = 0.01  # between two attempts; doubled each time
_SQLITE = b"SQLite format 3\0"  # the first bytes of any of its files
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of two letters: one is a drive
_FAMILY = ("postgresql", "postgres")  # schemes of PostgreSQL's URLs


class Collided(StorageBusy):
    """A transaction conflicted with another: it was rolled back, and may be repeated."""


class Database(ABC):
    """Read and write transactions on one database. Safe to share among threads.

    A transaction that names its users waits for no other users' writers, and one of a single user sees that
    user's rows alone where the database enforces it. Without a name it is of all users.
    """

    AUDITED = "audited"  # key in a connection's info: the clock of the audit log; None: no audit

    name: str  # path or URL without password, for errors
    folder: Path  # for local files beside the database; may not exist
    encrypted: bool  # True if the folder is encrypted
    shared: bool  # True if other machines may open it
    remains: str  # why forgotten text may remain after `wipe` returned False
    blocks: ObjectStore
    saved: SavedIndexes
    bucket: Bucket | None = None  # the bucket of `blocks` and `saved`; None: they are elsewhere
    _engine: Engine
    keyring: Keyring | None = None  # seals users' words; None: they are stored in plain text

    def __init__(self, busy_timeout_s: float) -> None:
        self._busy_timeout_s = busy_timeout_s
        self._closed = False
        self.audit_clock: Callable[[], datetime] | None = None  # of the audit log; None: no audit
        # Completes a user's forgetting in steps; called before any transaction that names the user.
        self.finish_forgetting: Callable[[str], None] | None = None

    @abstractmethod
    def read(self, user: str | None = None) -> AbstractContextManager[Connection]:
        """Begin a read transaction: one snapshot from its first statement to its end."""

    @abstractmethod
    def write(self, *users: str) -> AbstractContextManager[Connection]:
        """Begin a write transaction: commits at the end of the block, rolls back on any exception.

        It is the only writer of these users' rows, or without names the only writer. Raises StorageBusy if
        the lock was not free within the busy timeout.
        """

    def step(self, user: str) -> AbstractContextManager[Connection]:
        """Begin a write transaction of a forgetting in steps, without completing that forgetting first."""
        return self.write(user)

    def make_room(self) -> bool:
        """Free the reserve for a full disk; True if there was one."""
        return False

    def keep_reserve(self) -> bool:
        """Reserve space for a full disk; True if there is a reserve now."""
        return False

    def transact(self, work: Callable[[Connection], T], *users: str) -> T:
        """Run `work` in a write transaction of these users and return its result.

        On a conflict it is repeated, five times in all: so `work` must have no effects but on rows, and be
        repeatable. Raises StorageBusy if every attempt conflicted.
        """
        pause_s = _FIRST_PAUSE_S
        for _ in range(_ATTEMPTS - 1):
            try:
                with self.write(*users) as connection:
                    return work(connection)
            except Collided:
                time.sleep(pause_s * random.uniform(0.5, 1))  # noqa: S311 - spreads waiters, guards nothing
                pause_s *= 2
        with self.write(*users) as connection:
            return work(connection)

    def _begin_on(self, connection: Connection, user: str | None, *, writes: bool) -> None:
        """Note on a connection what its transaction needs; None: it is of all users."""
        connection.info[self.AUDITED] = self.audit_clock
        connection.info[SAVED] = self.saved
        if self.keyring is not None:
            self.keyring.begin(connection, user, locked=writes)

    def use_keyring(self, keyring: Keyring) -> None:
        """Seal users' words with these keys. Call before anything is stored, or with the keys used so far."""
        self.keyring = keyring
        keyring.attach(self._engine, self.read)
        self.blocks = self.sealed(self.blocks)
        self.saved = SavedIndexes(self, self.sealed(self.saved.store))

    def sealed(self, store: ObjectStore) -> ObjectStore:
        """Wrap a store so that its objects are sealed, if users have keys."""
        return store if self.keyring is None else EncryptedObjects(store, self.keyring)

    @abstractmethod
    def unlocked(self) -> AbstractContextManager[Connection]:
        """Begin a write transaction without users' locks, for rows that do not need them."""

    @abstractmethod
    def now_us(self, connection: Connection) -> int:
        """Return the time of the clock that all processes share, in microseconds since 1970."""

    def purge_is_due(self, connection: Connection) -> None:  # noqa: B027 - a client has no files to purge
        """Mark the files as to be purged. Call in the transaction that deletes text."""

    def purge_waits(self) -> bool:
        """True if a purge is still to be done."""
        return False

    def wipe(self) -> bool:
        """Purge the files of deleted text, if due; True if no file has any left."""
        return False

    @abstractmethod
    def faults(self) -> list[str]:
        """Return the faults that the database's own check finds; empty if it is sound."""

    @abstractmethod
    def bytes_on_disk(self) -> int:
        """Size of all that it keeps, in bytes."""

    def decrypted(self, path: Path) -> Iterator[tuple[int, bytes]] | None:  # noqa: ARG002
        """Yield (offset, decrypted bytes) of each piece of one of our files; None if it is not encrypted.

        Raises ValueError for a file that is not whole, or is not of this folder's key.
        """
        return None

    @abstractmethod
    def close(self) -> None:
        """Close all connections; idempotent."""

    def _busy_error(self) -> StorageBusy:
        return StorageBusy(
            f"{self.name!r} was locked by others for {self._busy_timeout_s:g} s and nothing was stored:"
            " try again, or raise busy_timeout_s"
        )

    def keep_out(self, target: Path) -> None:
        """Raise InvalidInput when a file or folder to be written would be in the memory's own folder.

        Such a file could destroy stored data, or outlive a forgetting. Other databases are protected too.
        """
        try:
            own = self.folder.stat() if self.folder.is_dir() else None
            for part in (target.absolute(), *target.absolute().parents, *target.resolve().parents):
                if own is not None and part.exists() and os.path.samestat(part.stat(), own):
                    raise InvalidInput(f"{str(target)!r} is inside the memory's own folder: choose another")
            if (target.parent / HEADER).is_file():
                raise InvalidInput(f"{str(target)!r} is inside the folder of a memory: choose another")
            if target.is_file():
                with target.open("rb") as there:
                    if there.read(len(_SQLITE)) == _SQLITE:
                        raise InvalidInput(
                            f"{str(target)!r} is a database, of a memory perhaps: choose another"
                        )
        except (OSError, RuntimeError) as error:  # not allowed to look; a circle of links
            raise InvalidInput(f"cannot write {str(target)!r} ({error}): choose another") from error


def url_in(place: str | Path) -> str | None:
    """The URL of a PostgreSQL database; None for a folder. A path that was made of a URL counts as one.

    Raises InvalidInput for the URL of anything else.
    """
    url = _any_url_in(place)
    scheme = "" if url is None else url.partition("://")[0]
    if url is not None and scheme.partition("+")[0] not in _FAMILY:
        raise InvalidInput(
            f"a memory cannot be kept at {scheme}://: give a folder's path, or the URL of a PostgreSQL"
            " database, such as postgresql://user@host/name"
        )
    return url


def _any_url_in(place: str | Path) -> str | None:
    scheme, _, rest = str(place).partition(":/")
    return f"{scheme}://{rest.removeprefix('/')}" if _SCHEME.match(str(place)) else None


def place_shown(place: str | Path) -> str:
    """Return a folder or URL without its password."""
    if (url := _any_url_in(place)) is None:
        return str(place)
    scheme, _, rest = url.partition("://")
    account, at, host = rest.rpartition("@")
    who, colon, _ = account.partition(":")
    return f"{scheme}://{who}{':***' if colon else ''}{at}{host.partition('?')[0]}"
