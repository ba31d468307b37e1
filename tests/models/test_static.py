"""The embedded embedder's tokens: counted word by word, and the same as those of whole texts."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.models.static import _sum_of_rows, shared_static_embedder
from zibaldone.text.remembered import forget_texts

_WORDS = "a the ing é 犬 😀 ▁ ▁a ... 0 </s> <s> <unk> == { Hello".split()
_PARTS = st.sampled_from([*_WORDS, "x" * 40, " ", "  ", "    ", "\n", "\t", "\r\n", "\u00a0", "\u200d", "\0"])


@given(parts=st.lists(_PARTS | st.text(max_size=6), max_size=30))
@settings(max_examples=300, deadline=None)
def test_tokens_of_words_are_those_of_the_text(parts):
    """No token reaches over a border between words, whatever stands there."""
    embedder, text = shared_static_embedder(), "".join(parts)
    whole = embedder._tokenizer.encode(text, add_special_tokens=False).ids
    assert list(chain.from_iterable(embedder._tokens(text))) == whole
    assert embedder.count([text]) == [len(whole)]


def test_words_are_not_kept_when_something_is_forgotten():
    """What was tokenized before is not in memory afterwards."""
    embedder = shared_static_embedder()
    embedder.count(["marmalade zibibbo"])
    known = (embedder._pieces, embedder._words, embedder._counts)
    assert [" zibibbo" in known[0], "zibibbo" in known[1], "zibibbo" in known[2]] == [True] * 3
    forget_texts()
    assert [len(words) for words in known] == [0, 0, 0]


@pytest.mark.parametrize("rows", [*range(1, 20), 100, 128, 129, 130, 257, 1000, 3000])
def test_sums_are_those_that_numpy_makes_of_columns(rows):
    """Bit for bit: vectors that were stored by an earlier version compare with those of this one."""
    numbers = np.random.default_rng(rows).standard_normal((rows, 16)).astype(np.float32)
    assert np.array_equal(_sum_of_rows(numbers), np.add.reduceat(numbers, [0], axis=0)[0])
