"""The embedded embedder: tokens counted word by word, and rows of its table read when they are asked for."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from zibaldone.models import static
from zibaldone.models.static import _sum_of_rows, shared_static_embedder
from zibaldone.text.purgeable_cache import forget_texts

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


@pytest.fixture
def table():
    """The embedder's file, of which nothing was asked for yet, and its numbers as the library reads them."""
    folder = Path(find_spec("wordllama").origin).parent
    (numbers,) = load_file(folder / static._WEIGHTS).values()
    return static._Table(folder / static._WEIGHTS), numbers.astype(np.float32)


@given(asked=st.lists(st.lists(st.integers(0, 31_999), min_size=1, max_size=20), max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
def test_rows_are_those_of_the_file(table, asked):
    """Whichever were asked for before."""
    rows, numbers = table
    for ids in [*asked, [5] * 2, range(2000), [31_999, 0]]:
        np.testing.assert_array_equal(rows.rows(ids), numbers[ids])


def test_only_rows_that_were_asked_for_are_in_memory(table):
    """Not the whole table, which takes 32 MB."""
    rows, _ = table
    rows.rows([7, 31_000, 7])
    assert rows._plain.nbytes == 1024 * 1024


def test_rows_asked_for_by_many_threads(table):
    """No thread gets numbers of another row while more of them are read."""
    rows, numbers = table
    draws = np.random.default_rng(1).integers(0, 32_000, size=(400, 50))
    with ThreadPoolExecutor(8) as pool:
        for ids, given_rows in zip(draws, pool.map(rows.rows, draws), strict=True):
            np.testing.assert_array_equal(given_rows, numbers[ids])


def test_the_known_digest_is_that_of_the_numbers(table, monkeypatch):
    """A file that is not known is digested, and one with the same numbers has the same name."""
    rows, numbers = table
    known = rows.digest()
    assert known in static._DIGESTS.values()
    monkeypatch.setattr(static, "_DIGESTS", {})
    assert rows.digest() == known == blake2b(numbers.data, digest_size=6).hexdigest()
