"""The chunks view: MemAttention of Akashic. Bounded chunks, compacted one at a time and jointly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zibaldone.core.on_demand import on_demand

if TYPE_CHECKING:
    from zibaldone.views.chunks.chunk import Past, StoredChunk
    from zibaldone.views.chunks.config import MemAttention, Placement
    from zibaldone.views.chunks.view import ChunksView

__all__ = ["ChunksView", "MemAttention", "Past", "Placement", "StoredChunk"]

__getattr__ = on_demand(
    __name__,
    {
        "chunk": (
            "Past",
            "StoredChunk",
        ),
        "config": (
            "MemAttention",
            "Placement",
        ),
        "view": ("ChunksView",),
    },
)
