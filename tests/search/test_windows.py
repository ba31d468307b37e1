"""Windows over units, against sums written as loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.windows import Windows


@st.composite
def talks(draw):
    """Rows in sessions, in an order that mixes them, with lengths and a radius."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    n = sum(sizes)
    order = np.array(draw(st.permutations(range(n))), dtype=np.int64)
    ends = np.cumsum(sizes)
    starts = np.repeat(ends - sizes, sizes)
    lengths = np.array(draw(st.lists(st.integers(0, 20), min_size=n, max_size=n)), dtype=np.float32)
    return order, starts, np.repeat(ends, sizes), lengths, draw(st.sampled_from([0, 1, 2, 5]))


def window_of(row, order, starts, ends, radius):
    """The rows up to `radius` before and behind `row`, in its session."""
    place = order.tolist().index(row)
    return order[max(starts[place], place - radius) : min(ends[place], place + radius + 1)]


@given(talks(), st.data())
def test_spreading_few_values_is_summing_over_all(talk, data):
    """Values given by their rows, a row even twice, count in every window that holds them, and once."""
    order, starts, ends, lengths, radius = talk
    windows = Windows(radius, order, starts, ends, lengths)
    rows = data.draw(st.lists(st.integers(0, len(order) - 1), max_size=8))
    values = data.draw(st.lists(st.floats(0.01, 9), min_size=len(rows), max_size=len(rows)))
    dense = np.zeros(len(order))
    np.add.at(dense, rows, values)
    expected = [dense[window_of(row, order, starts, ends, radius)].sum() for row in range(len(order))]
    for _ in range(2):
        there, sums = windows.spread(np.array(rows, dtype=np.int64), np.array(values))
        found = np.zeros(len(order))
        found[there] = sums
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert ((found == 0) == (np.array(expected) == 0)).all()
        np.testing.assert_array_equal(found[there], sums)  # a row that comes twice has one sum
