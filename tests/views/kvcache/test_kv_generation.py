"""Generation from memory is the stock generation behind the whole text, and leaves the keys of encoding."""

import pytest
import torch
from kv_models import (
    ASKED,
    BOS,
    CONTEXT,
    EOS,
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
from zibaldone.views.kvcache.generate.generation import LayeredPrompt, complete_kv, generate

TURNS = [words(IDS[start : start + 10]) for start in range(0, CONTEXT, 10)]
GREEDY = {"do_sample": False, **TEN}
ENDED = {"max_new_tokens": 6, "forced_eos_token_id": EOS, "suppress_tokens": [0], "do_sample": False}


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
@pytest.mark.parametrize("catch", [False, True])
def test_greedy(family, catch):
    """The same tokens as behind the whole text, whether keys are caught meanwhile or not."""
    encoder = encoder_of(tapped(family))
    found = generate(encoder, context_of(encoder), catch=catch, options=GREEDY)
    assert [found.ids] == behind(stock(family), encoder, IDS[:CONTEXT], **TEN)
    assert found.prefill_tokens == QUESTION
    assert (found.raw is not None) is catch


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

    found = generate(encoder, LayeredPrompt(ASKED, CONTEXT, choose), catch=False, options=GREEDY)
    assert asked == {0: (4, QUESTION, 16), 1: (4, QUESTION, 16)}
    encoder.prefix_ids = ()  # each layer's choice is all there is
    assert [found.ids] == behind(stock(family), encoder, IDS[:CONTEXT], **TEN)


class Say:
    """A logits processor that makes the model say these ids."""

    def __init__(self, *ids):
        self.ids = list(ids)

    def __call__(self, ids, scores):
        """Leave one word to choose from."""
        forced = torch.full_like(scores, -torch.inf)
        forced[:, self.ids[ids.shape[1] - QUESTION]] = 0
        return forced


@pytest.mark.parametrize(
    ("family", "closing", "options"),
    [
        *((family, [EOS], TEN) for family in FAMILIES),
        ("llama", [EOS, 9], ENDED),
        ("llama", [9, 10, 11], {"max_new_tokens": 5, "logits_processor": [Say(7, 8, 0, 0, 0)]}),
        (
            "llama",
            [9, 10, 11],
            {"max_new_tokens": 5, "logits_processor": [Say(7, EOS, 8, 9, 10)], "eos_token_id": 11},
        ),
    ],
    ids=[*FAMILIES, "ended by itself", "the filling mark", "the tokenizer's end, which is not the model's"],
)
def test_what_a_generation_leaves(family, closing, options):
    """A turn commits its own keys: caught while answering, and finished, they are what encoding gives."""
    encoder = encoder_of(tapped(family))
    context = context_of(encoder)
    found = generate(encoder, context, catch=True, options={"do_sample": False, **options})
    ids = (*ASKED, *found.ids, *closing)
    left = complete_kv(encoder, context.parts(encoder), found.raw, ids, len(ids) - len(closing))
    for made, expected in zip(left, encoder.run(ids, context.parts(encoder)), strict=True):
        assert torch.allclose(made.keys, expected.keys, atol=1e-4)
        assert torch.allclose(made.values, expected.values, atol=1e-4)
