"""What an index is saved as."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.lexical import LexicalIndex
from zibaldone.search.saved import CompressedTexts, SavedIndex


@pytest.mark.parametrize(
    ("numbers", "bytes_each"),
    [([], 1), ([0, 255], 1), ([-1, 100], 1), ([256], 2), ([-200, 200], 2), ([1 << 16], 4), ([1 << 40], 8)],
)
def test_numbers_are_no_wider_than_they_are(numbers, bytes_each):
    """They come back as they were put there, as wide as any."""
    saved = SavedIndex()
    saved.put_numbers("some", np.array(numbers, dtype=np.int64))
    assert saved["some"].itemsize == bytes_each
    assert saved.numbers("some").tolist() == numbers
    assert saved.numbers("some").dtype == np.int64


@given(st.lists(st.text(max_size=20), max_size=70), st.lists(st.integers(0, 70), max_size=3))
def test_long_texts(texts, cuts):
    """However many were put behind how many others, and taken out, they are read as they were."""
    cuts = [0, *sorted(min(cut, len(texts)) for cut in cuts), len(texts)]
    saved = SavedIndex()
    parts = [CompressedTexts.of(texts[start:end]) for start, end in pairwise(cuts)]
    saved.put_long_texts("all", CompressedTexts.joined(parts))
    read = saved.long_texts("all")
    assert list(read) == texts
    assert [read[place] for place in reversed(range(len(texts)))] == texts[::-1]
    mask = np.array([len(text) % 3 > 0 for text in texts], dtype=bool)
    assert list(read.keep(mask)) == [text for text in texts if len(text) % 3 > 0]


def test_long_texts_are_compressed():
    """What comes again and again takes a third at most."""
    texts = [f"On day {day} we walked from the harbour to the lighthouse again." for day in range(200)]
    saved = SavedIndex()
    saved.put_long_texts("all", CompressedTexts.of(texts))
    assert sum(array.nbytes for array in saved.arrays.values()) < len("".join(texts)) / 3


def test_postings_that_are_far_from_each_other():
    """Rows further apart than two bytes tell are found, and counted, as before they were saved."""
    index = LexicalIndex()
    rare, last = {0: 2, 65_535: 1, 131_071: 3, 199_999: 1}, 199_999
    index.extend(
        [
            [*["rare"] * rare.get(row, 0), *["late"] * (row == last), *["all"] * (row % 50_000 == 7)]
            for row in range(last + 1)
        ]
    )
    saved = SavedIndex()
    index.save(saved)
    opened = LexicalIndex([saved])
    for one in (index, opened):
        assert one.postings("rare")[0].tolist() == list(rare)
        assert one.postings("rare")[1].tolist() == list(rare.values())
        assert [one.df(term) for term in ("rare", "late", "all", "none")] == [4, 1, 4, 0]
        assert one.postings("late")[0].tolist() == [last]
    opened.extend([["rare"]])
    assert opened.postings("rare")[0].tolist() == [*rare, last + 1]
    opened.keep(np.arange(last + 2) != 65_535)
    assert opened.postings("rare")[0].tolist() == [0, 131_070, 199_998, 199_999]
