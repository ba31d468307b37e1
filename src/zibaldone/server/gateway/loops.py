"""What was recalled for a turn of the user stays the same while tools are used to answer it.

An agent that uses tools sends the same turn again with each result. A model server has all of that in its
prefix cache, as long as what was recalled before that turn is the same, byte for byte.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

from zibaldone.aio import AsyncMemory
from zibaldone.fork_safety import ForkSafeLock
from zibaldone.recalled import Recall
from zibaldone.server.gateway.scope import MemoryOptions, MemoryScope
from zibaldone.server.gateway.turns import WireTurn
from zibaldone.text.remembered import emptied

_MOST = 512
_KEPT_S = 900.0  # after its last use


class LoopRecalls:
    """Recalls of loops that may go on. It keeps words of messages: a forgetting empties it."""

    def __init__(self, memory: AsyncMemory, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, str, Recall]] = OrderedDict()
        self._lock = ForkSafeLock()  # whoever forgets does it in another thread
        emptied(self)

    def cache_clear(self) -> None:
        """Something was forgotten."""
        with self._lock:
            self._kept.clear()

    def keep(self, loop: bytes, user: str, recalled: Recall) -> None:
        """Note what was recalled for a loop; inside of `sweeping` since before it was recalled."""
        now = self._clock()
        # A trace says something of every message of the user: a megabyte and more.
        trace = replace(recalled.trace, views=(), decisions=(), within=None, without=frozenset())
        with self._lock:
            self._kept[loop] = (now, user, replace(recalled, trace=trace))
            self._kept.move_to_end(loop)
            while len(self._kept) > _MOST or next(iter(self._kept.values()))[0] < now - _KEPT_S:
                self._kept.popitem(last=False)

    async def recalled(self, loop: bytes) -> Recall | None:
        """What was recalled for a loop, if all of it is still in the log: other processes forget, too."""
        _, user, recalled = self._kept.get(loop, (0.0, "", None))
        if recalled is None:
            return None
        for seq in {citation.seq for citation in recalled.citations}:
            if await self._memory.get(seq, user=user) is None:
                return None
        return recalled


def loop_key(scope: MemoryScope, session: str, options: MemoryOptions, turns: Sequence[WireTurn]) -> bytes:
    """The same for all requests of a loop; `turns` are those up to the user's last one."""
    digest = hashlib.sha256(repr((scope, session, options)).encode(errors="replace"))
    for turn in turns:
        digest.update(turn.key)
    return digest.digest()
