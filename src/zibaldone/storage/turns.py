"""Per-user locks for the threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from zibaldone.core.fork_safety import ForkSafeLock, start_anew_in_children


class Turns:
    """One lock per user with a holder or a waiter. All are free in a forked child."""

    def __init__(self) -> None:
        self._turns: dict[str, tuple[threading.Lock, int]] = {}  # and how many hold it or wait for it
        self._counting = ForkSafeLock()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """In a forked child."""
        self._turns = {}

    @contextmanager
    def take(self, user: str, timeout_s: float = -1) -> Iterator[bool]:
        """Hold the user's lock during the block; yields False if it was not free within the timeout."""
        with self._counting:
            lock, threads = self._turns.get(user, (threading.Lock(), 0))
            self._turns[user] = lock, threads + 1
        taken = False
        try:
            taken = lock.acquire(timeout=timeout_s)
            yield taken
        finally:
            if taken:
                lock.release()
            with self._counting:
                _, threads = self._turns.pop(user, (lock, 1))
                if threads > 1:
                    self._turns[user] = lock, threads - 1
