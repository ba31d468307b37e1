"""A model with a tap that is not open is as it was, in every thread; given back, it is so for good."""

import threading

import pytest
import torch
from kv_models import CONTEXT, FAMILIES, captured, hooks, logits, new_model, stock, tapped
from kv_models import IDS as WORDS
from transformers import DynamicCache

from zibaldone.errors import UnsupportedModel
from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.model.attention_hooks import Tap

IDS = torch.tensor([WORDS])
EACH = pytest.mark.parametrize("family", FAMILIES)


@EACH
def test_an_open_tap_changes_no_logits(family):
    """A pass under the tap, which rotates by itself, gives the stock logits."""
    tap, full = tapped(family), logits(stock(family), IDS)
    with tap.open():
        found = logits(tap.model, IDS, tap.cache())
    assert (found - full).abs().max() <= 1e-5 * full.abs().max()


@EACH
def test_detached(family):
    """The model is as it was: no hooks, its own attention, the same logits."""
    model = new_model(FAMILIES[family]())
    attention, before = model.config._attn_implementation, hooks(model)
    full = logits(model, IDS)
    tap = Tap(model)
    assert hooks(model) > before
    tap.detach()
    tap.detach()
    assert hooks(model) == before
    assert model.config._attn_implementation == attention
    assert torch.equal(logits(model, IDS), full)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_attention_functions(attention):
    """The tap stands before whichever function the model was loaded with, and gives it back."""
    model = new_model(FAMILIES["llama"]())
    model.set_attn_implementation(attention)
    full = logits(model, IDS)
    tap = Tap(model)
    cache = tap.cache_of([captured(tap, IDS[:, :CONTEXT])])
    found = logits(model, IDS[:, CONTEXT:], cache)
    assert (found - full[:, CONTEXT:]).abs().max() <= 1e-5 * full.abs().max()
    tap.detach()
    assert model.config._attn_implementation == attention


def test_threads():
    """A tap that is open in one thread is not open in another."""
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
            mask = torch.ones_like(IDS)
            with torch.no_grad():
                tap.model(input_ids=IDS[:, CONTEXT:], **cache_argument(tap.model, cache), attention_mask=mask)
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


def test_a_model_that_cannot_be_verified_is_given_back(monkeypatch):
    """When the check fails the model is left without hooks and with its own attention."""
    model = new_model(FAMILIES["llama"]())
    full, attention = logits(model, IDS), model.config._attn_implementation
    right = Tap.cache_of
    wrong = lambda tap, parts, **more: right(tap, parts, 1, **more)  # noqa: E731 - one position too far
    monkeypatch.setattr(Tap, "cache_of", wrong)
    with pytest.raises(UnsupportedModel, match="change its logits by"):
        Tap(model)
    assert hooks(model) == 0
    assert model.config._attn_implementation == attention
    assert torch.equal(logits(model, IDS), full)


def test_a_second_tap_is_refused():
    """One tap at a time: the second is refused, and the first goes on as before."""
    model = new_model(FAMILIES["llama"]())
    full = logits(model, IDS)
    first = Tap(model)
    before = hooks(model)
    with pytest.raises(UnsupportedModel):
        Tap(model)
    assert hooks(model) == before
    cache = first.cache_of([captured(first, IDS[:, :CONTEXT])])
    assert (logits(model, IDS[:, CONTEXT:], cache) - full[:, CONTEXT:]).abs().max() <= 1e-5 * full.abs().max()
    first.detach()
    assert hooks(model) == 0
    assert torch.equal(logits(model, IDS), full)
