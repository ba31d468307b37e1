"""What belongs together: pairs, associations, groups, and how records are packed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from records_rig import ANN, BOB, RecordsRig

from zibaldone import InvalidInput
from zibaldone.views.chunks.storage.blocks import overhead
from zibaldone.views.chunks.storage.placement import Placed, Placement, groups_above, pack


def lone(number: int, size: int) -> Placed:
    """A staged record of so many bytes."""
    return Placed(number, "s", number, b"x" * size, None, None)


def test_pairs_are_counted_with_their_singles(rig: RecordsRig):
    """Every record and every pair of one reading, as often as it was read."""
    with rig.database.write() as connection:
        rig.store.note_together(connection, ANN, [3, 1, 3])
        rig.store.note_together(connection, ANN, [1, 2], 2)
        assert rig.store.pairs(connection, ANN, [1, 2, 3]) == {
            (1, 1): 3, (2, 2): 2, (3, 3): 1, (1, 2): 2, (1, 3): 1,
        }  # fmt: skip
        assert rig.store.pairs(connection, BOB, [1, 2, 3]) == {}


def test_association_rises_with_reading_together_and_with_similarity(rig: RecordsRig):
    """It is symmetric, in 0..1, and half the similarity where two were never read together."""

    def alike(ids):
        return np.array([[1, 0.8, -0.5], [0.8, 1, 0.8], [-0.5, 0.8, 1]], dtype=np.float32)

    with rig.database.write() as connection:
        rig.store.note_together(connection, ANN, [1, 2], 50)
        found = rig.store.associations(connection, ANN, [1, 2, 3], alike)
    assert found[0, 1] > 0.8
    assert found[1, 2] == pytest.approx(0.4)
    assert found[0, 2] == 0
    assert np.array_equal(found, found.T)


def test_groups_are_those_above_tau():
    """Two pairs; the one that nothing is associated with stays alone."""
    association = np.zeros((5, 5), dtype=np.float32)
    association[0, 1] = association[1, 0] = 0.9
    association[2, 3] = association[3, 2] = 0.7
    association[1, 2] = association[2, 1] = 0.69
    assert sorted(groups_above([10, 11, 12, 13, 14], association, 0.7, [1] * 5, 99)) == [[10, 11], [12, 13]]


def test_associations_do_not_chain():
    """A group holds together on average, not only link by link."""
    association = np.zeros((3, 3), dtype=np.float32)
    association[0, 1] = association[1, 0] = 0.9
    association[1, 2] = association[2, 1] = 0.8
    assert groups_above([1, 2, 3], association, 0.7, [1] * 3, 99) == [[1, 2]]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.integers(0, 10_000))
def test_groups_fit_into_a_block(sizes, seed):
    """However strong the association: no group exceeds the bytes, and no record is in two."""
    n = len(sizes)
    association = np.random.default_rng(seed).random((n, n)).astype(np.float32)
    association = (association + association.T) / 2
    ids = list(range(100, 100 + n))
    groups = groups_above(ids, association, 0.3, sizes, 100)
    assert all(sum(sizes[one - 100] for one in group) <= 100 for group in groups)
    members = [one for group in groups for one in group]
    assert len(members) == len(set(members))
    assert set(members) <= set(ids)


@given(st.lists(st.integers(0, 200), max_size=30), st.integers(40, 200))
def test_packing_keeps_order_and_bounds(sizes, block_bytes):
    """Nothing is lost or turned round; only a lone record may exceed a block."""
    placed = [lone(number, size) for number, size in enumerate(sizes)]
    packed = pack(placed, block_bytes)
    assert [one for some in packed for one in some] == placed
    for some in packed:
        assert len(some) == 1 or overhead(len(some)) + sum(len(one.data) for one in some) <= block_bytes


@pytest.mark.parametrize(
    "wrong",
    [
        {"block_bytes": 0},
        {"block_bytes": 1.5},
        {"block_bytes": True},
        {"tau_assoc": -1},
        {"gc_invalid_ratio": "x"},
    ],
)
def test_impossible_parameters_are_refused(wrong):
    """The error names the parameter and the value."""
    (name,) = wrong
    with pytest.raises(InvalidInput, match=name):
        Placement(**wrong)
