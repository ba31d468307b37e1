"""The inverted index, against counting by hand."""

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.lexical import K1, B, LexicalIndex

TERM = st.sampled_from(["bassoon", "lisbon", "犬が", "ё", "a", ""])
ROWS = st.lists(st.lists(TERM, max_size=12), max_size=15)


def indexed(rows):
    """An index of these rows."""
    index = LexicalIndex()
    for row in rows:
        index.append(row)
    return index


def naive_bm25(rows, query):
    """Robertson and Zaragoza 2009, eq. 3.15, one row at a time; idf as Lucene has it, never negative."""
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        score = 0.0
        for term in query:
            df = sum(term in other for other in rows)
            tf = row.count(term)
            idf = math.log(1 + (len(rows) - df + 0.5) / (df + 0.5))
            score += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * len(row) / max(mean, 1e-9)) or 1)
        scores.append(score)
    return scores


def bm25(index, query):
    """The same from what the index keeps."""
    lengths = index.lengths().astype(np.float64)
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1e-9))
    scores = np.zeros(len(index))
    for term in query:
        rows, frequencies = index.postings(term)
        scores[rows] += index.idf(term) * frequencies * (K1 + 1) / (frequencies + norm[rows])
    return scores


@given(ROWS.filter(bool), st.lists(TERM, max_size=4))
def test_bm25_equals_the_naive_one(rows, query):
    """Postings, frequencies, lengths and idf give the score that counting by hand gives."""
    np.testing.assert_allclose(bm25(indexed(rows), query), naive_bm25(rows, query), rtol=1e-6, atol=1e-9)


@given(ROWS)
def test_postings_are_what_stands_in_the_rows(rows):
    """Every term's rows rise, with its count in each; a term that never occurred has none."""
    index = indexed(rows)
    assert len(index) == len(rows)
    assert index.lengths().tolist() == [len(row) for row in rows]
    for term in {term for row in rows for term in row} | {"never"}:
        expected = [(i, Counter(row)[term]) for i, row in enumerate(rows) if term in row]
        found = index.postings(term)
        assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected
        assert index.df(term) == len(expected)


@given(ROWS.filter(bool), st.lists(TERM, max_size=4), st.integers(0, 15))
def test_growing_equals_building_at_once(rows, query, asked_after):
    """An index that was asked while it grew answers as one that was made in one go."""
    index = indexed(rows[:asked_after])
    if len(index):
        bm25(index, query)
    for row in rows[asked_after:]:
        index.append(row)
    assert (bm25(index, query) == bm25(indexed(rows), query)).all()


def test_what_is_given_out_is_a_copy():
    """Postings and lengths stay as they were while the index grows."""
    index = indexed([["a"], ["a"]])
    rows, frequencies = index.postings("a")
    lengths = index.lengths()
    index.append(["a", "a"])
    frequencies += 1
    assert (rows.tolist(), lengths.tolist()) == ([0, 1], [1, 1])
    assert index.postings("a")[1].tolist() == [1, 1, 2]
