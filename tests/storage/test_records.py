"""Records in blocks: any order of operations, what is collected when, and what the check finds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from records_rig import ANN, BOB, NINE, Crash, RecordsRig, companions, die
from sqlalchemy import text

from zibaldone import BlockMissing, Placement
from zibaldone.views.chunks.storage.records import encode, new_key, reclaim_orphans, release

# What the check finds.


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("UPDATE blocks SET invalid = 1", "live records, it has 3"),
        ("UPDATE blocks SET released = 1", "is released and has live records"),
        ("DELETE FROM blocks", "has records and no row"),
        ("UPDATE blocks SET namespace = 'other'", "is in a block of another namespace"),
        ("UPDATE records SET slot = 2 WHERE id = 1", "record 1 is not in slot 2"),
        ("UPDATE records SET slot = 7 WHERE id = 1", "record 1 is not in slot 7"),
        ("UPDATE records SET bytes = 1 WHERE id = 1", "record 1 is not in slot 0"),
        ("UPDATE records SET data = x'00' WHERE id = 1", "record 1 is both staged and in a block"),
        (
            "UPDATE records SET block = NULL WHERE id = 1",
            "record 1 is both staged and in a block, or neither",
        ),
        ("DELETE FROM records WHERE id = 1", "should have 3 live records, it has 2"),
    ],
)
def test_the_check_finds_rows_that_disagree(nine: RecordsRig, damage, fault):
    """Directory, blocks and tombstones are compared."""
    with nine.database.write() as connection:
        connection.execute(text(damage))
    assert any(fault in one for one in nine.faults())


def test_the_check_names_missing_and_torn_blocks(nine: RecordsRig):
    """By key, each of them."""
    first, second, _ = sorted(nine.stored())
    nine.blocks.delete(first)
    nine.cut(second)
    found = "\n".join(nine.faults())
    assert f"block {first} is missing" in found
    assert f"block {second} is torn" in found


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


def test_young_orphans_are_left_to_the_move_that_made_them(nine: RecordsRig):
    """Only what is older than the grace period goes, and never a block that is in use."""
    orphan = new_key("ann")
    nine.blocks.put(orphan, encode([(1, b"x")]))
    assert reclaim_orphans(nine.database, nine.store) == 0
    assert orphan in nine.stored()
    assert reclaim_orphans(nine.database, nine.store, 0) == 1
    assert nine.stored() == nine.rows()
    assert nine.data() == NINE


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


# Anything, in any order.

MOMENTS = [f"{when} {what}" for when in ("before", "after") for what in ("put", "delete")]


class AnyOrder(RuleBasedStateMachine):
    """Random operations of two users against a dictionary each."""

    owners = st.sampled_from([ANN, BOB])
    many = st.lists(st.integers(1, 12), min_size=3, max_size=8, unique=True)
    few = st.lists(st.integers(1, 12), min_size=1, max_size=3, unique=True)

    @initialize()
    def begin(self) -> None:
        """An empty folder."""
        self._folder = tempfile.TemporaryDirectory()
        self.rig = RecordsRig(Path(self._folder.name), Placement(block_bytes=140))  # three to a block
        self.model: dict[str, dict[int, bytes]] = {"ann": {}, "bob": {}}
        self.made = 0

    def teardown(self) -> None:
        """The folder goes."""
        if hasattr(self, "rig"):
            self.rig.database.close()
            self._folder.cleanup()

    @rule(owner=owners, ids=many)
    def stage(self, owner, ids):
        """New records and new versions of old ones, some of them put into blocks at once."""
        self.made += 1
        given = {n: b"<%s %d %d>" % (owner.user.encode(), n, self.made) * 2 for n in ids}
        for namespace, rest in (("even", 0), ("odd", 1)):
            self.rig.stage({n: d for n, d in given.items() if n % 2 == rest}, owner, namespace)
        self.model[owner.user] |= given
        if self.made % 2:
            self.rig.flush(owner)

    @rule(owner=owners)
    def flush(self, owner):
        """All that is staged."""
        self.rig.flush(owner)

    @rule(owner=owners, groups=st.lists(many, max_size=3))
    def repack(self, owner, groups):
        """Of any session, there or not."""
        self.rig.repack(groups, owner)

    @rule(owner=owners, group=many)
    def collect(self, owner, group):
        """With companions that may be anything."""
        self.rig.collect(companions(group), owner)

    @rule(owner=owners, ids=few)
    def remove(self, owner, ids):
        """There or not."""
        self.rig.remove(ids, owner)
        self._gone(owner, ids)

    @rule(owner=owners, ids=few)
    def forget(self, owner, ids):
        """No file has a byte of any version of them."""
        self.rig.expel(ids, owner)
        self._gone(owner, ids)
        self._is_forgotten(owner, ids)

    @rule(
        owner=owners,
        ids=few,
        groups=st.lists(many, min_size=1, max_size=2),
        change=st.sampled_from(["forget", "remove", "stage", "forget and stage"]),
    )
    def change_while_moving(self, owner, ids, groups, change):
        """What changes between a move's reading and its switch wins; what was forgotten is in no file."""
        self.made += 1
        newer = {n: b"<%s %d %d>" % (owner.user.encode(), n, self.made) * 2 for n in ids}

        def meanwhile() -> None:
            if "forget" in change:
                self.rig.expel(ids, owner)
            elif change == "remove":
                self.rig.remove(ids, owner)
            if "stage" in change:
                for n, data in newer.items():
                    self.rig.stage({n: data}, owner, "odd" if n % 2 else "even")

        self.rig.blocks.hooks["after put"] = meanwhile
        self.rig.flush(owner)
        self.rig.repack(groups, owner)
        if not self.rig.blocks.hooks:
            self._gone(owner, ids)
            release(self.rig.database, self.rig.store)
            if "stage" in change:
                self.model[owner.user] |= newer
            if change == "forget":
                self._is_forgotten(owner, ids)
        self.rig.blocks.hooks.clear()

    @rule(owner=owners, moment=st.sampled_from(MOMENTS), group=many)
    def die_while_moving(self, owner, moment, group):
        """All that is stored agrees at once; and start again. A commit is whole: before it is after a put."""
        self.rig.blocks.hooks[moment] = die
        try:
            self.rig.flush(owner)
            self.rig.repack([group], owner)
            self.rig.collect(companions(group), owner)
            release(self.rig.database, self.rig.store)
        except Crash:
            assert self.rig.faults(owner) == []
            assert self.rig.data(owner) == self.model[owner.user]
            self.rig.restart()
        self.rig.blocks.hooks.clear()

    @invariant()
    def all_agrees(self):
        """Rows, files and model; and no block is of two users."""
        if not hasattr(self, "rig"):
            return
        mine, other = (set(self.rig.places(owner).values()) - {None} for owner in (ANN, BOB))
        assert mine.isdisjoint(other)
        for owner in (ANN, BOB):
            assert self.rig.faults(owner) == []
            assert self.rig.data(owner) == self.model[owner.user]
        assert self.rig.stored() == self.rig.rows()

    def _gone(self, owner, ids):
        for n in ids:
            self.model[owner.user].pop(n, None)

    def _is_forgotten(self, owner, ids):
        for n in ids:
            assert not self.rig.is_in_a_file(b"<%s %d " % (owner.user.encode(), n))


AnyOrder.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestAnyOrder = AnyOrder.TestCase
