"""The tap: keys from before RoPE, put back at 0 .. n-1, are the full context; nobody else notices it."""

import threading

import pytest
import torch
from kv_models import (
    CONTEXT,
    DTYPES,
    FAMILIES,
    captured,
    chained,
    encoder_of,
    logits,
    new_model,
    read_back,
    stock,
    tapped,
)
from kv_models import IDS as WORDS
from transformers import DynamicCache

from zibaldone.views.kvcache.model.attention_hooks import Tap

IDS = torch.tensor([WORDS])
EACH = pytest.mark.parametrize("family", FAMILIES)
DTYPE = pytest.mark.parametrize("dtype", DTYPES)


def noise(family, dtype, ids, at):
    """Tolerance of full logits: hardly anything in fp32; in bf16 as much as stock's chunks do."""
    model = stock(family, dtype)
    full = logits(model, ids)
    if dtype == "fp32":
        return full, 1e-5 * full.abs().max().item()
    cache = DynamicCache()
    logits(model, ids[:, :at], cache)
    return full, (logits(model, ids[:, at:], cache) - full[:, at:]).abs().max().item()


def put_back(tap):
    """How far logits behind keys that were captured and put back are from those of the whole text."""
    full = logits(tap.model, IDS)[:, CONTEXT:]
    found = logits(tap.model, IDS[:, CONTEXT:], tap.cache_of([captured(tap, IDS[:, :CONTEXT])]))
    return (found - full).abs().max() / full.abs().max()


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


def test_norms_that_keep_nothing_of_a_dimension():
    """As in Gemma 3 270M: of a pair one dimension, or both."""
    model = new_model(FAMILIES["gemma3"]())
    for layer in model.model.layers:
        layer.self_attn.k_norm.weight.data[[3, 5, 13]] = -1.0
    assert put_back(Tap(model)) <= 1e-5


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_attention_functions(attention):
    """The tap stands before whichever function the model was loaded with, and gives it back."""
    model = new_model(FAMILIES["llama"]())
    model.set_attn_implementation(attention)
    tap = Tap(model)
    assert put_back(tap) <= 1e-5
    tap.detach()
    assert model.config._attn_implementation == attention


def test_a_tap_that_is_open_in_one_thread_is_not_open_in_another():
    """The other thread's pass is the stock one, in logits and in keys."""
    tap, full = tapped("llama"), logits(stock("llama"), IDS)
    raw = captured(tap, IDS)
    opened, done = threading.Event(), threading.Event()
    found = {}

    def with_tap():
        with tap.open():
            cache = tap.cache()
            logits(tap.model, IDS[:, :CONTEXT], cache)
            opened.set()
            done.wait(20)
            logits(tap.model, IDS[:, CONTEXT:], cache)
        found["raw"] = tap.taken(cache)

    thread = threading.Thread(target=with_tap)
    thread.start()
    assert opened.wait(20)
    cache = DynamicCache()
    plain = logits(tap.model, IDS, cache)
    done.set()
    thread.join()
    assert torch.equal(plain, full)
    assert torch.allclose(cache.layers[0].keys, tap.cache_of([raw]).layers[0].keys, atol=1e-5)
    assert torch.allclose(found["raw"][1].keys, raw[1].keys, atol=1e-4)
