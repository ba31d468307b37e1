"""A circuit breaker: stops asking a server that is down, or a task that a model keeps failing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from zibaldone.core.fork_safety import ForkSafeLock

_PATIENCE = 3  # failures in a row
_FIRST_REST_S, _LONGEST_REST_S = 30.0, 600.0
_REMEMBERED = 1000  # keys; the oldest are forgotten


@dataclass(slots=True)
class _Record:
    failures: int = 0
    rests: int = 0
    retry_at: float = 0.0  # when the rest, or the time for a trial, ends
    on_trial: bool = False
    reason: str = ""


class Breaker:
    """Three failures of a key in a row open it for half a minute, then for twice as long each time.

    After each rest one question is let through; if it succeeds, all is forgotten. Safe for threads.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = ForkSafeLock()
        self._records: dict[tuple[str, ...], _Record] = {}

    def resting(self, *key: str) -> str:
        """Return why nothing may be asked now; "" if it may. After a rest one call is let through."""
        with self._lock:
            record = self._records.get(key)
            if record is None or not record.rests:
                return ""
            now = self._clock()
            if now >= record.retry_at:
                record.on_trial, record.retry_at = True, now + _FIRST_REST_S
                return ""
            return (
                f"not asked for {record.retry_at - now:.0f} s more, after {record.failures} failures in"
                f" a row, the last of which was: {record.reason}"
            )

    def failed(self, *key: str, reason: str, times: int = 1) -> None:
        """Count `times` failures of a key; a trial ends even if it counts for none."""
        with self._lock:
            if not times and key not in self._records:
                return
            record = self._records.pop(key, None) or _Record()
            self._records[key] = record
            while len(self._records) > _REMEMBERED:
                del self._records[next(iter(self._records))]
            record.failures += times
            record.reason = reason
            if record.on_trial or (not record.rests and record.failures >= _PATIENCE):
                rest_s = min(_FIRST_REST_S * 2**record.rests, _LONGEST_REST_S)
                record.rests += 1
                record.on_trial, record.retry_at = False, self._clock() + rest_s

    def succeeded(self, *key: str) -> None:
        """Forget the failures."""
        with self._lock:
            self._records.pop(key, None)
