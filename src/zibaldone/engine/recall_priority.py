"""Priority of recalls over maintenance within one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from zibaldone.core.fork_safety import start_anew_in_children

_LONGEST_S = 0.2


class RecallPriority:
    """Lets maintenance pause between two batches while a recall runs.

    Threads of one interpreter share its lock: beside maintenance a recall takes twice as long.
    """

    def __init__(self, longest_s: float = _LONGEST_S) -> None:
        """`longest_s` bounds each pause, so that constant recalls do not stop maintenance."""
        self._longest_s = longest_s
        self.start_anew()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """Forget the running recalls, in a forked child: they are the parent's."""
        self._under_way = 0
        self._changed = threading.Condition()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have priority while the block runs."""
        with self._changed:
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way = max(self._under_way - 1, 0)
                if not self._under_way:
                    self._changed.notify_all()

    def pause(self) -> None:
        """Pause while recalls run, for `longest_s` at most."""
        deadline = time.monotonic() + self._longest_s
        with self._changed:
            while self._under_way and (left_s := deadline - time.monotonic()) > 0:
                self._changed.wait(left_s)
