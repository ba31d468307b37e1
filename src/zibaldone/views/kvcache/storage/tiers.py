"""Caches of blocks on device and host, in front of the disk; the least recently used goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

from zibaldone.core.fork_safety import ForkSafeLock, start_anew_in_children
from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV

_READERS = 8  # reads from disk under way at a time


@dataclass(frozen=True, slots=True)
class Hits:
    """Numbers of blocks by the tier that they came from."""

    device: int = 0
    host: int = 0
    disk: int = 0

    def __add__(self, other: Hits) -> Hits:
        return Hits(self.device + other.device, self.host + other.host, self.disk + other.disk)


class Lru:
    """A cache of blocks up to a number of bytes. Safe to share among threads."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity, self._bytes = capacity_bytes, 0
        self._blocks: OrderedDict[Hashable, Raw] = OrderedDict()
        self._lock = ForkSafeLock()

    def get(self, key: Hashable) -> Raw | None:
        """The block, marked as recently used; None if it is not cached."""
        with self._lock:
            raw = self._blocks.get(key)
            if raw is not None:
                self._blocks.move_to_end(key)
            return raw

    def put(self, key: Hashable, raw: Raw) -> None:
        """Cache a block, if it fits at all."""
        size = size_of(raw)
        if size > self._capacity:
            return
        with self._lock:
            old = self._blocks.pop(key, None)
            self._bytes += size - (size_of(old) if old else 0)
            self._blocks[key] = raw
            while self._bytes > self._capacity:
                _, gone = self._blocks.popitem(last=False)
                self._bytes -= size_of(gone)

    def drop(self, unwanted: Callable[[Hashable], bool]) -> None:
        """Remove blocks by their keys."""
        with self._lock:
            for key in [key for key in self._blocks if unwanted(key)]:
                self._bytes -= size_of(self._blocks.pop(key))

    @property
    def bytes(self) -> int:
        return self._bytes


class Tiers:
    """Device cache over host cache over a reader. Keys begin with the user."""

    def __init__(self, device: torch.device, device_bytes: int, host_bytes: int) -> None:
        """Set the capacities; on a CPU device the device tier is the host's."""
        self._device = device
        self._on_device = Lru(device_bytes if device.type != "cpu" else 0)
        self._on_host = Lru(host_bytes)
        self._drops: dict[str, int] = {}  # by user: what was read before a drop is not kept after it
        self._readers = _readers()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """Start new reader threads in a forked child; cached blocks are kept."""
        self._readers = _readers()

    def get(self, wanted: Sequence[tuple[Hashable, Callable[[], Raw]]]) -> tuple[list[Raw], Hits]:
        """Blocks on the device for (key, reader) pairs, in order; missing ones are read in parallel."""
        blocks: dict[Hashable, Raw] = {}
        hits = Hits()
        waiting = []
        before = dict(self._drops)
        for key, read in wanted:
            if (raw := self._on_device.get(key)) is not None:
                blocks[key], hits = raw, hits + Hits(device=1)
            elif (raw := self._on_host.get(key)) is not None:
                blocks[key], hits = self._up(key, raw), hits + Hits(host=1)
            else:
                waiting.append((key, self._readers.submit(read)))
        for key, reading in waiting:
            raw = self._pinned(reading.result())
            fresh = self._same(key, before)
            if fresh:
                self._on_host.put(key, raw)
            blocks[key], hits = self._up(key, raw, keep=fresh), hits + Hits(disk=1)
        return [blocks[key] for key, _ in wanted], hits

    def drop(self, user: str) -> None:
        """Remove a user's blocks; blocks that are being read now are not cached either."""
        self._drops[user] = self._drops.get(user, 0) + 1
        for tier in (self._on_device, self._on_host):
            tier.drop(lambda key: isinstance(key, tuple) and key[0] == user)

    def close(self) -> None:
        self._readers.shutdown(wait=True, cancel_futures=True)

    def _same(self, key: Hashable, before: Mapping[str, int]) -> bool:
        """True if the key's user was not dropped meanwhile."""
        user = key[0] if isinstance(key, tuple) else ""
        return self._drops.get(user, 0) == before.get(user, 0)

    def _up(self, key: Hashable, raw: Raw, *, keep: bool = True) -> Raw:
        if self._device.type == "cpu":
            return raw
        moved = tuple(
            RawKV(kv.keys.to(self._device, non_blocking=True), kv.values.to(self._device, non_blocking=True))
            for kv in raw
        )
        if keep:
            self._on_device.put(key, moved)
        return moved

    def _pinned(self, raw: Raw) -> Raw:
        if self._device.type != "cuda":
            return raw
        return tuple(RawKV(kv.keys.pin_memory(), kv.values.pin_memory()) for kv in raw)


def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_READERS, thread_name_prefix="zibaldone-kv-read")


def size_of(raw: Raw) -> int:
    return sum(kv.keys.nbytes + kv.values.nbytes for kv in raw)
