"""Leases: one worker maintains a user at a time, over all machines, so that no model is asked twice.

A lease is a row with an expiry by the database's clock. Its holder renews it; the lease of a killed worker
expires and another takes the user over. Commits of views are safe without leases: they only save work.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import delete, select, update

from zibaldone.core.fork_safety import start_anew_in_children
from zibaldone.errors import ClosedMemory, StorageError
from zibaldone.storage.database import Database
from zibaldone.storage.schema import leases as table
from zibaldone.storage.upsert import insert_missing

LEASE_S = 60.0
_RENEWALS = 4  # in the time of one lease
_logger = logging.getLogger(__name__)


class LeaseLost(Exception):
    """The lease expired before the work was done: another worker may have taken the user over."""


def _clock_s() -> float:
    """Read a clock that continues while the machine sleeps, as the database's does."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Leases:
    """Leases of one worker. Safe to share among threads; a heartbeat thread runs while any is held."""

    def __init__(self, database: Database, *, lease_s: float = LEASE_S) -> None:
        self._database, self._lease_s = database, lease_s
        self.start_anew()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """Become a new holder without leases, in a forked child too."""
        self.holder = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
        self._ends: dict[str, float] = {}  # by user, on this process's clock: never after the row's expiry
        self._changed = threading.Condition()
        self._beating = False

    @contextmanager
    def hold(self, user: str) -> Iterator[Callable[[], None] | None]:
        """Hold a user's lease while the block runs; yields None if another worker has it.

        Yields a function that raises LeaseLost once the lease has expired. Raises StorageError.
        """
        before = _clock_s()
        if not self._claim(user):
            yield None
            return
        with self._changed:
            self._ends[user] = before + self._lease_s
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="zibaldone-leases", daemon=True).start()

        def check() -> None:
            with self._changed:
                if self._ends.get(user, 0.0) <= _clock_s():
                    raise LeaseLost(f"the lease of user {user!r} ended")

        try:
            yield check
        finally:
            with self._changed:
                self._ends.pop(user, None)
                self._changed.notify_all()
            with suppress(StorageError, ClosedMemory):  # then it ends by itself
                self._release(user)

    def _claim(self, user: str) -> bool:
        t = table.c
        with self._database.unlocked() as connection:
            insert_missing(connection, table, [{"user": user, "holder": "", "until_us": 0}])
            now_us = self._database.now_us(connection)
            # A row that another worker is claiming is skipped, not waited for.
            free = select(t.user).where(t.user == user, t.until_us <= now_us)
            if connection.execute(free.with_for_update(skip_locked=True)).scalar() is None:
                return False
            mine = {"holder": self.holder, "until_us": now_us + self._lease_us}
            connection.execute(update(table).where(t.user == user).values(mine))
        return True

    def _release(self, user: str) -> None:
        with self._database.unlocked() as connection:
            connection.execute(delete(table).where(table.c.user == user, table.c.holder == self.holder))

    def _renew(self, users: list[str]) -> None:
        """Extend the leases that this worker still holds."""
        t, before = table.c, _clock_s()
        with self._database.unlocked() as connection:
            until_us = self._database.now_us(connection) + self._lease_us
            ours = update(table).where(t.user.in_(users), t.holder == self.holder).values(until_us=until_us)
            kept = set(connection.execute(ours.returning(t.user)).scalars())
        with self._changed:
            for user in users:
                if user in self._ends:
                    self._ends[user] = before + self._lease_s if user in kept else 0.0

    def _beat(self) -> None:
        try:
            while held := self._held_after(self._lease_s / _RENEWALS):
                try:
                    self._renew(held)
                except StorageError as error:  # the next beat tries again, until the leases expire
                    _logger.warning("leases could not be renewed: %s", error)
        except BaseException as error:  # the next lease starts another heartbeat
            with self._changed:
                self._beating = False
            if not isinstance(error, ClosedMemory):
                raise

    def _held_after(self, seconds: float) -> list[str]:
        """Wait, then return the users whose leases are to be renewed; empty as soon as none is held."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._ends, seconds):
                return sorted(self._ends)
            self._beating = False
            return []

    @property
    def _lease_us(self) -> int:
        return round(self._lease_s * 1e6)
