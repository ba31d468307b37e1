"""Garbage collection: what is collected when, and what goes. For crashes see test_records.py."""

from __future__ import annotations

from records_rig import ANN, BOB, NINE, RecordsRig

from zibaldone.views.chunks.storage.placement import Placement
from zibaldone.views.chunks.storage.records import encode, new_key, reclaim_orphans, release


def test_a_block_is_collected_at_the_threshold_and_not_below(nine: RecordsRig):
    """Its live records are written anew and it is released; other blocks are not touched."""
    nine.placement = Placement(block_bytes=170, gc_invalid_ratio=0.34)
    before = nine.slots()
    nine.remove([1])
    assert nine.collect().blocks_written == 0
    nine.placement = Placement(block_bytes=170, gc_invalid_ratio=1 / 3)
    moved = nine.collect()
    release(nine.database, nine.store)
    after = nine.slots()
    assert (moved.records, moved.blocks_written, moved.blocks_released) == (2, 1, 1)
    assert before[2][0] not in nine.stored()
    assert {n: after[n] for n in range(4, 10)} == {n: before[n] for n in range(4, 10)}
    assert (nine.data(), nine.faults()) == ({n: d for n, d in NINE.items() if n != 1}, [])


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
