"""Models whose keys cannot be moved are refused with the reason, and left as they were."""

import pytest
import torch
from kv_models import FAMILIES, SHAPE, gptj, gptj_is_handed_tables, hooks, logits, new_model, scaled, some_ids
from transformers import (
    BloomConfig,
    DeepseekV3Config,
    FalconConfig,
    Gemma3nTextConfig,
    GPT2Config,
    Llama4TextConfig,
    LlamaConfig,
    MambaConfig,
    OPTConfig,
    Qwen2Config,
    Qwen3NextConfig,
    T5Config,
)

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
    "mamba": (lambda: MambaConfig(**SMALL), "layers of kind linear_attention"),
    "gpt2": (
        lambda: GPT2Config(vocab_size=120, n_embd=64, n_layer=2, n_head=4),
        "GPT2LMHeadModel has no rotary positions",
    ),
    "opt": (
        lambda: OPTConfig(**SMALL, num_attention_heads=4, ffn_dim=64),
        "OPTForCausalLM has no rotary positions",
    ),
    "bloom": (
        lambda: BloomConfig(vocab_size=120, hidden_size=64, n_layer=2, n_head=4),
        "no rotary positions.*ALiBi",
    ),
    "falcon": (
        lambda: FalconConfig(**SMALL, num_attention_heads=4, alibi=False),
        "does not take another attention function",
    ),
    "falcon-alibi": (
        lambda: FalconConfig(**SMALL, num_attention_heads=4, alibi=True),
        "no rotary positions.*ALiBi",
    ),
    "gptj": (gptj, "make their rotary tables themselves"),
    "several-positions": (
        lambda: Qwen2Config(**SHAPE, rope_parameters=scaled("default", mrope_section=[2, 3, 3])),
        "several dimensions",
    ),
}
CONFIGS = {
    "shared-keys": (lambda: Gemma3nTextConfig(num_kv_shared_layers=2), "reuse the keys"),
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


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.wide
def test_refused(kind):
    """The reason is said; hooks, attention and logits are what they were."""
    if kind == "gptj" and gptj_is_handed_tables():
        pytest.skip("since Transformers 5.24 GPT-J is handed its tables: see test_kv_families")
    config, reason = REFUSED[kind]
    model, ids = new_model(config()), some_ids(12)
    attention, before = model.config._attn_implementation, hooks(model)
    with torch.no_grad():
        first = model(input_ids=ids).logits
    with pytest.raises(UnsupportedModel, match=reason):
        Tap(model)
    assert hooks(model) == before
    assert model.config._attn_implementation == attention
    with torch.no_grad():
        assert torch.equal(model(input_ids=ids).logits, first)


@pytest.mark.parametrize("kind", CONFIGS)
def test_refused_by_configuration(kind):
    """A refusal by the configuration needs no pass of the model."""
    config, reason = CONFIGS[kind]
    with pytest.raises(UnsupportedModel, match=reason):
        check_config(config())


def test_a_hybrid():
    """A model of which only some layers have rotary attention with a cache is refused with their number."""
    model = new_model(FAMILIES["llama"]())
    model.model.layers[1].self_attn.layer_idx = None
    with pytest.raises(UnsupportedModel, match="only 1 of the 2 layers"):
        Tap(model)
    assert hooks(model) == 0


def test_a_layer_that_turns_otherwise(monkeypatch):
    """A family whose layers turn keys in a way that no layout explains is refused, and left as it was."""
    module = __import__("transformers.models.llama.modeling_llama", fromlist=["apply_rotary_pos_emb"])
    right = module.apply_rotary_pos_emb

    def bent(q, k, cos, sin, *args, **kwargs):
        q, k = right(q, k, cos, sin, *args, **kwargs)
        return q, k + 0.1 * sin.unsqueeze(1) ** 2

    model, ids = new_model(FAMILIES["llama"]()), some_ids(12)
    monkeypatch.setattr(module, "apply_rotary_pos_emb", bent)
    full = logits(model, ids)
    with pytest.raises(UnsupportedModel, match="of a kind that the kv view does not know"):
        Tap(model)
    assert hooks(model) == 0
    assert torch.equal(logits(model, ids), full)


def test_a_wrong_rotation_does_not_pass(monkeypatch):
    """Attaching fails when rotated keys are not what the model itself makes: a closed door, not wrong KV."""
    right = Rotation.apply
    monkeypatch.setattr(Rotation, "apply", lambda self, x, cos, sin: right(self, x, cos, -sin))
    with pytest.raises(UnsupportedModel):
        Tap(new_model(FAMILIES["llama"]()))
