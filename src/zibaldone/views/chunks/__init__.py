"""The chunks view: MemAttention of Akashic. Bounded chunks, compacted one at a time and jointly."""

from __future__ import annotations

from zibaldone.views.chunks.chunk import Past, StoredChunk
from zibaldone.views.chunks.config import MemAttention, Placement
from zibaldone.views.chunks.view import ChunksView

__all__ = ["ChunksView", "MemAttention", "Past", "Placement", "StoredChunk"]
