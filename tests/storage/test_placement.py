"""Where records lie: identity and bytes stay, places change, and never do two users share a block."""

from __future__ import annotations

import pytest
from records_rig import ANN, BOB, RecordsRig

from zibaldone import BlockMissing
from zibaldone.views.base import Generation
from zibaldone.views.chunks.storage.placement import Placement
from zibaldone.views.chunks.storage.records import Record, release


def test_two_users_never_share_a_block(rig: RecordsRig):
    """Nor two namespaces, nor two generations."""
    owners = [(ANN, "s"), (ANN, "t"), (BOB, "s"), (Generation("ann", 2, "", 0), "s")]
    for number, (owner, namespace) in enumerate(owners):
        rig.stage({number: b"x"}, owner, namespace)
    for owner in {owner for owner, _ in owners}:
        rig.flush(owner)
        rig.repack([list(range(4))], owner)
    places = [rig.places(owner)[number] for number, (owner, _) in enumerate(owners)]
    assert len(set(places)) == 4
    assert None not in places
    assert places[0].split("/")[0] != places[2].split("/")[0]


@pytest.mark.parametrize("change", ["change", "remove", "forget", "forget a part"])
@pytest.mark.parametrize("staged", [True, False], ids=["staged", "in a block"])
def test_what_changes_while_it_is_moved_is_not_put_back(rig: RecordsRig, change, staged):
    """Between publishing and switching: the change wins, and what else was to move reads as before.

    No file has what was forgotten, also when the view stages what is left of it under its old id.
    """
    rig.stage({1: b"the secret" * 2, 2: b"two" * 3})
    rig.stage({8: b"8" * 90, 9: b"9" * 90})
    if not staged:
        rig.placement = Placement(block_bytes=60)
        rig.flush()
        rig.placement = Placement(block_bytes=170)
    left = {"change": b"new one", "forget a part": b"harmless"}.get(change)

    def meanwhile() -> None:
        if change == "remove":
            rig.remove([1])
        with rig.database.write() as connection:
            if "forget" in change:
                rig.store.expel(connection, ANN, [1])
            if left:
                rig.store.stage(connection, ANN, [Record(1, "s", 1, left)])
        release(rig.database, rig.store)

    rig.blocks.hooks["after put"] = meanwhile
    if staged:
        rig.flush()
    else:
        rig.repack([[1, 2]])
    release(rig.database, rig.store)
    assert "after put" not in rig.blocks.hooks
    assert rig.data() == {2: b"two" * 3, 8: b"8" * 90, 9: b"9" * 90} | ({1: left} if left else {})
    assert rig.faults() == []
    assert "forget" not in change or not rig.is_in_a_file(b"the secret")


def test_a_block_that_was_taken_for_an_orphan_is_not_pointed_to(rig: RecordsRig):
    """A move that was too slow is given up: its records stay where they were."""
    rig.stage({1: b"one"})
    rig.blocks.hooks["after put"] = lambda: [rig.blocks.delete(key) for key in rig.stored()]
    moved = rig.flush()
    assert (moved.records, rig.places(), rig.faults()) == (0, {1: None}, [])
    assert rig.flush().records == 1


def test_a_reader_of_an_old_snapshot_is_told_to_read_again(rig: RecordsRig):
    """The block went while it read: BlockMissing, and the next snapshot has the bytes."""
    rig.stage({1: b"one"})
    rig.flush()
    with rig.database.read() as snapshot:
        rig.store.places(snapshot, ANN)
        rig.stage({1: b"newer"})
        release(rig.database, rig.store)
        with pytest.raises(BlockMissing):
            rig.store.fetch(snapshot, ANN, [1])
    assert rig.data() == {1: b"newer"}
