"""Repeat in later requests what the gateway put into the one that they go on from.

An agent that uses tools sends the same turn again with each result. A model server has all of that in its
prefix cache, as long as what was recalled before that turn is the same, byte for byte, and so is what the
model itself searched for on its way.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from zibaldone.api.aio import AsyncMemory
from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.recall.result import Recall
from zibaldone.server.gateway.rounds import HiddenTurn
from zibaldone.server.gateway.scope import MemoryOptions, MemoryScope
from zibaldone.server.gateway.turns import WireTurn
from zibaldone.text.purgeable_cache import emptied, sweeping

T = TypeVar("T")
_MOST = 512
_KEPT_S = 3600.0  # after its last use


class Kept(Generic[T]):
    """Earlier requests that others may go on from. It keeps words of messages: a forgetting empties it."""

    def __init__(self, memory: AsyncMemory, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._memory = memory
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, str, frozenset[int], T]] = OrderedDict()
        self._lock = ForkSafeLock()  # whoever forgets does it in another thread
        emptied(self)

    def cache_clear(self) -> None:
        """Something was forgotten."""
        with self._lock:
            self._kept.clear()

    def note(self, key: bytes, user: str, seqs: frozenset[int], kept: T) -> None:
        """Note what has words of these messages; inside of `sweeping` since before they were read."""
        now = self._clock()
        with self._lock:
            self._kept[key] = (now, user, seqs, kept)
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST or next(iter(self._kept.values()))[0] < now - _KEPT_S:
                self._kept.popitem(last=False)

    async def there(self, key: bytes) -> T | None:
        """The kept turn, if all of it is still in the log: other processes forget, too."""
        _, user, seqs, kept = self._kept.get(key, (0.0, "", frozenset(), None))
        for seq in seqs:
            if await self._memory.get(seq, user=user) is None:
                return None
        return kept


class LoopRecalls(Kept[Recall]):
    """Recalls of loops that may go on."""

    def keep(self, loop: bytes, user: str, recalled: Recall) -> None:
        """Note what was recalled for a loop."""
        # A trace says something of every message of the user: a megabyte and more.
        trace = replace(recalled.trace, views=(), decisions=(), within=None, without=frozenset())
        seqs = frozenset(citation.seq for citation in recalled.citations)
        self.note(loop, user, seqs, replace(recalled, trace=trace))

    async def recalled(self, loop: bytes) -> Recall | None:
        """The recall that was made for it."""
        return await self.there(loop)


class HiddenTurns(Kept[HiddenTurn]):
    """Hidden turns of answers that clients go on from, by the first call that they did get."""

    def __init__(self, memory: AsyncMemory, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(memory, clock=clock)
        self._names: OrderedDict[bytes, str] = OrderedDict()

    def rename(self, scope: MemoryScope, shown: str, real: str) -> None:
        """Note what the upstream calls an answer that its client calls otherwise."""
        self._names[_key(scope, shown)] = real
        while len(self._names) > _MOST:
            self._names.popitem(last=False)

    def real(self, scope: MemoryScope, shown: str) -> str | None:
        """Its name at the upstream; None: the same."""
        return self._names.get(_key(scope, shown))

    async def of_call(self, scope: MemoryScope, session: str, call_id: str) -> HiddenTurn | None:
        """The turn hidden beside a call of the client's; some upstreams count calls in each conversation."""
        with sweeping():
            turn = await self.there(_key(scope, session, call_id))
            if turn is not None:
                self.keep(scope, session, call_id, turn)  # its time begins anew
        return turn

    def keep(self, scope: MemoryScope, session: str, call_id: str, turn: HiddenTurn) -> None:
        """Note what is hidden beside it."""
        self.note(_key(scope, session, call_id), scope.user, turn.seqs, turn)


def _key(scope: MemoryScope, *names: str) -> bytes:
    return hashlib.sha256(repr((scope.user, scope.agent, names)).encode(errors="replace")).digest()


def loop_key(scope: MemoryScope, session: str, options: MemoryOptions, turns: Sequence[WireTurn]) -> bytes:
    """The same for all requests of a loop; `turns` are those up to the user's last one."""
    digest = hashlib.sha256(repr((scope, session, options)).encode(errors="replace"))
    for turn in turns:
        digest.update(turn.key)
    return digest.digest()
