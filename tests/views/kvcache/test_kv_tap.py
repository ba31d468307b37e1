"""The tap: keys from before RoPE, put back at 0 .. n-1, are the full context."""

import pytest
import torch
from kv_models import (
    CONTEXT,
    DTYPES,
    FAMILIES,
    QUESTION,
    SHAPE,
    captured,
    chained,
    encoder_of,
    logits,
    new_model,
    read_back,
    scaled,
    stock,
    tapped,
)
from kv_models import IDS as WORDS
from transformers import DynamicCache, Phi3Config

from zibaldone.errors import UnsupportedModel
from zibaldone.views.kvcache.model.attention_hooks import Tap
from zibaldone.views.kvcache.model.encoding import cut

IDS = torch.tensor([WORDS])
EACH = pytest.mark.parametrize("family", FAMILIES)
DTYPE = pytest.mark.parametrize("dtype", DTYPES)


def blocks_of(raw, size=8):
    """The tokens of a pass in blocks."""
    return [cut(raw, start, start + size) for start in range(0, raw[0].tokens, size)]


def noise(family, dtype, ids, at):
    """Tolerance of full logits: hardly anything in fp32; in bf16 as much as stock's chunks do."""
    model = stock(family, dtype)
    full = logits(model, ids)
    if dtype == "fp32":
        return full, 1e-5 * full.abs().max().item()
    cache = DynamicCache()
    logits(model, ids[:, :at], cache)
    return full, (logits(model, ids[:, at:], cache) - full[:, at:]).abs().max().item()


@EACH
@DTYPE
def test_all_blocks_in_order_give_the_full_context(family, dtype):
    """Raw keys of blocks, put back at 0 .. n-1, give the stock logits of the whole text."""
    tap = tapped(family, dtype)
    full, allowed = noise(family, dtype, IDS, CONTEXT)
    parts = blocks_of(captured(tap, IDS[:, :CONTEXT]))
    found = logits(tap.model, IDS[:, CONTEXT:], tap.cache_of(parts, final=CONTEXT + QUESTION))
    assert full.std() > 0.1
    assert (found - full[:, CONTEXT:]).abs().max().item() <= allowed


@EACH
@DTYPE
def test_turn_by_turn_is_one_pass(family, dtype):
    """Turns encoded each behind all before it give the full context, from the bytes of their blocks."""
    tap = tapped(family, dtype)
    encoder = encoder_of(tap)
    ids = torch.cat([torch.tensor([encoder.prefix_ids]), IDS], dim=1)
    start = CONTEXT + len(encoder.prefix_ids)
    chain = chained(encoder, IDS[0, :CONTEXT].tolist(), [5, 21, 22, 60])
    full, allowed = noise(family, dtype, ids, start)
    if dtype == "bf16":  # each turn's pass rounds anew, where stock's chunks were two
        allowed = max(2 * allowed, 0.02 * full.abs().max().item())
    parts = [encoder.prefix, *read_back(chain)]
    found = logits(tap.model, IDS[:, CONTEXT:], tap.cache_of(parts, final=ids.shape[1]))
    assert (found - full[:, start:]).abs().max().item() <= allowed


def test_turn_by_turn_where_positions_depend_on_the_length():
    """A model whose frequencies depend on how long the text is, is refused, or encoded as one pass would."""
    factors = {"short_factor": [1.0] * 8, "long_factor": [1 + i / 2 for i in range(8)]}
    rope = scaled("longrope", original_max_position_embeddings=64, **factors)
    config = Phi3Config(**SHAPE, original_max_position_embeddings=64, rope_parameters=rope)
    model = new_model(config)
    ids = torch.cat([torch.tensor([[1]]), IDS], dim=1)
    full = logits(model, ids)[:, CONTEXT + 1 :]
    try:
        tap = Tap(model)
    except UnsupportedModel:
        return
    encoder = encoder_of(tap)
    parts = [encoder.prefix, *read_back(chained(encoder, IDS[0, :CONTEXT].tolist(), [30]))]
    found = logits(model, IDS[:, CONTEXT:], tap.cache_of(parts, final=ids.shape[1]))
    assert (found - full).abs().max() <= 1e-5 * full.abs().max()
