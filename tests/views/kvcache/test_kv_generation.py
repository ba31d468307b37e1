"""Generation from memory is the stock generation behind the whole text."""

import pytest
import torch
from kv_models import (
    ASKED,
    BOS,
    CONTEXT,
    FAMILIES,
    FORM,
    IDS,
    QUESTION,
    TEN,
    WHOLE,
    behind,
    context_of,
    encoder_of,
    new_model,
    stock,
    tapped,
    tokenizer,
    words,
)

from zibaldone.api.kv import KVMemory
from zibaldone.views.kvcache.generate.generation import behind_layers, generate

TURNS = [words(IDS[start : start + 10]) for start in range(0, CONTEXT, 10)]
GREEDY = {"do_sample": False, **TEN}


@pytest.mark.parametrize(
    "options",
    [{}, {"do_sample": True, "temperature": 1.3}],
    ids=["greedy", "sampled"],
)
def test_an_answer_with_all_in_sight(memory, options):
    """KVMemory with room for every block says the same words as the untouched model, however it is asked."""
    memory.add(TURNS, user="ann", session="s")
    given = {**TEN, **options, "suppress_tokens": [0, BOS]}
    with (
        KVMemory(new_model(FAMILIES["llama"]()), tokenizer(), memory, config=WHOLE, format=FORM) as kv,
        torch.random.fork_rng(),
    ):
        torch.manual_seed(3)
        found = kv.generate(words(ASKED), user="ann", budget_tokens=1000, **given)
        torch.manual_seed(3)
        expected = behind(stock("llama"), encoder_of(tapped("llama")), IDS[:CONTEXT], **given)
    assert [tuple(int(word[1:]) for word in found.text.split())] == expected
    assert (found.kv_tokens, found.prefill_tokens) == (CONTEXT, QUESTION)
    assert [one.text for one in found.citations] == TURNS


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy(family):
    """The same tokens as behind the whole text."""
    encoder = encoder_of(tapped(family))
    found = generate(encoder, context_of(encoder), GREEDY)
    assert [found] == behind(stock(family), encoder, IDS[:CONTEXT], **TEN)


@pytest.mark.parametrize(
    "family",
    [family if family == "llama" else pytest.param(family, marks=pytest.mark.wide) for family in FAMILIES],
)
def test_layered(family):
    """Layers that each choose all of the memory, for their own raw queries, say what the whole text says."""
    encoder, asked = encoder_of(tapped(family)), {}
    memory = encoder.run(IDS[:CONTEXT], [])

    def choose(layer, queries):
        asked[layer] = queries.shape
        return memory[layer]

    found = generate(encoder, behind_layers(encoder, ASKED, CONTEXT, choose), GREEDY)
    assert asked == {0: (4, QUESTION, 16), 1: (4, QUESTION, 16)}
    encoder.prefix_ids = ()  # each layer's choice is all there is
    assert [found] == behind(stock(family), encoder, IDS[:CONTEXT], **TEN)
