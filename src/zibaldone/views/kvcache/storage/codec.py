"""Blocks as bytes and back: as they are, or with keys quantised per channel and values per token."""

from __future__ import annotations

import torch
from torch import Tensor

from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV
from zibaldone.views.kvcache.storage.layout import BlockLayout, LayerSize

_STEPS = 127  # of int8 on either side of 0


def encode(raw: Raw, layout: BlockLayout) -> bytes:
    """Bytes of a block of at most block_tokens tokens, padded with zeros."""
    parts = []
    for kv in raw:
        short = layout.block_tokens - kv.tokens
        keys = torch.nn.functional.pad(kv.keys.cpu(), (0, 0, 0, short))
        values = torch.nn.functional.pad(kv.values.cpu(), (0, 0, 0, short))
        parts += [_packed(keys, layout, channel=True), _packed(values, layout, channel=False)]
    data = b"".join(parts)
    assert len(data) == layout.payload_bytes
    return data


def decode(data: bytes, tokens: int, layout: BlockLayout) -> Raw:
    """Keys and values of a block's tokens, on the CPU."""
    block = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    layers = (decode_layer(block, number, layout) for number in range(len(layout.layers)))
    return tuple(RawKV(kv.keys[:, :tokens].clone(), kv.values[:, :tokens].clone()) for kv in layers)


def decode_layer(data: Tensor, layer: int, layout: BlockLayout) -> RawKV:
    """(..., kv_heads, block_tokens, dim) of one layer of the blocks (..., bytes), on their device."""
    size, start = layout.layers[layer], layout.offsets[layer]
    return RawKV(
        _unpacked(data, start, size.key_dim, size, layout, channel=True),
        _unpacked(data, start + layout.key_bytes(size), size.value_dim, size, layout, channel=False),
    )


def _packed(numbers: Tensor, layout: BlockLayout, *, channel: bool) -> bytes:
    if layout.codec == "native":
        return _bytes(numbers.contiguous())
    wide = numbers.float()
    scale = (wide.abs().amax(dim=-2 if channel else -1) / _STEPS).clamp(min=torch.finfo(torch.float32).tiny)
    whole = (wide / scale.unsqueeze(-2 if channel else -1)).round().clamp(-_STEPS, _STEPS).to(torch.int8)
    return _bytes(scale) + _bytes(whole)


def _unpacked(
    data: Tensor, start: int, dim: int, size: LayerSize, layout: BlockLayout, *, channel: bool
) -> Tensor:
    shape = (size.kv_heads, layout.block_tokens, dim)
    count = size.kv_heads * layout.block_tokens * dim
    dtype: torch.dtype = getattr(torch, layout.dtype)
    if layout.codec == "native":
        return data[..., start : start + count * layout.item_bytes].view(dtype).unflatten(-1, shape)
    end = start + 4 * size.kv_heads * (dim if channel else layout.block_tokens)
    scale = data[..., start:end].clone().view(torch.float32).unflatten(-1, (size.kv_heads, -1))
    whole = data[..., end : end + count].view(torch.int8).unflatten(-1, shape)
    return (whole.float() * scale.unsqueeze(-2 if channel else -1)).to(dtype)


def _bytes(tensor: Tensor) -> bytes:
    data: bytes = tensor.contiguous().view(torch.uint8).numpy().tobytes()
    return data
