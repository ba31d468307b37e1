"""Keys that a generation computed are those that encoding gives: a turn commits its own keys."""

import pytest
import torch
from kv_models import ASKED, EOS, FAMILIES, QUESTION, TEN, context_of, encoder_of, tapped

from zibaldone.views.kvcache.generate.generation import complete_kv, generate


def same(first, second):
    return all(
        torch.allclose(a.keys, b.keys, atol=1e-4) and torch.allclose(a.values, b.values, atol=1e-4)
        for a, b in zip(first, second, strict=True)
    )


def leaves_its_keys(family, closing, **options):
    """True if keys caught while answering, finished with what closes the turn, are what encoding gives."""
    encoder = encoder_of(tapped(family))
    context = context_of(encoder)
    found = generate(encoder, context, catch=True, options={"do_sample": False, **options})
    said = (*ASKED, *found.sequences[0])
    left = complete_kv(encoder, context.parts(encoder), found.raw, (*said, *closing), len(said))
    return same(left, encoder.run((*said, *closing), context.parts(encoder)))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_generation_leaves(family):
    """A turn commits its own keys."""
    assert leaves_its_keys(family, [EOS], **TEN)


def test_what_an_ended_answer_leaves():
    """Also where the model ended by itself."""
    ended = {"max_new_tokens": 6, "forced_eos_token_id": EOS, "suppress_tokens": [0]}
    assert leaves_its_keys("llama", [EOS, 9], **ended)


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
    ("said", "more"),
    [((7, 8, 0, 0, 0), {}), ((7, EOS, 8, 9, 10), {"eos_token_id": 11})],
    ids=["the filling mark", "the tokenizer's end, which is not the model's"],
)
def test_what_an_answer_with_marks_leaves(said, more):
    """Keys belong to the tokens that are stored for them, also where marks were cut from the answer."""
    assert leaves_its_keys("llama", [9, 10, 11], max_new_tokens=5, logits_processor=[Say(*said)], **more)
