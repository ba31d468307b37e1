"""Caches of what the gateway inserted into a request, to insert it again into the requests that follow it.

An agent that uses tools sends the same turn again with each result. The model server's prefix cache covers it
as long as the recalled text before that turn, and the model's own searches, are the same byte for byte.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from zibaldone.api.aio import AsyncMemory
from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.recall.result import Recall
from zibaldone.server.gateway.scope import MemoryOptions, MemoryScope
from zibaldone.server.gateway.turns import WireTurn
from zibaldone.text.purgeable_cache import emptied

T = TypeVar("T")
Quoted = tuple[str, int]  # a message: the shared memory that has it, "" for the user's own, and its seq
_MOST = 512


class MessageCache(Generic[T]):
    """An LRU cache of values that quote messages. A forgetting empties it."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._kept: OrderedDict[bytes, tuple[str, frozenset[Quoted], T]] = OrderedDict()
        self._lock = ForkSafeLock()  # forgetting runs in another thread
        emptied(self)

    def cache_clear(self) -> None:
        """Drop everything, after something was forgotten."""
        with self._lock:
            self._kept.clear()

    def put(self, key: bytes, user: str, quoted: frozenset[Quoted], value: T) -> None:
        """Add a value that quotes these messages; call within `sweeping`, entered before they were read."""
        with self._lock:
            self._kept[key] = (user, quoted, value)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    async def find(self, key: bytes) -> T | None:
        """Return the value if the user may still read all its messages: other processes forget and revoke."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            user, quoted, value = self._kept[key]
        if not await may_read(self._memory, user, {scope for scope, _ in quoted}):
            return None
        for scope, seq in quoted:
            if await self._memory.get(seq, user=scope or user) is None:
                return None
        return value


class LoopRecalls(MessageCache[Recall]):
    """Recalls of tool loops, by `loop_key`."""

    def keep(self, loop: bytes, user: str, recalled: Recall) -> None:
        """Add a recall, without its trace: that has every message of the user, a megabyte and more.

        The text needs no evidence but the first unit, which says whether it begins with what is standing.
        """
        trace = replace(recalled.trace, views=(), decisions=(), within=None, without=frozenset(), shared={})
        quoted = frozenset((citation.scope, citation.seq) for citation in recalled.citations)
        self.put(loop, user, quoted, replace(recalled, trace=trace, evidence=recalled.evidence[:1]))


async def may_read(memory: AsyncMemory, user: str, scopes: set[str]) -> bool:
    """True if all of these memories are the user's own (""), or shared with the user now."""
    return scopes <= {""} or scopes <= {"", *(grant.scope for grant in await memory.admin.grants(user=user))}


def id_key(scope: MemoryScope, *ids: str) -> bytes:
    """Return a key of an answer, or of a call in its session: elsewhere a call may have the same id."""
    return hashlib.sha256(repr((scope.user, scope.agent, ids)).encode(errors="replace")).digest()


def loop_key(scope: MemoryScope, session: str, options: MemoryOptions, turns: Sequence[WireTurn]) -> bytes:
    """Return a key common to all requests of a tool loop; `turns` are those up to the user's last one."""
    digest = hashlib.sha256(repr((scope, session, options)).encode(errors="replace"))
    for turn in turns:
        digest.update(turn.key)
    return digest.digest()
