"""Recall from a replica without missing acknowledged messages or showing forgotten ones.

The primary is asked for the user's version, which every write raises: one row, by its key. A snapshot of the
replica at that version or a later one has everything acknowledged before the recall began. The primary is
read if the replica lags or does not answer, or if something was forgotten during the recall.
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

_RETRY_DELAY_S = 5.0  # after a replica did not answer
_logger = logging.getLogger(__name__)
R = TypeVar("R")


class ReplicaReads:
    """One replica of a memory's database. Safe to share among threads."""

    def __init__(self, primary: Database, url: str) -> None:
        from zibaldone.storage.standby import StandbyDatabase  # of the extra 'postgres', as the primary

        self._primary, self._standby = primary, StandbyDatabase(url, primary)
        self._retry_at = 0.0
        self._counting = ForkSafeLock()
        self.served = self.refused = 0  # recalls read from the replica, and from the primary instead

    def read(self, user: str, work: Callable[[Database], R]) -> R:
        """Return `work(database)` of the replica, or else of the primary; `work` may be called twice."""
        if time.monotonic() >= self._retry_at:
            before = self._state(user)
            try:
                with self._standby.at_least(before.version):
                    answer = work(self._standby)
            except StandbyBehind:
                pass
            except StorageError as error:
                self._retry_at = time.monotonic() + _RETRY_DELAY_S
                _logger.warning("the replica is not read for %g s: %s", _RETRY_DELAY_S, error)
            else:  # outside of the try: an error of the primary is none of the replica's
                if self._state(user).deletions == before.deletions:
                    self._count(served=1)
                    return answer
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
