"""Maintenance in background threads."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable
from enum import Enum, auto

from zibaldone.core.fork_safety import start_anew_in_children
from zibaldone.core.telemetry import Ordinary
from zibaldone.engine.maintenance import OwnModelFailed, Stopped
from zibaldone.errors import (
    BlockMissing,
    ClosedMemory,
    ModelFailed,
    StorageBusy,
    StorageCorrupt,
    StorageError,
)

TURN_S = 30.0
_logger = logging.getLogger(__name__)
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 300.0
_SHORTEST_WAIT_S = 0.001
_BETWEEN_TURNS_S = 0.3  # for other processes that wait for the user's lease


class TurnOver(Ordinary):
    """A user's turn is over: the other users are next."""


class _Outcome(Enum):
    DONE = auto()
    TURN_OVER = auto()
    USER_FAILED = auto()
    ALL_FAIL = auto()


class BackgroundWorker:
    """Maintains users from a bounded queue without duplicates; when it is full, all users are scanned later.

    A user with many messages is maintained in turns of `turn_s`, behind the other users after each. A scan
    takes as many users as the queue has room for, and the next one continues after them. A failing model or
    storage makes all threads wait, twice as long each time, up to five minutes; waiting messages stay
    recallable by the messages view. Damaged or locked storage of one user, missing models of the user's
    build, or a bug make only that user wait. Messages of a user are gathered for `gather_s`: a batch costs as
    much for one message as for ten.
    """

    def __init__(
        self,
        maintain: Callable[[str], None],
        due: Callable[[int], list[str]],
        *,
        threads: int = 2,
        queue_users: int = 1000,
        poll_s: float = 60.0,
        gather_s: float = 0.0,
        turn_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`maintain` brings one user up to date, and calls `check` and, after each batch, `check_turn`.

        `due(n)` returns at most n users who lag behind; the next call returns the next ones.
        """
        self._maintain, self._due = maintain, due
        self._threads_wanted, self._queue_users = threads, queue_users
        self._poll_s, self._clock = poll_s, clock
        self._gather_s, self._turn_s = gather_s, turn_s
        self._new()
        start_anew_in_children(self)

    def _new(self) -> None:
        self._waiting: dict[str, float] = {}  # by user: earliest time of the turn
        self._busy: dict[str, float] = {}  # by user: when the turn began
        self._look_at_all = True  # at the start: an earlier process may have left work
        self._looking = False
        self._looked_at = -math.inf  # when it was last begun
        self._stopping = False
        self._failures = 0  # in a row, of a model or storage that all users need
        self._retry_at = 0.0
        self._resting: dict[str, tuple[int, float]] = {}  # by user: failures in a row, time of the retry
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []

    def start_anew(self) -> None:
        """Become a stopped worker, in a forked child: maintenance is the parent's."""
        self._new()
        self._stopping = True

    def start(self) -> None:
        """Start the threads."""
        for number in range(self._threads_wanted):
            thread = threading.Thread(target=self._run, name=f"zibaldone-maintenance-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def notify(self, user: str) -> None:
        """Queue a user with new messages. Never waits."""
        with self._changed:
            if user in self._waiting or len(self._waiting) < self._queue_users:
                self._waiting.setdefault(user, self._clock() + self._gather_s)
            else:
                self._look_at_all = True
            self._changed.notify()

    def check(self) -> None:
        """Raise Stopped if the worker is to stop: called between two batches."""
        if self._stopping:
            raise Stopped

    def check_turn(self, user: str) -> None:
        """Raise TurnOver if the user's turn is over: called after a committed batch."""
        if self._clock() - self._busy.get(user, math.inf) >= self._turn_s:
            raise TurnOver

    def idle(self, timeout_s: float) -> bool:
        """Wait until nothing is left to do; False if the time is over before."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while self._waiting or self._busy or self._look_at_all or self._looking:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 0.1))
            return True

    def stop(self, timeout_s: float) -> bool:
        """Stop after the batches under way; False if one still ran when the time was over."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        deadline = time.monotonic() + timeout_s
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (user := self._next()) is not None:
            outcome = _Outcome.DONE
            try:
                self._maintain(user)
            except (Stopped, ClosedMemory):
                return
            except TurnOver:
                outcome = _Outcome.TURN_OVER
            except (StorageCorrupt, BlockMissing, StorageBusy, OwnModelFailed) as error:
                outcome = _Outcome.USER_FAILED
                _logger.warning("maintenance of user %r waits: %s", user, error)
            except (ModelFailed, StorageError) as error:
                outcome = _Outcome.ALL_FAIL
                _logger.warning("maintenance of user %r waits: %s", user, error)
            except Exception:
                # The outermost frame of a thread: an error of one user must not end the work for all others.
                outcome = _Outcome.USER_FAILED
                _logger.exception("maintenance of user %r failed", user)
            finally:
                self._done(user, outcome)

    def _next(self) -> str | None:
        """Wait for the next user; None when the worker is to stop."""
        looked = False
        while True:
            with self._changed:
                if self._stopping:
                    return None
                now = self._clock()
                pause_s, look_s = self._retry_at - now, self._looked_at + self._poll_s - now
                free = [user for user in self._waiting if user not in self._busy]
                rests_s = {user: self._free_at(user) - now for user in free}
                ready = next((user for user in free if rests_s[user] <= 0), None)
                # Scan even if users wait: other processes may have left work without a notice.
                has_room = len(self._waiting) < self._queue_users
                must_look = (look_s <= 0 and not looked) or (self._look_at_all and ready is None)
                must_look = must_look and has_room
                if pause_s <= 0 and must_look and not self._looking:
                    self._look_at_all, self._looking, self._looked_at = False, True, now
                elif pause_s <= 0 and ready is not None:
                    del self._waiting[ready]
                    self._busy[ready] = self._clock()
                    return ready
                else:
                    waits_s = [*rests_s.values(), *([look_s] if has_room else [])]
                    wait_s = pause_s if pause_s > 0 else min(waits_s, default=self._poll_s)
                    self._changed.wait(min(max(wait_s, _SHORTEST_WAIT_S), self._poll_s))
                    looked = False
                    continue
            self._fill()
            looked = True

    def _free_at(self, user: str) -> float:
        _, rested = self._resting.get(user, (0, 0.0))
        return max(self._waiting[user], rested)

    def _fill(self) -> None:
        with self._changed:
            room = self._queue_users - len(self._waiting)
        due: list[str] = []
        try:
            due = self._due(room) if room > 0 else []
        except (StorageError, ClosedMemory) as error:
            _logger.warning("maintenance could not look for work: %s", error)
        is_full = len(due) >= room
        random.shuffle(due)  # so that workers do not begin with the same
        with self._changed:
            self._looking = False
            new = [user for user in due if user not in self._waiting]
            self._waiting |= dict.fromkeys(new[: self._queue_users - len(self._waiting)], 0.0)
            self._look_at_all |= is_full and bool(new)
            self._changed.notify_all()

    def _done(self, user: str, outcome: _Outcome) -> None:
        with self._changed:
            del self._busy[user]
            if outcome is _Outcome.ALL_FAIL:
                self._retry_at = self._clock() + _wait_s(self._failures)
                self._failures += 1
                self._waiting.setdefault(user, 0.0)
            else:
                self._failures, self._retry_at = 0, 0.0
            if outcome is _Outcome.USER_FAILED:
                failures, _ = self._resting.get(user, (0, 0.0))
                self._resting[user] = failures + 1, self._clock() + _wait_s(failures)
                self._waiting.setdefault(user, 0.0)
            else:
                self._resting.pop(user, None)
            if outcome is _Outcome.TURN_OVER:
                self._waiting.pop(user, None)  # to the end of the queue, also if new messages came
                self._waiting[user] = self._clock() + _BETWEEN_TURNS_S
            self._changed.notify_all()


def _wait_s(failures: int) -> float:
    return min(_FIRST_WAIT_S * 2.0**failures, _LONGEST_WAIT_S)
