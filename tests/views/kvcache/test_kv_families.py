"""Families that differ from the others in how attention is called: what is theirs alone."""

import pytest
import torch
from kv_models import CONTEXT, IDS, PAD, captured, encoder_of, gptj, gptj_is_handed_tables, logits, new_model
from kv_models import FAMILIES as TINY
from transformers import GPTNeoXConfig, JetMoeConfig

from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.model.attention_hooks import Tap
from zibaldone.views.kvcache.model.encoding import cut

TEXT = torch.tensor([IDS])
FAMILIES = {
    "gpt-neox": lambda: GPTNeoXConfig(
        vocab_size=120,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=256,
        pad_token_id=PAD,
    ),
    "jetmoe": lambda: JetMoeConfig(
        vocab_size=120,
        hidden_size=64,
        num_hidden_layers=2,
        num_key_value_heads=2,
        kv_channels=16,
        intermediate_size=64,
        num_local_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=256,
        pad_token_id=PAD,
    ),
}


@pytest.fixture(scope="module", params=FAMILIES)
def tap(request):
    """A random model of the family."""
    return Tap(new_model(FAMILIES[request.param]()))


def put_back(tap):
    """How far logits behind keys that were captured and put back are from those of the whole text."""
    full = logits(tap.model, TEXT)[:, CONTEXT:]
    found = logits(tap.model, TEXT[:, CONTEXT:], tap.cache_of([captured(tap, TEXT[:, :CONTEXT])]))
    return (found - full).abs().max() / full.abs().max()


def test_put_back(tap):
    """But for rounding, they are the same."""
    assert put_back(tap) <= 1e-5


def test_norms_that_keep_nothing_of_a_dimension():
    """As in Gemma 3 270M: of a pair one dimension, or both."""
    model = new_model(TINY["gemma3"]())
    for layer in model.model.layers:
        layer.self_attn.k_norm.weight.data[[3, 5, 13]] = -1.0
    tap = Tap(model)
    assert put_back(tap) <= 1e-5


@pytest.mark.skipif(not gptj_is_handed_tables(), reason="GPT-J makes its own tables before Transformers 5.24")
def test_tables_with_sines_first():
    assert put_back(Tap(new_model(gptj()))) <= 1e-5


def test_injected_memory(tap):
    """Memory that a layer is handed in its pass counts as memory that stands in its cache."""
    raw = captured(tap, TEXT[:, :CONTEXT])
    full = logits(tap.model, TEXT)[:, CONTEXT:]
    rest = TEXT[:, CONTEXT:]
    with tap.open(inject=lambda layer, _: cut(raw, 0)[layer]), torch.no_grad():
        found = tap.model(
            input_ids=rest,
            attention_mask=torch.ones_like(TEXT),
            **cache_argument(tap.model, tap.cache(promised=CONTEXT)),
            use_cache=True,
        ).logits.float()
    assert encoder_of(tap).window == 256
    assert (found - full).abs().max() <= 1e-4 * full.abs().max()
