"""Blocks that move into a bucket: all of them, unchanged, whenever the move is stopped."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from anywhere import EVERYWHERE
from bucket_server import BucketMisbehaviour
from memories import open_memory
from small_blocks import SMALL_BLOCKS
from zibaldone import InvalidInput, StorageCorrupt, StorageUnreachable
from zibaldone.storage import bucket as bucket_module
from zibaldone.storage import moving
from zibaldone.storage.folder_layout import BLOCKS
from zibaldone.storage.moving import move_blocks, undo_move
from zibaldone.storage.objects import BucketObjects
from zibaldone.storage.opening import open_database
from zibaldone.storage.schema import blocks, stored_objects

TEXTS = [f"The clinic in Delfshaven says that the Qantril pump of size {size} fits me." for size in range(30)]


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """A bucket's requests are given up soon."""
    monkeypatch.setattr(bucket_module, "_FIRST_PAUSE_S", 0.001)


@pytest.fixture
def filled(anywhere):
    """Where a memory with blocks is."""
    where = anywhere("memory")
    with open_memory(where, **SMALL_BLOCKS) as memory:
        memory.add(TEXTS[:15], user="ann")
        memory.add(TEXTS[15:], user="bea")
        memory.maintain()
    return where


@pytest.fixture
def database(filled):
    """The memory's, opened as the command does."""
    database = open_database(filled, busy_timeout_s=5)
    yield database
    database.close()


def told(where):
    """What both users' chunks say."""
    with open_memory(where, **SMALL_BLOCKS) as memory:
        assert memory.admin.check().faults == ()
        return {user: memory.user(user).chunks() for user in ("ann", "bea")}


def in_use(database):
    """Keys of all blocks."""
    with database.read() as connection:
        return set(connection.execute(select(blocks.c.block).where(blocks.c.released == 0)).scalars())


def left(database, where):
    """How many blocks are still where they were."""
    with database.read() as connection:
        rows = connection.execute(select(func.count()).select_from(stored_objects)).scalar_one()
    return rows + (0 if database.shared else len([*(where / BLOCKS).rglob("*.block")]))


def in_bucket(bucket):
    """Keys of the blocks in the bucket, without the memory's id."""
    return {key.partition("/blocks/")[2] for key in bucket.objects if "/blocks/" in key}


@EVERYWHERE
@pytest.mark.wide
def test_a_memory_is_the_same_after_its_blocks_moved(filled, database, bucket):
    """Chunks say what they said, the bucket has every block, and none is left where they were."""
    before, keys = told(filled), in_use(database)
    assert len(keys) > 2
    assert left(database, filled)
    steps = []
    moved = move_blocks(database, bucket.url, lambda done, total: steps.append((done, total)))
    assert (moved.blocks, moved.bytes > 0) == (len(keys), True)
    assert steps[-1] == (len(keys), len(keys))
    assert in_bucket(bucket) == keys
    assert left(database, filled) == 0
    assert told(filled) == before
    with open_memory(filled, **SMALL_BLOCKS) as memory:
        memory.add(TEXTS, user="cid")
        assert memory.maintain().behind == ()
        assert memory.forget(user="ann", everything=True).messages == 15
    assert in_bucket(bucket) == in_use(database)
    with pytest.raises(InvalidInput, match="already"):
        move_blocks(database, bucket.url)


