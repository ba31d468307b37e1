"""A user's bounding boxes, in memory on the device: what a question is scored against."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sqlalchemy import Connection
from torch import Tensor

from zibaldone import log
from zibaldone.log import UserState
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool
from zibaldone.views.user_cache import UserCache

_USERS = 64  # whose boxes are in memory at a time


@dataclass(frozen=True, slots=True)
class Index:
    """One pool's blocks that have boxes, in the order of their numbers."""

    pool: Pool
    blocks: tuple[KVBlock, ...]
    boxes: dict[int, Tensor]  # by layer: (blocks, kv_heads, 2, key_dim)
    version: int  # of the user's log


class Indexes:
    """The indexes of the users that asked last. Safe to share among threads."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._held: UserCache[Index] = UserCache(_USERS)

    def get(self, connection: Connection, pool: Pool) -> Index:
        """As of this snapshot; all boxes are read again when anything has changed."""
        user = pool.generation.user
        state = log.state(connection, user)
        held = self._held.get(user)
        if held is None or (held.pool, held.version) != (pool, state.version):
            held = self._read(connection, pool, state.version)
            self._held.put(user, held, state)
        return held

    def drop(self, user: str, state: UserState) -> None:
        """Let go of what was before a forgetting."""
        self._held.drop(user, state)

    def _read(self, connection: Connection, pool: Pool, version: int) -> Index:
        rows = manifest.boxes_of(connection, pool.generation)
        boxes, start = {}, 0
        for layer in pool.layers:
            end = start + pool.layout.box_bytes(layer)
            boxes[layer] = self._tensor(pool, layer, [data[start:end] for _, data in rows])
            start = end
        return Index(pool, tuple(block for block, _ in rows), boxes, version)

    def _tensor(self, pool: Pool, layer: int, data: list[bytes]) -> Tensor:
        size = pool.layout.layers[layer]
        dtype: torch.dtype = getattr(torch, pool.layout.dtype)
        shape = (len(data), size.kv_heads, 2, size.key_dim)
        if not data:
            return torch.empty(shape, dtype=dtype, device=self._device)
        return torch.frombuffer(bytearray(b"".join(data)), dtype=dtype).view(shape).to(self._device)
