"""A user's bounding boxes, in memory on the device: what a question is scored against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from sqlalchemy import Connection
from torch import Tensor

from zibaldone import log
from zibaldone.errors import BlockMissing
from zibaldone.log import UserState
from zibaldone.storage.batches import in_chunks
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.block_files import checksum
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool
from zibaldone.views.kvcache.storage.store import KVStore
from zibaldone.views.user_cache import UserCache

_USERS = 64  # whose boxes are in memory at a time
_ROWS = 4096  # read at a time


@dataclass(frozen=True, slots=True)
class Index:
    """One pool's blocks that have boxes, in the order of their numbers."""

    pool: Pool
    blocks: tuple[KVBlock, ...]
    boxes: dict[int, Tensor]  # by layer: (blocks, kv_heads, 2, key_dim)
    version: int  # of the user's log


class Indexes:
    """The indexes of the users that asked last. Safe to share among threads."""

    def __init__(self, store: KVStore, device: torch.device) -> None:
        self._store, self._device = store, device
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
        blocks = [b for b in manifest.all_blocks(connection, pool.generation) if b.boxes_crc is not None]
        boxes = {layer: [self._tensor(pool, layer, [])] for layer in pool.layers}
        for some in in_chunks(blocks, _ROWS):
            for layer, tensor in self._boxes(pool, some).items():
                boxes[layer].append(tensor.to(self._device))
        whole = {layer: torch.cat(parts) for layer, parts in boxes.items()}
        return Index(pool, tuple(blocks), whole, version)

    def _boxes(self, pool: Pool, blocks: Iterable[KVBlock]) -> dict[int, Tensor]:
        """Boxes of these blocks, checked. Raises BlockMissing when they have just been overwritten."""
        wanted = list(blocks)
        files = self._store.files(pool)
        rows = [block.number - 1 for block in wanted]
        by_layer = {layer: files.read_boxes(layer, rows) for layer in pool.layers}
        for place, block in enumerate(wanted):
            if checksum(b"".join(by_layer[layer][place] for layer in pool.layers)) != block.boxes_crc:
                raise BlockMissing(
                    f"the boxes of KV block {block.number} are not there any more, or are damaged"
                )
        return {layer: self._tensor(pool, layer, data) for layer, data in by_layer.items()}

    def _tensor(self, pool: Pool, layer: int, data: list[bytes]) -> Tensor:
        size = pool.layout.layers[layer]
        dtype: torch.dtype = getattr(torch, pool.layout.dtype)
        shape = (len(data), size.kv_heads, 2, size.key_dim)
        if not data:
            return torch.empty(shape, dtype=dtype, device=self._device)
        return torch.frombuffer(bytearray(b"".join(data)), dtype=dtype).view(shape)
