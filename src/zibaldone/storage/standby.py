"""A hot standby for reading: it serves a snapshot only if that is new enough.

Nothing is retried and nothing waited for: readers fall back to the primary.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import Connection, select

from zibaldone.errors import StorageUnusable
from zibaldone.storage.database import Database, StandbyBehind
from zibaldone.storage.objects import RowObjects
from zibaldone.storage.postgres import SNAPSHOT, PostgresDatabase
from zibaldone.storage.saved_indexes import INDEX_ROWS, SavedIndexes
from zibaldone.storage.schema import users

_CONNECT_S = 2
_WAIT_S = 5.0  # for a connection of the pool


class StandbyDatabase(PostgresDatabase):
    """A read-only database. Saved indexes are discarded on the primary."""

    connect_s = _CONNECT_S

    def __init__(self, url: str, primary: Database) -> None:
        """Open no connection yet: the standby may be down."""
        self._wanted: ContextVar[int] = ContextVar("wanted", default=0)
        super().__init__(url, busy_timeout_s=_WAIT_S)
        self.wall_key = primary.wall_key if isinstance(primary, PostgresDatabase) else None
        self.blocks, self.saved, self.bucket = primary.blocks, primary.saved, primary.bucket
        if primary.keyring is not None:
            self.keyring = primary.keyring
            primary.keyring.attach(self._engine, primary.read)
        if self.bucket is None:  # rows are here, too
            self.saved = SavedIndexes(primary, self.sealed(RowObjects(self.object_transaction, INDEX_ROWS)))

    def prepare(self) -> None:
        """Do nothing: the primary's tables are replicated."""

    @contextmanager
    def at_least(self, version: int) -> Iterator[None]:
        """Require snapshots inside the block to have the user's rows at this version or later."""
        token = self._wanted.set(version)
        try:
            yield
        finally:
            self._wanted.reset(token)

    @contextmanager
    def read(self, user: str | None = None) -> Iterator[Connection]:
        """See Database. Raises StandbyBehind, and StorageUnreachable at once."""
        with self._transaction(SNAPSHOT, user, writes=False, patient=False) as connection:
            if user is not None:
                has = connection.execute(select(users.c.version).where(users.c.user == user)).scalar() or 0
                if has < self._wanted.get():
                    raise StandbyBehind(f"{self.name} is at version {has} of a user of {self._wanted.get()}")
            yield connection

    @contextmanager
    def object_transaction(self) -> Iterator[Connection]:
        """Begin a snapshot of all users' rows."""
        with self._transaction(
            SNAPSHOT, writes=False, patient=False, engine=self._object_engine
        ) as connection:
            yield connection

    @contextmanager
    def write(self, *users: str) -> Iterator[Connection]:  # noqa: ARG002
        """Raises StorageUnusable."""
        raise StorageUnusable(f"{self.name} is a replica: nothing is written there")
        yield

    @contextmanager
    def unlocked(self) -> Iterator[Connection]:
        """Raises StorageUnusable."""
        with self.write() as connection:
            yield connection
