"""One ranking from several."""

from hypothesis import given
from hypothesis import strategies as st

from zibaldone.recall.recall import K, reciprocal_rank

RANKINGS = st.lists(st.lists(st.integers(0, 20), unique=True, max_size=12), max_size=4)


@given(RANKINGS)
def test_every_item_comes_once_by_falling_sum_of_reciprocal_ranks(rankings):
    """Cormack, Clarke and Buettcher 2009, eq. 1, summed by hand."""
    fused = reciprocal_rank(rankings)
    assert sorted(fused) == sorted({item for ranking in rankings for item in ranking})
    sums = [sum(1 / (K + r.index(item) + 1) for r in rankings if item in r) for item in fused]
    assert sums == sorted(sums, reverse=True)


def test_ties_stand_in_the_order_of_first_appearance():
    """The same input gives the same order, always."""
    assert reciprocal_rank([["a", "b"], ["c", "d"]]) == ["a", "c", "b", "d"]
