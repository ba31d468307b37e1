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
    """Leases of one worker. Safe to share among threads; a thread renews each while it is held."""

    def __init__(self, database: Database, *, lease_s: float = LEASE_S) -> None:
        self._database, self._lease_s = database, lease_s

    @contextmanager
    def hold(self, user: str) -> Iterator[Callable[[], None] | None]:
        """Hold a user's lease while the block runs; yields None if another worker has it.

        Yields a function that raises LeaseLost once the lease has expired. Raises StorageError.
        """
        ends = _clock_s() + self._lease_s  # on this process's clock: never after the row's expiry
        holder, released = self._claim(user), threading.Event()
        if holder is None:
            yield None
            return

        def beat() -> None:
            nonlocal ends
            while not released.wait(self._lease_s / _RENEWALS):
                renewed_ends = _clock_s() + self._lease_s
                try:
                    ends = renewed_ends if self._renew(user, holder) else 0.0
                except StorageError as error:  # the next beat tries again, until the lease expires
                    _logger.warning("a lease could not be renewed: %s", error)
                except ClosedMemory:
                    return

        def check() -> None:
            if ends <= _clock_s():
                raise LeaseLost(f"the lease of user {user!r} ended")

        threading.Thread(target=beat, name="zibaldone-lease", daemon=True).start()
        try:
            yield check
        finally:
            released.set()
            with suppress(StorageError, ClosedMemory):  # then it ends by itself
                self._release(user, holder)

    def _claim(self, user: str) -> str | None:
        """Take the user's lease as a new holder, who is returned; None if another has it."""
        t, holder = table.c, f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
        with self._database.unlocked() as connection:
            insert_missing(connection, table, [{"user": user, "holder": "", "until_us": 0}])
            now_us = self._database.now_us(connection)
            # A row that another worker is claiming is skipped, not waited for.
            free = select(t.user).where(t.user == user, t.until_us <= now_us)
            if connection.execute(free.with_for_update(skip_locked=True)).scalar() is None:
                return None
            mine = {"holder": holder, "until_us": now_us + self._lease_us}
            connection.execute(update(table).where(t.user == user).values(mine))
        return holder

    def _release(self, user: str, holder: str) -> None:
        with self._database.unlocked() as connection:
            connection.execute(delete(table).where(table.c.user == user, table.c.holder == holder))

    def _renew(self, user: str, holder: str) -> bool:
        """Extend the lease; False if another has it by now."""
        t = table.c
        with self._database.unlocked() as connection:
            until_us = self._database.now_us(connection) + self._lease_us
            mine = update(table).where(t.user == user, t.holder == holder).values(until_us=until_us)
            return bool(connection.execute(mine).rowcount)

    @property
    def _lease_us(self) -> int:
        return round(self._lease_s * 1e6)
