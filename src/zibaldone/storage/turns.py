"""Threads of one process that want to write the same user's rows, one after the other."""

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
    """A lock for each user who is being written, and for no others."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._counting = threading.Lock()

    @contextmanager
    def take(self, user: str, timeout_s: float) -> Iterator[bool]:
        """Have the user's turn while the block runs; False when others had it for the whole time."""
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
