"""The model card of an engine: its rotation by numbers, which is the model's own, and its prefix."""

from functools import cache

import pytest
import torch
from kv_models import FAMILIES, encoder_of, tapped

from zibaldone.errors import ForeignKV, StorageUnusable, UnsupportedModel
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


def test_it_is_read_as_it_was_written(tmp_path):
    """Rotations, frequencies, prefix: a worker has what the owner had."""
    path = card_path(tmp_path, "print")
    card("gemma3").write(path)
    read = ModelCard.read(path)
    ours = card("gemma3")
    assert read.prefix_ids == ours.prefix_ids != ()
    assert all(torch.equal(a.keys, b.keys) for a, b in zip(read.prefix, ours.prefix, strict=True))
    for there, here in zip(read.layers, ours.layers, strict=True):
        keys = keys_of(here)
        assert torch.equal(there.rotate(keys[None], AT), here.rotate(keys[None], AT))
    assert [path.name for path in path.parent.iterdir()] == [path.name]


def test_another_model_is_told_apart(tmp_path):
    """By its configuration; the sentence says what differs."""
    path = card_path(tmp_path, "print")
    card("llama").write(path)
    ModelCard.read(path).check(tapped("llama").model.config)
    with pytest.raises(ForeignKV, match="model_type llama and qwen2"):
        ModelCard.read(path).check(tapped("qwen2").model.config)


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
