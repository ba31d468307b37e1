"""The chunks view: MemAttention of Akashic. Bounded chunks, compacted one at a time and jointly."""

from __future__ import annotations

from commonplace.views.chunks.chunk import Past, StoredChunk
from commonplace.views.chunks.config import MemAttention
from commonplace.views.chunks.view import ChunksView

__all__ = ["ChunksView", "MemAttention", "Past", "StoredChunk"]
