"""How one block lies on disk: fixed size, all layers together, so that a block is one read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from zibaldone.views.kvcache.config import Codec

ALIGNMENT = 4096  # bytes: of pages and of O_DIRECT
_SCALE_BYTES = 4  # float32


@dataclass(frozen=True, slots=True)
class LayerSize:
    """Of one layer's keys and values."""

    kv_heads: int
    key_dim: int
    value_dim: int


@dataclass(frozen=True)
class BlockLayout:
    """[layer][keys | values][kv head][token][dim], padded to a multiple of 4 KiB.

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
    def stride_bytes(self) -> int:
        """From one block to the next."""
        return -(-self.payload_bytes // ALIGNMENT) * ALIGNMENT

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where in a block each layer begins."""
        return (0, *accumulate(self.layer_bytes(size) for size in self.layers))[:-1]

    def layer_bytes(self, size: LayerSize) -> int:
        """Of one layer, in a block."""
        return self.key_bytes(size) + self.value_bytes(size)

    def key_bytes(self, size: LayerSize) -> int:
        """Of one layer's keys and their scales."""
        return self._numbers(size.kv_heads * self.block_tokens * size.key_dim) + (
            0 if self.codec == "native" else _SCALE_BYTES * size.kv_heads * size.key_dim
        )

    def value_bytes(self, size: LayerSize) -> int:
        """Of one layer's values and their scales."""
        return self._numbers(size.kv_heads * self.block_tokens * size.value_dim) + (
            0 if self.codec == "native" else _SCALE_BYTES * size.kv_heads * self.block_tokens
        )

    def box_bytes(self, layer: int) -> int:
        """Of one block's bounding box in one layer: (kv_heads, 2, key_dim) in the model's dtype."""
        size = self.layers[layer]
        return 2 * size.kv_heads * size.key_dim * self.item_bytes

    def _numbers(self, count: int) -> int:
        if self.codec == "native":
            return count * self.item_bytes
        return count


def sizes(shapes: Sequence[tuple[int, int, int]]) -> tuple[LayerSize, ...]:
    """From (kv_heads, key_dim, value_dim) of each layer."""
    return tuple(LayerSize(*shape) for shape in shapes)
