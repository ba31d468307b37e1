"""Sizes of a block's bytes: keys and values of all layers, one after the other (section 3.1 d)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from zibaldone.views.kvcache.config import Codec

_SCALE_BYTES = 4  # float32


@dataclass(frozen=True, slots=True)
class LayerSize:
    """Sizes of one layer's keys and values."""

    kv_heads: int
    key_dim: int
    value_dim: int


@dataclass(frozen=True)
class BlockLayout:
    """[layer][keys | values][kv head][token][dim].

    Quantised, a layer's scales stand before its numbers: one per channel for keys, one per token for values.
    """

    layers: tuple[LayerSize, ...]
    block_tokens: int
    dtype: str  # "float32", "bfloat16", "float16": what the model computes keys in
    item_bytes: int  # of that
    codec: Codec

    @cached_property
    def payload_bytes(self) -> int:
        return sum(self.layer_bytes(size) for size in self.layers)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Start of each layer in a block."""
        return (0, *accumulate(self.layer_bytes(size) for size in self.layers))[:-1]

    def layer_bytes(self, size: LayerSize) -> int:
        """Bytes of one layer in a block."""
        return self.key_bytes(size) + self._bytes(size, size.value_dim, self.block_tokens)

    def key_bytes(self, size: LayerSize) -> int:
        """Bytes of one layer's keys with their scales."""
        return self._bytes(size, size.key_dim, size.key_dim)

    def head_bytes(self, size: LayerSize) -> tuple[int, ...]:
        """Bytes of one head in each run of heads of a layer: of keys, then of values."""
        dims = (size.key_dim, size.key_dim), (size.value_dim, self.block_tokens)
        if self.codec == "native":
            return tuple(self.block_tokens * dim * self.item_bytes for dim, _ in dims)
        return tuple(run for dim, scales in dims for run in (_SCALE_BYTES * scales, self.block_tokens * dim))

    def _bytes(self, size: LayerSize, dim: int, scales: int) -> int:
        numbers = size.kv_heads * self.block_tokens * dim
        if self.codec == "native":
            return numbers * self.item_bytes
        return numbers + _SCALE_BYTES * size.kv_heads * scales
