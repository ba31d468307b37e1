"""The inverted index, against counting by hand."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.lexical import LexicalIndex

TERM = st.sampled_from(["bassoon", "lisbon", "犬が", "ё", "a", ""])
ROWS = st.lists(st.lists(TERM, max_size=12), max_size=15)


def indexed(rows):
    """An index of these rows."""
    index = LexicalIndex()
    for begin in range(0, len(rows), 4):
        index.extend(rows[begin : begin + 4])
    return index


@given(ROWS, st.integers(0, 15))
def test_postings_are_what_stands_in_the_rows(rows, asked_after):
    """Every term's rows rise, with its count in each, also where it was asked for while the index grew."""
    index = indexed(rows[:asked_after])
    terms = {term for row in rows for term in row} | {"never"}
    for term in terms:
        index.postings(term)
    for row in rows[asked_after:]:
        index.extend([row])
    assert len(index) == len(rows)
    assert index.lengths().tolist() == [len(row) for row in rows]
    for term in terms:
        expected = [(i, Counter(row)[term]) for i, row in enumerate(rows) if term in row]
        found = index.postings(term)
        assert list(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected
        assert index.df(term) == len(expected)


def test_what_is_given_out_is_a_copy():
    """Postings and lengths stay as they were while the index grows."""
    index = indexed([["a"], ["a"]])
    rows, frequencies = index.postings("a")
    lengths = index.lengths()
    index.extend([["a", "a"]])
    frequencies += 1
    assert (rows.tolist(), lengths.tolist()) == ([0, 1], [1, 1])
    assert index.postings("a")[1].tolist() == [1, 1, 2]
