"""Garbage collection and crashes: no record is lost, and no block leaks for good."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from records_rig import ANN, BOB, NINE, Crash, RecordsRig, die

from zibaldone.views.chunks.storage.placement import Placement
from zibaldone.views.chunks.storage.records import encode, new_key, reclaim_orphans, release


def test_a_block_below_the_threshold_is_left_alone(nine: RecordsRig):
    """One of three is invalid and the threshold is higher: nothing is written."""
    nine.placement = Placement(block_bytes=170, gc_invalid_ratio=0.34)
    nine.remove([1])
    assert nine.collect().blocks_written == 0


def test_a_block_at_the_threshold_is_collected(nine: RecordsRig):
    """Its live records are written anew and it is released; other blocks are not touched."""
    nine.placement = Placement(block_bytes=170, gc_invalid_ratio=1 / 3)
    before = nine.slots()
    nine.remove([1])
    moved = nine.collect()
    release(nine.database, nine.store)
    after = nine.slots()
    assert (moved.records, moved.blocks_written, moved.blocks_released) == (2, 1, 1)
    assert before[2][0] not in nine.stored()
    assert {n: after[n] for n in range(4, 10)} == {n: before[n] for n in range(4, 10)}
    assert (nine.data(), nine.faults()) == ({n: d for n, d in NINE.items() if n != 1}, [])


# Crashes: each kind of move, at each moment.


def _flush(rig: RecordsRig) -> None:
    rig.stage({n: b"staged %d" % n * 4 for n in (20, 21, 22)})
    rig.flush()


def _repack(rig: RecordsRig) -> None:
    rig.repack([[1, 4, 7], [2, 5, 8], [3, 6, 9]])


def _collect(rig: RecordsRig) -> None:
    rig.remove([9])
    rig.collect()


MOVES = {"flush": _flush, "repack": _repack, "collect": _collect}


@pytest.fixture(params=MOVES, ids=str)
def move(request) -> Callable[[RecordsRig], None]:
    """Each kind of move in turn."""
    return MOVES[request.param]


def _all_is_well(rig: RecordsRig, move: Callable[[RecordsRig], None]) -> None:
    """Every record reads as it should, and after a restart the store holds exactly the blocks in use."""
    wanted = dict(NINE)
    if move is _flush:
        wanted |= {n: b"staged %d" % n * 4 for n in (20, 21, 22)}
    if move is _collect:
        del wanted[9]
    assert (rig.data(), rig.faults()) == (wanted, [])
    rig.restart()
    assert (rig.data(), rig.faults()) == (wanted, [])
    in_use = {place for place in rig.places().values() if place}
    assert rig.stored() == in_use == rig.rows()


def test_a_crash_before_the_commit_loses_nothing(nine: RecordsRig, move):
    """The directory points to the old places, all of it; the new blocks are orphans."""
    if move is _flush:
        nine.stage({n: b"staged %d" % n * 4 for n in (20, 21, 22)})
    if move is _collect:
        nine.remove([9])
    with nine.dying_before_the_commit(), pytest.raises(Crash):
        {_flush: nine.flush, _collect: nine.collect}.get(move, lambda: _repack(nine))()
    assert nine.stored() > nine.rows()
    _all_is_well(nine, move)


@pytest.mark.parametrize("moment", ["before delete", "after delete"])
def test_a_crash_while_releasing_loses_nothing(nine: RecordsRig, move, moment):
    """The row says that the block is released until the block is gone."""
    move(nine)
    nine.blocks.hooks[moment] = die
    if move is _flush:
        nine.remove([1, 2, 3])
        nine.stage({n: NINE[n] for n in (1, 2, 3)})
    with pytest.raises(Crash):
        release(nine.database, nine.store)
    if move is _flush:
        nine.flush()
    _all_is_well(nine, move)


def test_releasing_is_of_one_user_or_of_all(nine: RecordsRig):
    """A user's tending does not wait for the files of others."""
    nine.stage(NINE, BOB)
    nine.flush(BOB)
    for owner in (ANN, BOB):
        with nine.database.write() as connection:
            nine.store.drop(connection, owner)
    assert (release(nine.database, nine.store, "ann"), release(nine.database, nine.store)) == (3, 3)
    assert nine.stored() == nine.rows() == set()


def test_young_orphans_are_left_to_the_move_that_made_them(nine: RecordsRig):
    """Only what is older than the grace period goes, and never a block that is in use."""
    orphan = new_key("ann")
    nine.blocks.put(orphan, encode([(1, b"x")]))
    assert reclaim_orphans(nine.database, nine.store) == 0
    assert orphan in nine.stored()
    assert reclaim_orphans(nine.database, nine.store, 0) == 1
    assert nine.stored() == nine.rows()
    assert nine.data() == NINE
