"""Records that are read together again and again come to lie together; others are left where they are."""

import numpy as np
import pytest
from records_rig import ANN, RecordsRig

from zibaldone.views.chunks.storage.placement import Placement, colocate, groups_above

APART = (1, 11, 21, 31)  # in four blocks, when they lie in the order of time


@pytest.fixture
def rig(tmp_path):
    """Forty records of a hundred bytes in blocks of ten."""
    rig = RecordsRig(tmp_path, Placement(block_bytes=1250, least_fill=0.3))
    rig.stage({number: bytes([number]) * 100 for number in range(1, 41)})
    rig.flush()
    assert len({rig.places()[number] for number in APART}) == 4
    yield rig
    rig.database.close()


def note(rig, ids, times):
    """They were read in one go, so often."""
    with rig.database.write() as connection:
        rig.store.note_together(connection, ANN, ids, times)


def turn(rig, read_sets, similar=0.9):
    """One turn of the manager, which finds all records equally similar."""

    def group(ids):
        with rig.database.read() as connection:
            association = rig.store.associations(
                connection, ANN, ids, lambda some: np.full((len(some), len(some)), similar, dtype=np.float32)
            )
        return groups_above(ids, association, rig.placement.tau_assoc, [100] * len(ids), 1250)

    return colocate(rig.database, rig.store, rig.placement, ANN, read_sets, group)


def blocks_of(rig, ids):
    """How many blocks a request for these reads."""
    with rig.database.read() as connection:
        return rig.store.fetch(connection, ANN, ids).blocks_read


def test_what_is_read_together_comes_together(rig):
    """After enough joint readings a request for four records reads one block; the data are the same."""
    before = rig.data()
    note(rig, APART, 9)
    moved = turn(rig, [APART])
    assert (moved.records, moved.blocks_written) == (4, 1)
    assert blocks_of(rig, APART) == 1
    assert rig.data() == before
    assert rig.faults() == []
    assert turn(rig, [APART]).records == 0


def test_a_few_joint_readings_move_nothing(rig):
    """What happened once or twice has not cost what a move costs."""
    note(rig, APART, 1)
    assert turn(rig, [APART]).records == 0
    assert blocks_of(rig, APART) == 4


def test_records_that_are_read_apart_too_are_left(rig):
    """A record that others need as often is not moved away from them: the association is too low."""
    note(rig, APART, 9)
    for number in APART:
        note(rig, [number], 60)
    assert turn(rig, [APART]).records == 0


def test_a_group_that_would_leave_a_block_empty_is_left(rig):
    """Two records do not fill a block well enough."""
    note(rig, APART[:2], 50)
    assert turn(rig, [APART[:2]]).records == 0


def test_what_was_not_read_of_late_is_left(rig):
    """Only what was read since the last turn is looked at."""
    note(rig, APART, 50)
    assert turn(rig, []).records == 0
