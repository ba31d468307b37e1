"""Quantised blocks as bytes, within half a step."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.views.kvcache.model.attention_hooks import RawKV
from zibaldone.views.kvcache.storage.codec import decode, encode
from zibaldone.views.kvcache.storage.layout import BlockLayout, LayerSize

SIZES = (LayerSize(2, 8, 6), LayerSize(1, 5, 3))
STEPS = 127  # of int8
KINDS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def block(tokens, dtype, seed, scale):
    """Random keys and values, of which each channel has a size of its own."""
    generator = torch.Generator().manual_seed(seed)

    def some(heads, dim):
        sizes = scale * torch.rand((heads, 1, dim), generator=generator) ** 4
        return (torch.randn((heads, tokens, dim), generator=generator) * sizes).to(KINDS[dtype])

    return tuple(
        RawKV(some(size.kv_heads, size.key_dim), some(size.kv_heads, size.value_dim)) for size in SIZES
    )


@given(st.integers(1, 7), st.integers(0, 1000), st.sampled_from(list(KINDS)), st.floats(0.01, 100))
@settings(max_examples=25, deadline=None)
def test_quantised(tokens, seed, dtype, scale):
    """Keys are off by at most half a step of their channel, values by half a step of their token."""
    layout = BlockLayout(SIZES, 7, dtype, KINDS[dtype].itemsize, "int8")
    raw = block(tokens, dtype, seed, scale)
    rounding = torch.finfo(KINDS[dtype]).eps
    for kv, back in zip(raw, decode(encode(raw, layout), tokens, layout), strict=True):
        for whole, found, axis in ((kv.keys, back.keys, -2), (kv.values, back.values, -1)):
            wide = whole.float()
            largest = wide.abs().amax(dim=axis, keepdim=True)
            allowed = largest * (0.5 / STEPS * 1.001 + rounding) + 1e-7
            assert ((found.float() - wide).abs() <= allowed).all()
