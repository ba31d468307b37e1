"""The model card of an engine: its rotation by numbers, which is the model's own, and its prefix."""

from functools import cache

import pytest
import torch
from kv_models import FAMILIES, encoder_of, tapped

from zibaldone.errors import StorageUnusable, UnsupportedModel
from zibaldone.views.kvcache.serving.model_card import ModelCard, card_of, card_path

AT = torch.tensor([0, 1, 5, 30, 31, 77, 200])


@cache
def card(family, dtype="fp32"):
    return card_of(encoder_of(tapped(family, dtype)))


def keys_of(layer, dtype=torch.float32):
    shape = (layer.kv_heads, len(AT), layer.key_dim)
    return torch.randn(shape, generator=torch.Generator().manual_seed(2)).to(dtype)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_keys_are_rotated_as_the_model_does(family, dtype):
    """Bit for bit in every layer, from frequencies alone."""
    tap = tapped(family, dtype)
    for number, layer in enumerate(card(family, dtype).layers):
        keys = keys_of(layer, tap.shapes[number].dtype)
        assert torch.equal(layer.rotate(keys[None], AT)[0], tap.rotate(number, keys[None], AT, 256)[0])


def test_no_card(tmp_path):
    """An engine that was given another folder says so."""
    path = card_path(tmp_path, "print")
    with pytest.raises(StorageUnusable, match=r"KVMemory.prompt\(\) writes it"):
        ModelCard.read(path)
    path.parent.mkdir()
    path.write_bytes(b"not one")
    with pytest.raises(StorageUnusable):
        ModelCard.read(path)


def test_tables_of_no_fixed_frequencies(monkeypatch):
    """Are refused: an engine could not be told them."""
    tap = tapped("llama")
    monkeypatch.setattr(type(tap), "inverse_frequencies", lambda self, index: [torch.ones(8)])
    with pytest.raises(UnsupportedModel, match="fixed frequencies"):
        card_of(encoder_of(tap))