@EVERYWHERE
@pytest.mark.wide
def test_one_that_was_stopped_goes_on(filled, database, bucket, monkeypatch):
    """Until it is done the memory is as it was; then nothing is missing, nor there that was forgotten."""
    before, put = told(filled), BucketObjects.put

    def torn(blocks, key, data):
        if len(in_bucket(bucket)) == 2:
            raise KeyboardInterrupt
        put(blocks, key, data)

    with monkeypatch.context() as patched:
        patched.setattr(BucketObjects, "put", torn)
        with pytest.raises(KeyboardInterrupt):
            move_blocks(database, bucket.url)
    assert told(filled) == before
    with open_memory(filled, **SMALL_BLOCKS) as memory:
        memory.forget(user="ann", everything=True)
        memory.add(TEXTS, user="cid")
        memory.maintain()
        with pytest.raises(InvalidInput, match="--undo"):
            open_memory(filled, blocks=bucket.url, **SMALL_BLOCKS)
    kept = told(filled)["bea"]
    assert kept == before["bea"]
    with pytest.raises(InvalidInput, match="was begun"):
        move_blocks(database, bucket.url.replace("/tests", "/others"))
    move_blocks(database, bucket.url)
    assert in_bucket(bucket) == in_use(database)
    assert told(filled) == {"ann": [], "bea": kept}


def test_one_that_was_killed_after_the_switch_leaves_no_files(tmp_path, bucket, monkeypatch):
    """Whoever opens the folder next takes away what the bucket has by now."""
    with open_memory(tmp_path / "m", **SMALL_BLOCKS) as memory:
        memory.add(TEXTS, user="ann")
        memory.maintain()
    database = open_database(tmp_path / "m", busy_timeout_s=5)
    with monkeypatch.context() as patched:
        patched.setattr(moving, "remove_files", lambda _: None)
        move_blocks(database, bucket.url)
    assert left(database, tmp_path / "m")
    with open_memory(tmp_path / "m", **SMALL_BLOCKS):
        assert left(database, tmp_path / "m") == 0
    database.close()


def test_what_arrives_otherwise_stops_the_move(tmp_path, bucket, monkeypatch):
    """Nothing is switched, and nothing is lost."""
    with open_memory(tmp_path / "m", **SMALL_BLOCKS) as memory:
        memory.add(TEXTS, user="ann")
        memory.maintain()
        said = memory.user("ann").chunks()
    database = open_database(tmp_path / "m", busy_timeout_s=5)
    get = BucketObjects.get
    with monkeypatch.context() as patched:
        patched.setattr(BucketObjects, "get", lambda blocks, key: get(blocks, key)[:-1] + b"x")
        with pytest.raises(StorageCorrupt, match="is not what was sent"):
            move_blocks(database, bucket.url)
    bucket.always = BucketMisbehaviour.SLOW_DOWN
    with pytest.raises(StorageUnreachable):
        move_blocks(database, bucket.url)
    bucket.always = None
    with open_memory(tmp_path / "m", **SMALL_BLOCKS) as memory:
        assert memory.user("ann").chunks() == said
    undone = undo_move(database)
    assert undone.blocks > 0
    assert bucket.objects == {}
    with pytest.raises(InvalidInput, match="nothing to undo"):
        undo_move(database)
    with open_memory(tmp_path / "m", **SMALL_BLOCKS) as memory:
        assert memory.user("ann").chunks() == said
    database.close()


@EVERYWHERE
@pytest.mark.wide
def test_one_that_is_undone_while_it_copies_switches_nothing(filled, database, bucket, monkeypatch):
    """The blocks stay where they are, and the bucket keeps none."""
    before, get, undoings = told(filled), BucketObjects.get, []

    def undone(blocks, key):
        data = get(blocks, key)
        if not undoings:
            undoings.append(undo_move(database))
        return data

    with monkeypatch.context() as patched:
        patched.setattr(BucketObjects, "get", undone)
        with pytest.raises(InvalidInput, match="undone"):
            move_blocks(database, bucket.url)
    assert bucket.objects == {}
    assert told(filled) == before


def test_the_command(run, tmp_path, bucket):
    """It says how much it moved; without a bucket it says what to give."""
    with open_memory(tmp_path / "memory", **SMALL_BLOCKS) as memory:
        memory.add(TEXTS, user="me")
        memory.maintain()
    assert run("move-blocks")[0] == 2
    code, said, errors = run("move-blocks", bucket.url)
    assert (code, errors) == (0, "")
    assert f"{len(in_bucket(bucket))} blocks" in said
    assert run("move-blocks", "--undo")[0] == 2
