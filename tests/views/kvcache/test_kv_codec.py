"""Blocks as bytes: native ones bit for bit, quantised ones within half a step, boxes around them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kv_models import DTYPES, chained, encoder_of, some_ids, tapped, tokenizer

from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.model.attention_hooks import RawKV
from zibaldone.views.kvcache.storage.block_files import ALIGNMENT, BlockLayout, LayerSize
from zibaldone.views.kvcache.storage.codec import decode, decode_keys, encode

SIZES = (LayerSize(2, 8, 6), LayerSize(1, 5, 3))
STEPS = {"int8": 127}
KINDS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def layout_of(dtype="float32", codec="native", block_tokens=7):
    return BlockLayout(SIZES, block_tokens, dtype, KINDS[dtype].itemsize, codec)


def block(tokens, dtype="float32", seed=0, scale=3.0):
    """Random keys and values, of which each channel has a size of its own."""
    generator = torch.Generator().manual_seed(seed)

    def some(heads, dim):
        sizes = scale * torch.rand((heads, 1, dim), generator=generator) ** 4
        return (torch.randn((heads, tokens, dim), generator=generator) * sizes).to(KINDS[dtype])

    return tuple(
        RawKV(some(size.kv_heads, size.key_dim), some(size.kv_heads, size.value_dim)) for size in SIZES
    )


def same(first, second):
    return all(
        torch.equal(a.keys, b.keys) and torch.equal(a.values, b.values)
        for a, b in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("tokens", [1, 4, 7])
def test_native(dtype, tokens):
    """Comes back bit for bit, full or not."""
    layout, raw = layout_of(dtype), block(tokens, dtype)
    data = encode(raw, layout)
    back = decode(data, tokens, layout)
    assert same(back, raw)
    assert back[0].keys.dtype == KINDS[dtype]
    assert back[0].keys.shape == (2, tokens, 8)


@pytest.mark.parametrize("dtype", KINDS)
def test_native_keeps_odd_numbers(dtype):
    """Infinities, minus zero and numbers that are none too."""
    layout, raw = layout_of(dtype), block(7, dtype)
    raw[0].keys[0, 0, :4] = torch.tensor([torch.inf, -torch.inf, -0.0, torch.nan])
    (found, _) = decode(encode(raw, layout), 7, layout)
    bits = torch.int32 if dtype == "float32" else torch.int16
    assert torch.equal(found.keys.view(bits), raw[0].keys.view(bits))


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("codec", ["native", "int8"])
def test_bytes(dtype, codec):
    """Every block has the same length, however many tokens it holds, and what is missing is zero."""
    layout = layout_of(dtype, codec)
    lengths = {len(encode(block(tokens, dtype), layout)) for tokens in (1, 3, 7)}
    assert lengths == {layout.payload_bytes}
    assert layout.stride_bytes % ALIGNMENT == 0
    assert layout.stride_bytes >= layout.payload_bytes
    short = decode(encode(block(3, dtype), layout), 7, layout)
    assert not short[0].keys[:, 3:].any()
    assert not short[1].values[:, 3:].any()


@pytest.mark.parametrize("codec", STEPS)
@given(st.integers(1, 7), st.integers(0, 1000), st.sampled_from(list(KINDS)), st.floats(0.01, 100))
@settings(max_examples=25, deadline=None)
def test_quantised(codec, tokens, seed, dtype, scale):
    """Keys are off by at most half a step of their channel, values by half a step of their token."""
    layout, raw = layout_of(dtype, codec), block(tokens, dtype, seed, scale)
    rounding = torch.finfo(KINDS[dtype]).eps
    for kv, back in zip(raw, decode(encode(raw, layout), tokens, layout), strict=True):
        for whole, found, axis in ((kv.keys, back.keys, -2), (kv.values, back.values, -1)):
            wide = whole.float()
            largest = wide.abs().amax(dim=axis, keepdim=True)
            allowed = largest * (0.5 / STEPS[codec] * 1.001 + rounding) + 1e-7
            assert ((found.float() - wide).abs() <= allowed).all()


def test_a_channel_has_its_own_scale():
    """A channel a thousand times larger than another takes nothing from its exactness."""
    layout, raw = layout_of(codec="int8"), block(7)
    raw[0].keys[..., 0] *= 1000
    (found, _) = decode(encode(raw, layout), 7, layout)
    small = raw[0].keys[..., 1:]
    error = (found.keys[..., 1:] - small).abs().amax(dim=-2)
    assert (error <= small.abs().amax(dim=-2) / 250).all()


@pytest.mark.parametrize("codec", STEPS)
def test_zeros(codec):
    """A block of nothing but zeros is no division by zero."""
    layout = layout_of(codec=codec)
    raw = tuple(RawKV(kv.keys * 0, kv.values * 0) for kv in block(7))
    assert same(decode(encode(raw, layout), 7, layout), raw)


@pytest.mark.parametrize("codec", ["native", "int8"])
@pytest.mark.parametrize("layer", [0, 1])
def test_keys_alone(codec, layer):
    """One layer's keys can be read from their own bytes."""
    layout = layout_of("bfloat16", codec)
    data = encode(block(7, "bfloat16"), layout)
    start = layout.offsets[layer]
    part = data[start : start + layout.key_bytes(layout.layers[layer])]
    assert torch.equal(decode_keys(part, layer, layout), decode(data, 7, layout)[layer].keys)


def test_smaller():
    """int8 is about half of sixteen bits."""
    large = (LayerSize(8, 128, 128),)
    native, half = (
        BlockLayout(large, 16, "bfloat16", 2, codec).payload_bytes for codec in ("native", "int8")
    )
    assert half < 0.65 * native


@pytest.mark.parametrize("codec", ["native", "int8"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_boxes_are_those_of_the_keys_that_are_read_back(codec, dtype):
    """A draft's box bounds the keys that a question meets, and no wider; it is not rounded."""
    tap, ids = tapped("llama", dtype), some_ids(30)[0].tolist()
    config = MemArt(block_tokens=8, context_tokens=None, layers="all", codec=codec)
    encoder = encoder_of(tap, config)
    for draft in chained(encoder, ids, []).drafts:
        back = decode(draft.payload, len(draft.tile.ids), encoder.layout)
        for layer in range(2):
            box = torch.frombuffer(bytearray(draft.boxes[layer]), dtype=DTYPES[dtype]).view(2, 2, 16)
            assert len(draft.boxes[layer]) == encoder.layout.box_bytes(layer)
            assert torch.equal(box[:, 0], back[layer].keys.amax(dim=-2))
            assert torch.equal(box[:, 1], back[layer].keys.amin(dim=-2))


def test_later_turns_see_what_is_read_back():
    """With a quantised pool a turn is encoded behind the keys that the pool will give, not better ones."""
    tap = tapped("llama")
    config = MemArt(block_tokens=8, context_tokens=None, layers="all", codec="int8")
    encoder = encoder_of(tap, config)
    ids = some_ids(24)[0].tolist()
    chain = chained(encoder, ids, [16])
    stored = [decode(draft.payload, 8, encoder.layout) for draft in chain.drafts]
    again = encoder.run(ids[16:], [encoder.prefix, *stored[:2]])
    rounded = decode(encode(again, encoder.layout), 8, encoder.layout)
    assert same(rounded, stored[2])
    assert tokenizer().bos_token_id == encoder.prefix_ids[0]
