"""Per-user locks for the threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Turn:
    lock: threading.Lock = field(default_factory=threading.Lock)
    threads: int = 0  # that have it or wait for it


class Turns:
    """One lock per user with a writer or a waiter."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._counting = threading.Lock()

    @contextmanager
    def take(self, user: str, timeout_s: float) -> Iterator[bool]:
        """Hold the user's lock during the block; yields False if it was not free within the timeout."""
        with self._counting:
            turn = self._turns.setdefault(user, _Turn())
            turn.threads += 1
        taken = False
        try:
            taken = turn.lock.acquire(timeout=timeout_s)
            yield taken
        finally:
            if taken:
                turn.lock.release()
            with self._counting:
                turn.threads -= 1
                if not turn.threads:
                    del self._turns[user]
