"""A model that is given back, or whose keys cannot be moved and which is refused, is left as it was."""

from contextlib import contextmanager, nullcontext

import pytest
import torch
from kv_models import (
    CONTEXT,
    FAMILIES,
    SHAPE,
    captured,
    hooks,
    logits,
    new_model,
    scaled,
    some_ids,
)
from transformers import (
    DeepseekV3Config,
    FalconConfig,
    Gemma3nTextConfig,
    GPT2Config,
    JetMoeConfig,
    Llama4TextConfig,
    LlamaConfig,
    Qwen2Config,
    Qwen3NextConfig,
    T5Config,
)
from transformers.models.llama import modeling_llama

from zibaldone.errors import UnsupportedModel
from zibaldone.views.kvcache.model.attention_hooks import Tap
from zibaldone.views.kvcache.model.inspection import Rotation, check_config

SMALL = {"vocab_size": 120, "hidden_size": 64, "num_hidden_layers": 2}
NARROW = {
    "kv_lora_rank": 16,
    "q_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
}
ROUTED = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1}
REFUSED = {
    "dynamic-ntk": (
        lambda: LlamaConfig(**SHAPE, rope_parameters=scaled("dynamic", factor=4.0)),
        "dynamic NTK.*fixed rope type",
    ),
    "mla": (
        lambda: DeepseekV3Config(
            **SHAPE | {"num_key_value_heads": 4}, **NARROW, **ROUTED, moe_intermediate_size=32
        ),
        "latent",
    ),
    "linear": (
        lambda: Qwen3NextConfig(**SHAPE, head_dim=16, layer_types=["linear_attention", "full_attention"]),
        "layers of kind linear_attention",
    ),
    "chunked": (lambda: Llama4TextConfig(**SHAPE, head_dim=16), "layers of kind chunked_attention"),
    "gpt2": (
        lambda: GPT2Config(vocab_size=120, n_embd=64, n_layer=2, n_head=4),
        "only 0 of the 2 layers of GPT2LMHeadModel",
    ),
    "falcon": (
        lambda: FalconConfig(**SMALL, num_attention_heads=4, alibi=False),
        "does not take another attention function",
    ),
    "falcon-alibi": (
        lambda: FalconConfig(**SMALL, num_attention_heads=4, alibi=True),
        "biases by distance",
    ),
    "jetmoe": (
        lambda: JetMoeConfig(**SHAPE, kv_channels=16, num_local_experts=4, num_experts_per_tok=2),
        "repeats keys before its attention",
    ),
    "several-positions": (
        lambda: Qwen2Config(**SHAPE, rope_parameters=scaled("default", mrope_section=[2, 3, 3])),
        "several dimensions",
    ),
}
CONFIGS = {
    "shared-keys": (lambda: Gemma3nTextConfig(num_kv_shared_layers=2), "reuse the keys"),
    "longrope": (lambda: _with("rope_parameters", {"rope_type": "longrope"}), "longrope"),
    "old-rope-key": (lambda: _with("rope_parameters", {"type": "dynamic", "factor": 2.0}), "dynamic NTK"),
    "per-kind": (
        lambda: _with(
            "rope_parameters",
            {"full_attention": {"rope_type": "dynamic"}, "sliding_attention": {"rope_type": "default"}},
        ),
        "dynamic NTK",
    ),
    "encoder-decoder": (lambda: T5Config(), "encoder-decoder"),
}


def _with(name, value):
    config = LlamaConfig(**SHAPE)
    object.__setattr__(config, name, value)
    return config


@contextmanager
def left_as_it_was(model, reason=""):
    """In the end hooks, attention and logits are what they were; with a reason, attaching is refused."""
    ids = some_ids(12)
    attention, before, first = model.config._attn_implementation, hooks(model), stock_logits(model, ids)
    with pytest.raises(UnsupportedModel, match=reason) if reason else nullcontext():
        yield
    assert (hooks(model), model.config._attn_implementation) == (before, attention)
    assert torch.equal(stock_logits(model, ids), first)


@torch.no_grad()
def stock_logits(model, ids):
    """Of one pass without a cache or a mask, which not every family takes."""
    return model(input_ids=ids, use_cache=False).logits


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt-oss"])
def test_detached(family):
    """Given back, the model is as it was; twice is as once."""
    model = new_model(FAMILIES[family]())
    with left_as_it_was(model):
        before = hooks(model)
        tap = Tap(model)
        assert hooks(model) > before
        tap.detach()
        tap.detach()


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.wide
def test_refused(kind):
    """The reason is said, and the model is left as it was."""
    config, reason = REFUSED[kind]
    model = new_model(config())
    with left_as_it_was(model, reason):
        Tap(model)


@pytest.mark.parametrize("kind", CONFIGS)
def test_refused_by_configuration(kind):
    """A refusal by the configuration needs no pass of the model."""
    config, reason = CONFIGS[kind]
    with pytest.raises(UnsupportedModel, match=reason):
        check_config(config())


def _hybrid(model, _):
    """Only some layers have rotary attention with a cache."""
    model.model.layers[1].self_attn.layer_idx = None


def _bent(_, monkeypatch):
    """Layers turn keys in a way that no layout explains."""
    right = modeling_llama.apply_rotary_pos_emb

    def bent(q, k, cos, sin, *args, **kwargs):
        q, k = right(q, k, cos, sin, *args, **kwargs)
        return q, k + 0.1 * sin.unsqueeze(1) ** 2

    monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", bent)


def _turned_back(_, monkeypatch):
    """Our rotation is not the model's."""
    right = Rotation.apply
    monkeypatch.setattr(Rotation, "apply", lambda self, x, cos, sin: right(self, x, cos, -sin))


def _moved(_, monkeypatch):
    """Keys are put back one position too far."""
    right = Tap.cache_of
    monkeypatch.setattr(Tap, "cache_of", lambda tap, parts, **more: right(tap, parts, 1, **more))


@pytest.mark.parametrize(
    ("make_wrong", "reason"),
    [
        (_hybrid, "only 1 of the 2 layers"),
        (_bent, "of a kind that the kv view does not know"),
        (_turned_back, "."),
        (_moved, "change its logits by"),
    ],
)
def test_what_cannot_be_verified_is_given_back(make_wrong, reason, monkeypatch):
    """A closed door, not wrong keys; and the model is left as it was."""
    model = new_model(FAMILIES["llama"]())
    make_wrong(model, monkeypatch)
    with left_as_it_was(model, reason):
        Tap(model)


def test_a_second_tap_is_refused():
    """One tap at a time: the second is refused, and the first goes on as before."""
    model, ids = new_model(FAMILIES["llama"]()), some_ids()
    full = logits(model, ids)[:, CONTEXT:]
    with left_as_it_was(model):
        first = Tap(model)
        with pytest.raises(UnsupportedModel, match="attached already"):
            Tap(model)
        found = logits(model, ids[:, CONTEXT:], first.cache_of([captured(first, ids[:, :CONTEXT])]))
        assert (found - full).abs().max() <= 1e-5 * full.abs().max()
        first.detach()
