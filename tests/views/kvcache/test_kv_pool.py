"""The pool's files: fixed places, of which one is written only while no row names it."""

import pytest
from kv_rig import PAPER, Rig, filled, line

from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.block_files import BlockLayout, LayerSize, PoolFiles

LAYOUT = BlockLayout((LayerSize(2, 8, 8), LayerSize(1, 4, 12)), 8, "float32", 4, "native")


@pytest.fixture
def files(tmp_path):
    """A pool that has no file yet."""
    return PoolFiles(tmp_path / "pool", LAYOUT, (0, 1))


def test_no_name_of_a_file_tells_the_user(tmp_path):
    """Names of users, sessions and messages are in no path of the pool."""
    with Rig(tmp_path / "m") as rig:
        rig.say(line(1), user="marguerite", session="vienna")
        paths = " ".join(str(path) for path in (rig.folder / "kv").rglob("*"))
    assert paths
    assert "marguerite" not in paths
    assert "vienna" not in paths


def test_only_the_owner_of_the_process_can_read_the_blocks(tmp_path):
    """Blocks and boxes are for the user that runs the process."""
    with filled(tmp_path / "m", 1, config=PAPER) as rig:
        modes = {rig.path(name).stat().st_mode & 0o077 for name in ("blocks", "boxes-0")}
    assert modes == {0}


def test_places_that_wait_to_be_overwritten_are_taken_first(tmp_path):
    """They are overwritten by what comes; then come places that nothing claims."""
    with filled(tmp_path / "m", 6) as rig:
        pool = rig.pool()
        with rig.database.write() as connection:
            blocks = manifest.after(connection, pool.generation)
            manifest.remove(connection, pool.generation, [blocks[1], blocks[4]])
            assert manifest.take_slots(connection, pool.generation, 1) == [1]
            assert manifest.erasures(connection, pool.generation)[0] == [4]
            assert manifest.take_slots(connection, pool.generation, 3) == [4, 1, 6]
