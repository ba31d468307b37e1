"""What is alike comes into one block: the plan of new blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from records_rig import ANN, RecordsRig, companions, strangers

from zibaldone import InvalidInput, Placement
from zibaldone.views.chunks.storage.placement import RecordPlace, arrange, collected
from zibaldone.views.chunks.storage.records import overhead

TEN = 10 * 100 + overhead(10)  # bytes of a block of ten records of a hundred bytes


def staged(numbers, size=100, namespace="s", block=None):
    """Records, a microsecond after one another."""
    return [RecordPlace(number, namespace, number, size, block) for number in numbers]


def planned(records, similarity=strangers, due=(), wait=2, block_bytes=TEN):
    """The plan for these records, where two blocks' worth may wait."""
    groups = collected(records, due, Placement(block_bytes, staged_blocks=wait), similarity)
    return [[record.id for record in group] for group in groups]


def test_once_more_waits_than_may_a_block_leaves():
    """A full one, in the order of time, which does not tear a group; the rest waits on."""
    close = (29, 1, 4, 7, 10, 13, 16, 19, 22, 25)
    (block,) = planned(staged(range(30)), companions(close))
    assert (len(block), block) == (10, sorted(block))
    assert set(block).isdisjoint(close) or set(block) == set(close)


def test_namespaces_wait_and_are_written_apart():
    """One's records never make another's leave, nor share a block with them."""
    records = [*staged(range(30), namespace="s"), *staged(range(30, 45), namespace="t")]
    assert planned(records, companions(range(45))) == [list(range(10))]


def test_what_is_left_of_a_block_goes_with_what_waits():
    """A block that is due is written anew, with staged records that belong to what is left of it."""
    records = [*staged(range(6), block="a"), *staged(range(10, 16), block="b"), *staged(range(20, 30))]
    together = companions([*range(6), 20, 21, 22, 23])
    assert planned(records, together, {"a"}) == [[*range(6), 20, 21, 22, 23]]
    assert planned(records, together) == []


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from([None, "a", "b"])), max_size=40),
    st.integers(40, 200),
    st.integers(0, 3),
    st.integers(0, 10_000),
)
def test_a_plan_keeps_to_its_bounds(given, block_bytes, wait, seed):
    """No record twice, no block too large but for a lone record, in order; no more waits than may."""
    records = [RecordPlace(n, "s", n, size, block) for n, (size, block) in enumerate(given)]
    chance = np.random.default_rng(seed)

    def similarity(ids):
        some = chance.random((len(ids), len(ids))).astype(np.float32)
        return some + some.T

    new = planned(records, similarity, {"a"}, wait, block_bytes)
    moved = [number for block in new for number in block]
    size = {record.id: record.bytes for record in records}
    assert len(moved) == len(set(moved))
    assert all(block == sorted(block) for block in new)
    assert all(len(b) == 1 or overhead(len(b)) + sum(size[n] for n in b) <= block_bytes for b in new)
    assert {n for n, (_, block) in enumerate(given) if block == "a"} <= set(moved)
    assert not {n for n, (_, block) in enumerate(given) if block == "b"} & set(moved)
    waiting = sum(r.bytes for r in records if r.block is None and r.id not in moved)
    assert waiting <= wait * block_bytes


def test_arranging_writes_what_is_planned(rig: RecordsRig):
    """Records that belong together lie in one block; all read as before; a second time nothing moves."""
    data = {number: bytes([number]) * 100 for number in range(1, 41)}
    rig.stage(data)
    placement = Placement(block_bytes=TEN, staged_blocks=1)
    close = companions([2, 12, 22, 32], [5, 15, 25, 35])
    moved = arrange(rig.database, rig.store, placement, ANN, close)
    places = rig.places()
    assert (moved.records, moved.blocks_written) == (30, 3)
    assert len({places[number] for number in (2, 12, 22, 32)}) == 1
    assert len({places[number] for number in (5, 15, 25, 35)}) == 1
    assert (rig.data(), rig.faults()) == (data, [])
    assert arrange(rig.database, rig.store, placement, ANN, close).records == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"block_bytes": 0},
        {"block_bytes": 1.5},
        {"block_bytes": True},
        {"staged_blocks": -1},
        {"gc_invalid_ratio": "x"},
        {"tau_assoc": 2},
    ],
)
def test_impossible_parameters_are_refused(wrong):
    """The error names the parameter and the value."""
    (name,) = wrong
    with pytest.raises(InvalidInput, match=name):
        Placement(**wrong)
