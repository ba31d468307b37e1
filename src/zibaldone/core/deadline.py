"""Deadlines of recalls, checked between steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zibaldone.core.threads import is_waited_for
from zibaldone.errors import RecallGivenUp

_TIMEOUT = "timeout_s"  # the option of a call


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time by which a call must answer. It is handed down with the question."""

    at: float = math.inf  # of the clock
    clock: Callable[[], float] = time.monotonic
    is_waited_for: Callable[[], bool] = lambda: True  # False: the caller is gone

    @classmethod
    def after(cls, timeout_s: float | None, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline of this thread's call; None: as long as the caller waits."""
        at = math.inf if timeout_s is None else clock() + timeout_s
        return cls(at, clock, is_waited_for())

    def left_s(self) -> float:
        """Seconds until then; never below 0."""
        return max(0.0, self.at - self.clock())

    def check(self) -> None:
        """Raise RecallGivenUp if the time is over, or the caller is gone."""
        if not self.is_waited_for():
            raise RecallGivenUp("whoever asked does not wait any more")
        if self.clock() >= self.at:
            raise RecallGivenUp(
                "the recall took longer than timeout_s: give it more, or preload() the user first"
            )


NO_DEADLINE = Deadline()


def with_time_left(
    options: Mapping[str, Any], since: float, clock: Callable[[], float] = time.monotonic
) -> dict[str, Any]:
    """Return the options of a call with its timeout less the time since `since`."""
    if options.get(_TIMEOUT) is None:
        return dict(options)
    return {**options, _TIMEOUT: max(0.0, options[_TIMEOUT] - (clock() - since))}
