"""Generation from memory is the stock generation behind the whole text, whatever its options."""

import pytest
import torch
from kv_models import (
    ASKED,
    CONTEXT,
    EOS,
    FAMILIES,
    IDS,
    QUESTION,
    TEN,
    Heard,
    behind,
    context_of,
    encoder_of,
    new_model,
    stock,
    tapped,
)

from zibaldone import InvalidInput
from zibaldone.views.kvcache.generate.generation import LayeredPrompt, generate, room_for
from zibaldone.views.kvcache.model.attention_hooks import Tap


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("catch", [False, True])
def test_greedy(family, catch):
    """The same tokens as behind the whole text, whether keys are caught meanwhile or not."""
    encoder = encoder_of(tapped(family))
    found = generate(encoder, context_of(encoder), catch=catch, options={"do_sample": False, **TEN})
    assert list(found.sequences) == behind(stock(family), encoder, IDS[:CONTEXT], **TEN)
    assert found.prefill_tokens == QUESTION
    assert (found.raw is not None) is catch


SAMPLED = {"do_sample": True, "temperature": 1.3, "top_k": 40, "top_p": 0.95, **TEN}


@pytest.mark.parametrize("more", [{}, {"num_return_sequences": 3}], ids=["one", "three"])
def test_sampling(more):
    """With the same seed the same tokens are drawn."""
    encoder = encoder_of(tapped("llama"))
    context = context_of(encoder)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        found = generate(encoder, context, catch=False, options=SAMPLED | more)
        torch.manual_seed(7)
        assert list(found.sequences) == behind(stock("llama"), encoder, IDS[:CONTEXT], **SAMPLED | more)
    assert len(set(found.sequences)) == more.get("num_return_sequences", 1)


@pytest.mark.parametrize("returned", [1, 2])
@pytest.mark.parametrize("family", ["llama", "mistral-sliding", "gemma3"])
def test_beams(family, returned):
    """Three beams, of which one or two are returned."""
    encoder = encoder_of(tapped(family))
    options = {"num_beams": 3, "num_return_sequences": returned, "do_sample": False, **TEN}
    found = generate(encoder, context_of(encoder), catch=True, options=options)
    assert list(found.sequences) == behind(stock(family), encoder, IDS[:CONTEXT], **options)
    assert found.raw is None


@pytest.mark.parametrize("catch", [False, True])
def test_streaming(catch):
    """Tokens come one by one: first the question, as stock generate does it, then the answer."""
    encoder, heard = encoder_of(tapped("llama")), Heard()
    options = {"do_sample": False, "streamer": heard, **TEN}
    found = generate(encoder, context_of(encoder), catch=catch, options=options)
    assert heard.ids == [*ASKED, *found.sequences[0]]
    assert heard.ended


def test_the_end_mark():
    """An answer ends before the mark of the end, which is no part of it."""
    encoder = encoder_of(tapped("llama"))
    options = {"max_new_tokens": 6, "forced_eos_token_id": EOS, "suppress_tokens": [0], "do_sample": False}
    found = generate(encoder, context_of(encoder), catch=False, options=options)
    assert EOS not in found.sequences[0]
    assert len(found.sequences[0]) == 5


def test_beams_of_the_model_s_own_settings():
    """Beams that the model's generation config asks for are as good as those of an option."""
    model = new_model(FAMILIES["llama"]())
    encoder = encoder_of(Tap(model))
    model.generation_config.num_beams = 3
    found = generate(encoder, context_of(encoder), catch=False, options={"do_sample": False, **TEN})
    assert list(found.sequences) == behind(stock("llama"), encoder, IDS[:CONTEXT], num_beams=3, **TEN)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("more", [{}, {"num_beams": 2}], ids=["greedy", "beams"])
@pytest.mark.wide
def test_layered(family, more):
    """Layers that each choose all of the memory in one pass say what the whole text says."""
    encoder = encoder_of(tapped(family))
    memory = encoder.run(IDS[:CONTEXT], [])
    options = {"do_sample": False, **TEN, **more}
    prompt = LayeredPrompt(ASKED, CONTEXT, lambda layer, queries: memory[layer])
    found = generate(encoder, prompt, catch=False, options=options)
    encoder.prefix_ids = ()  # each layer's choice is all there is
    assert list(found.sequences) == behind(stock(family), encoder, IDS[:CONTEXT], **options)


def test_layers_choose_with_their_own_queries():
    """The function that chooses for a layer is handed the raw queries of that layer."""
    encoder = encoder_of(tapped("llama"))
    memory, asked = encoder.run(IDS[:CONTEXT], []), {}

    def choose(layer, queries):
        asked[layer] = queries
        return memory[layer]

    prompt = LayeredPrompt(ASKED, CONTEXT, choose)
    generate(encoder, prompt, catch=False, options={"do_sample": False, **TEN})
    assert sorted(asked) == [0, 1]
    assert all(queries.shape == (4, QUESTION, 16) for queries in asked.values())


def test_room():
    """Room is the window less prefix, question and answer; a question that leaves none is refused."""
    encoder = encoder_of(tapped("llama"))
    assert room_for(encoder, ASKED, 40) == 256 - 1 - QUESTION - 40
    with pytest.raises(InvalidInput, match="window of 256"):
        room_for(encoder, ASKED, 250)
