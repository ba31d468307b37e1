"""KVMemory with all of the log in sight answers as the untouched model does to all of it as a prompt."""

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
    Heard,
    behind,
    encoder_of,
    new_model,
    stock,
    tapped,
    tokenizer,
    words,
)

from zibaldone.api.kv import KVMemory

TURNS = [words(IDS[start : start + 10]) for start in range(0, CONTEXT, 10)]


@pytest.fixture
def remembering(memory, monkeypatch):
    """A KVMemory that has all of the text, and a spy on what reaches the model's generate."""
    model, seen = new_model(FAMILIES["llama"]()), []
    right = model.generate
    monkeypatch.setattr(model, "generate", lambda **given: seen.append(given) or right(**given))
    memory.add(TURNS, user="ann", session="s")
    with KVMemory(model, tokenizer(), memory, config=WHOLE, format=FORM) as kv:
        kv.seen = seen
        yield kv


def all_said(answers):
    return [tuple(int(word[1:]) for word in text.split()) for text in answers]


@pytest.mark.parametrize(
    "options",
    [{}, {"num_beams": 3, "num_return_sequences": 2}, {"do_sample": True, "temperature": 1.3}],
    ids=["greedy", "beams", "sampled"],
)
def test_an_answer_with_all_in_sight(remembering, options):
    """With room for every block: the same words, however they are chosen."""
    given = {**TEN, **options, "suppress_tokens": [0, BOS]}
    with torch.random.fork_rng():
        torch.manual_seed(3)
        found = remembering.generate(words(ASKED), user="ann", budget_tokens=1000, **given)
        encoder = encoder_of(tapped("llama"))
        torch.manual_seed(3)
        assert all_said(found.texts) == behind(stock("llama"), encoder, IDS[:CONTEXT], **given)
    assert found.text == found.texts[0]
    assert found.kv_tokens == CONTEXT
    assert found.prefill_tokens == QUESTION
    assert [one.text for one in found.citations] == TURNS


def test_options_reach_the_model(remembering):
    """Options that generate() does not know go to the model's own."""
    heard = Heard()
    options = {"streamer": heard, "repetition_penalty": 1.5, "do_sample": True}
    remembering.generate(words(ASKED), user="ann", max_new_tokens=3, **options)
    (given,) = remembering.seen
    assert given["max_new_tokens"] == 3
    assert given["repetition_penalty"] == 1.5
    assert given["do_sample"] is True
    assert heard.ids[:QUESTION] == list(ASKED)
