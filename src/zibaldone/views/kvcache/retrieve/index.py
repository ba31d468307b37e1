"""A user's bounding boxes, on the device: what a question is scored against."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sqlalchemy import Connection
from torch import Tensor

from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, Pool


@dataclass(frozen=True, slots=True)
class Index:
    """One pool's blocks that have boxes, in the order of their numbers."""

    blocks: tuple[KVBlock, ...]
    boxes: tuple[Tensor, ...]  # by layer: (blocks, kv_heads, 2, key_dim)


def index_of(connection: Connection, pool: Pool, device: torch.device) -> Index:
    """The index as of this snapshot."""
    rows = manifest.boxes_of(connection, pool.generation)
    if not rows:
        return Index((), ())
    dtype: torch.dtype = getattr(torch, pool.layout.dtype)
    flat = torch.frombuffer(bytearray(b"".join(data for _, data in rows)), dtype=dtype)
    sizes = [2 * size.kv_heads * size.key_dim for size in pool.layout.layers]
    by_layer = flat.view(len(rows), -1).to(device).split(sizes, dim=1)
    boxes = (
        layer.unflatten(1, (size.kv_heads, 2, size.key_dim))
        for layer, size in zip(by_layer, pool.layout.layers, strict=True)
    )
    return Index(tuple(block for block, _ in rows), tuple(boxes))
