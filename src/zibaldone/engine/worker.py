"""Maintenance on its own: threads that bring users' views forward while the program does other things."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable
from enum import Enum, auto

from zibaldone.core.fork_safety import start_anew_in_children
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
_BETWEEN_TURNS_S = 0.3  # for those who wait elsewhere for the user's lease


class TurnOver(Exception):
    """A user had as much time as one may have in one go: the others are next."""


class _Outcome(Enum):
    DONE = auto()
    TURN_OVER = auto()
    USER_FAILED = auto()
    ALL_FAIL = auto()


class BackgroundWorker:
    """Users wait in a bounded queue, each once; when it is full, everybody is looked at later.

    Whoever has much to be read has it read in turns of `turn_s`, and stands behind the others after each. A
    look takes no more users than have room in the queue, and the next one those that come after them.
    A model or a storage that fails makes all workers wait, twice as long each time, up to five minutes; what
    waits stays recallable by the messages view. Damaged storage of one user, one whom others hold locked, one
    who is read with models that are not here, or a bug, makes that user wait.
    What a user says is read together, once they have been quiet for `gather_s`, or after `longest_s` of talk:
    a step costs as much for one message as for ten.
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
        longest_s: float = 0.0,
        turn_s: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`maintain` brings one user forward and calls `check` now and then; `due` names who lags behind.

        After each step that it has committed `maintain` calls `check_turn`. `due` is told how many may come,
        and goes on where it was when it is called again.
        """
        self._maintain, self._due = maintain, due
        self._threads_wanted, self._queue_users, self._poll_s, self._clock = (
            threads,
            queue_users,
            poll_s,
            clock,
        )
        self._gather_s, self._longest_s = gather_s, max(gather_s, longest_s)
        self._turn_s = turn_s
        self._new()
        start_anew_in_children(self)

    def _new(self) -> None:
        self._waiting: dict[str, float] = {}  # by user: from when on it may be its turn
        self._latest: dict[str, float] = {}  # of those who said something: up to when that may be put off
        self._busy: dict[str, float] = {}  # by user: when the turn began
        self._look_at_all = True  # at the start: an earlier process may have left work
        self._looking = False
        self._looked_at = -math.inf  # when it was last begun
        self._stopping = False
        self._failures = 0  # of what all users need
        self._not_before = 0.0
        self._resting: dict[str, tuple[int, float]] = {}  # by user: failures in a row, until when
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []

    def start_anew(self) -> None:
        """In a forked child nothing runs: maintenance is the parent's."""
        self._new()
        self._stopping = True

    def start(self) -> None:
        """Start the threads."""
        for number in range(self._threads_wanted):
            thread = threading.Thread(target=self._run, name=f"zibaldone-maintenance-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def notify(self, user: str) -> None:
        """The user has something to be read. Never waits."""
        with self._changed:
            if user in self._waiting or len(self._waiting) < self._queue_users:
                now = self._clock()
                latest = self._latest.setdefault(user, now + self._longest_s)
                if self._waiting.setdefault(user, latest):  # 0: it is due whatever comes
                    self._waiting[user] = min(now + self._gather_s, latest)
            else:
                self._look_at_all = True
            self._changed.notify()

    def check(self) -> None:
        """Raises Stopped when the worker is to stop: called between two steps."""
        if self._stopping:
            raise Stopped

    def check_turn(self, user: str) -> None:
        """Raises TurnOver when the user's turn is: called after a step, of which nothing is lost."""
        if self._clock() - self._busy.get(user, math.inf) >= self._turn_s:
            raise TurnOver

    def idle(self, timeout_s: float) -> bool:
        """Wait until nothing is left to do, or the time is over; True when nothing is."""
        until = time.monotonic() + timeout_s
        with self._changed:
            while self._waiting or self._busy or self._look_at_all or self._looking:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, 0.1))
            return True

    def stop(self, timeout_s: float) -> bool:
        """Finish the steps under way, and no more; False when one was still at work after the time given."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        until = time.monotonic() + timeout_s
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))
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
                # The border of a thread: an error of one user must not end the work for all others.
                outcome = _Outcome.USER_FAILED
                _logger.exception("maintenance of user %r failed", user)
            finally:
                self._done(user, outcome)

    def _next(self) -> str | None:
        """The next user, after waiting for one; None when it is time to stop."""
        looked = False
        while True:
            with self._changed:
                if self._stopping:
                    return None
                now = self._clock()
                pause_s, look_s = self._not_before - now, self._looked_at + self._poll_s - now
                free = [user for user in self._waiting if user not in self._busy]
                rests_s = {user: self._free_at(user) - now for user in free}
                ready = next((user for user in free if rests_s[user] <= 0), None)
                # However many wait here: others may have left work that nobody was told of.
                has_room = len(self._waiting) < self._queue_users
                must_look = (look_s <= 0 and not looked) or (self._look_at_all and ready is None)
                must_look = must_look and has_room
                if pause_s <= 0 and must_look and not self._looking:
                    self._look_at_all, self._looking, self._looked_at = False, True, now
                elif pause_s <= 0 and ready is not None:
                    del self._waiting[ready]
                    self._latest.pop(ready, None)
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
                self._not_before = self._clock() + _wait_s(self._failures)
                self._failures += 1
                self._waiting.setdefault(user, 0.0)
            else:
                self._failures, self._not_before = 0, 0.0
            if outcome is _Outcome.USER_FAILED:
                failures, _ = self._resting.get(user, (0, 0.0))
                self._resting[user] = failures + 1, self._clock() + _wait_s(failures)
                self._waiting.setdefault(user, 0.0)
            else:
                self._resting.pop(user, None)
            if outcome is _Outcome.TURN_OVER:
                self._waiting.pop(user, None)  # behind all others, also when new messages came
                self._waiting[user] = self._clock() + _BETWEEN_TURNS_S
            self._changed.notify_all()


def _wait_s(failures: int) -> float:
    return min(_FIRST_WAIT_S * 2.0**failures, _LONGEST_WAIT_S)
