"""Recalls from a replica, where that is safe: none misses what was acknowledged or shows what was forgotten.

The primary is asked for the user's version, which every write of any process raises: one row, by its key. A
snapshot of the replica that has that version, or a later one, has all that was acknowledged before the recall
began. Where it has not, where the replica does not answer, and where something was forgotten while the recall
worked, the primary is read.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from zibaldone import log
from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.errors import StorageError
from zibaldone.storage.database import Database, StandbyBehind

_REST_S = 5.0  # after a replica did not answer
_logger = logging.getLogger(__name__)
R = TypeVar("R")


class ReplicaReads:
    """One replica of a memory's database. Safe to share among threads."""

    def __init__(self, primary: Database, url: str) -> None:
        from zibaldone.storage.standby import StandbyDatabase  # of the extra 'postgres', as the primary

        self._primary, self._standby = primary, StandbyDatabase(url, primary)
        self._not_before = 0.0
        self._counting = ForkSafeLock()
        self.served = self.refused = 0  # recalls by the replica, and by the primary in its place

    def read(self, user: str, work: Callable[[Database], R]) -> R:
        """What `work` gives, from the replica or else from the primary; it may be called twice."""
        if time.monotonic() >= self._not_before:
            before = self._state(user)
            try:
                with self._standby.at_least(before.version):
                    answer = work(self._standby)
                if self._state(user).deletions == before.deletions:
                    self._count(served=1)
                    return answer
            except StandbyBehind:
                pass
            except StorageError as error:
                self._not_before = time.monotonic() + _REST_S
                _logger.warning("the replica is left alone for %g s: %s", _REST_S, error)
        self._count(refused=1)
        return work(self._primary)

    def close(self) -> None:
        """Close its connections."""
        self._standby.close()

    def _state(self, user: str) -> log.UserState:
        with self._primary.read(user) as connection:
            return log.state(connection, user)

    def _count(self, *, served: int = 0, refused: int = 0) -> None:
        with self._counting:
            self.served += served
            self.refused += refused
