"""Who waits for an answer goes first: maintenance stands aside between two of its steps, for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from zibaldone.core.fork_safety import start_anew_in_children

_LONGEST_S = 0.2


class RecallPriority:
    """Of one memory. Threads of one interpreter share it: beside maintenance a recall takes twice as long.

    Free in a forked child.
    """

    def __init__(self, longest_s: float = _LONGEST_S, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`longest_s`: for which a step stands aside at most, or maintenance might never come to its own."""
        self._longest_s, self._clock = longest_s, clock
        self.start_anew()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """In a forked child: who was on the way stayed with the parent."""
        self._under_way = 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Somebody waits for what is done inside."""
        with self._changed:
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way = max(self._under_way - 1, 0)
                if not self._under_way:
                    self._changed.notify_all()

    def give(self) -> None:
        """Wait while anybody has it, but no longer than a step may."""
        until = self._clock() + self._longest_s
        with self._changed:
            while self._under_way and (left_s := until - self._clock()) > 0:
                self._changed.wait(left_s)
