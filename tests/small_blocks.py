"""Settings of a memory that makes many small blocks of a few messages."""

from __future__ import annotations

from typing import Any

from zibaldone import MemAttention, Placement
from zibaldone.testing import HashEmbedder

SMALL_BLOCKS: dict[str, Any] = {
    "embedder": HashEmbedder(16),
    "chat": None,
    "chunks": MemAttention(chunk_gate_tokens=48),
    "placement": Placement(block_bytes=400, staged_blocks=0),
    "maintained": ("messages", "chunks"),
}
