"""Until when a recall is waited for: work that was given up stops at its next step."""

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
    """The end of somebody's patience. It is handed down with the question, and looked at between steps."""

    at: float = math.inf  # of the clock
    clock: Callable[[], float] = time.monotonic
    is_waited_for: Callable[[], bool] = lambda: True  # False: whoever asked is gone

    @classmethod
    def after(cls, timeout_s: float | None, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """That of the call which this thread is at; None: it has as long as its caller waits."""
        at = math.inf if timeout_s is None else clock() + timeout_s
        return cls(at, clock, is_waited_for())

    def left_s(self) -> float:
        """Seconds until then; never below 0."""
        return max(0.0, self.at - self.clock())

    def check(self) -> None:
        """Go on, or raise RecallGivenUp."""
        if not self.is_waited_for():
            raise RecallGivenUp("whoever asked does not wait any more")
        if self.clock() >= self.at:
            raise RecallGivenUp(
                "the recall took longer than timeout_s: give it more, or warm() the user first"
            )


NO_DEADLINE = Deadline()


def with_time_left(
    options: Mapping[str, Any], since: float, clock: Callable[[], float] = time.monotonic
) -> dict[str, Any]:
    """The options of a call that has waited since then; of its timeout there is what is left."""
    if options.get(_TIMEOUT) is None:
        return dict(options)
    return {**options, _TIMEOUT: max(0.0, options[_TIMEOUT] - (clock() - since))}
