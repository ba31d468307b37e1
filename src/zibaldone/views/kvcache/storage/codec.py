"""Blocks as bytes and back: as they are, or with keys quantised per channel and values per token."""

from __future__ import annotations

import torch
from torch import Tensor

from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV
from zibaldone.views.kvcache.storage.block_files import BlockLayout, LayerSize

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
    raw = []
    for size, start in zip(layout.layers, layout.offsets, strict=True):
        keys = _unpacked(data, start, size.key_dim, size, layout, channel=True)
        values = _unpacked(data, start + layout.key_bytes(size), size.value_dim, size, layout, channel=False)
        raw.append(RawKV(keys[:, :tokens].clone(), values[:, :tokens].clone()))
    return tuple(raw)


def _packed(numbers: Tensor, layout: BlockLayout, *, channel: bool) -> bytes:
    if layout.codec == "native":
        return _bytes(numbers.contiguous())
    wide = numbers.float()
    scale = (wide.abs().amax(dim=-2 if channel else -1) / _STEPS).clamp(min=torch.finfo(torch.float32).tiny)
    whole = (wide / scale.unsqueeze(-2 if channel else -1)).round().clamp(-_STEPS, _STEPS).to(torch.int8)
    return _bytes(scale) + _bytes(whole)


def _unpacked(
    data: bytes, start: int, dim: int, size: LayerSize, layout: BlockLayout, *, channel: bool
) -> Tensor:
    shape = (size.kv_heads, layout.block_tokens, dim)
    count = size.kv_heads * layout.block_tokens * dim
    dtype: torch.dtype = getattr(torch, layout.dtype)
    if layout.codec == "native":
        return torch.frombuffer(bytearray(data[start : start + count * layout.item_bytes]), dtype=dtype).view(
            shape
        )
    scales = size.kv_heads * (dim if channel else layout.block_tokens)
    end = start + 4 * scales
    scale = torch.frombuffer(bytearray(data[start:end]), dtype=torch.float32).view(size.kv_heads, -1)
    whole = torch.frombuffer(bytearray(data[end : end + count]), dtype=torch.int8)
    return (whole.view(shape).float() * scale.unsqueeze(-2 if channel else -1)).to(dtype)


def _bytes(tensor: Tensor) -> bytes:
    data: bytes = tensor.contiguous().view(torch.uint8).numpy().tobytes()
    return data
