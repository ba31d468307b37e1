"""A cache of blocks on the model's device, in front of the disk; the least recently used goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from zibaldone.core.fork_safety import ForkSafeLock, start_anew_in_children
from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV

_READERS = 8  # reads from disk under way at a time
Key = tuple[str, int, str, int, int | None]  # user, generation, fingerprint, number and checksum of a block


class BlockCache:
    """Blocks up to a number of bytes. Safe to share among threads."""

    def __init__(self, device: torch.device, most_bytes: int) -> None:
        self._device, self._most_bytes = device, most_bytes
        self.bytes = 0
        self._blocks: OrderedDict[Key, Raw] = OrderedDict()
        self._drops: dict[str, int] = {}  # by user: what was read before a drop is not kept after it
        self._lock = ForkSafeLock()
        self.start_anew()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """Start new reader threads in a forked child; cached blocks are kept."""
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="zibaldone-kv-read")

    def get(self, wanted: Sequence[tuple[Key, Callable[[], Raw]]]) -> tuple[Raw, ...]:
        """Blocks on the device for (key, reader) pairs, in order; missing ones are read in parallel."""
        blocks: dict[Key, Raw] = {}
        waiting = []
        with self._lock:
            before = dict(self._drops)
            for key, read in wanted:
                if key in self._blocks:
                    self._blocks.move_to_end(key)
                    blocks[key] = self._blocks[key]
                else:
                    waiting.append((key, read))
        reading = [(key, self._readers.submit(read)) for key, read in waiting]
        for key, future in reading:
            blocks[key] = self._moved(future.result())
            with self._lock:
                if self._drops.get(key[0]) == before.get(key[0]):
                    self._put(key, blocks[key])
        return tuple(blocks[key] for key, _ in wanted)

    def drop(self, user: str) -> None:
        """Remove a user's blocks; blocks that are being read now are not cached either."""
        with self._lock:
            self._drops[user] = self._drops.get(user, 0) + 1
            for key in [key for key in self._blocks if key[0] == user]:
                self.bytes -= _size_of(self._blocks.pop(key))

    def close(self) -> None:
        self._readers.shutdown(wait=True, cancel_futures=True)

    def _put(self, key: Key, raw: Raw) -> None:
        """Cache a block, if it fits at all."""
        if _size_of(raw) > self._most_bytes or key in self._blocks:
            return
        self._blocks[key] = raw
        self.bytes += _size_of(raw)
        while self.bytes > self._most_bytes:
            self.bytes -= _size_of(self._blocks.popitem(last=False)[1])

    def _moved(self, raw: Raw) -> Raw:
        return tuple(RawKV(kv.keys.to(self._device), kv.values.to(self._device)) for kv in raw)


def _size_of(raw: Raw) -> int:
    return sum(kv.keys.nbytes + kv.values.nbytes for kv in raw)
