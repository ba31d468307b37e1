"""Blocks: whole or not there, and a damaged one is named. Every block store keeps the same contract."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import StorageCorrupt, StorageFull, StorageUnusable
from zibaldone.storage.bucket_blocks import use_bucket
from zibaldone.storage.objects import EncryptedObjects, FileObjects, RowObjects
from zibaldone.storage.opening import open_database
from zibaldone.views.chunks.storage.records import decode, encode, overhead

RECORDS = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=60)), max_size=8)


class Turned:
    """A cipher: bytes, and the place that they are for, backwards."""

    def encrypt(self, data, place):
        return (place.encode() + data)[::-1]

    def decrypt(self, data, place):
        if not data[::-1].startswith(place.encode()):
            raise ValueError("of another place")
        return data[::-1][len(place) :]


@pytest.fixture(params=["files", "rows", "s3", "encrypted"])
def store(request, tmp_path):
    """Each implementation in turn, empty."""
    database = open_database(tmp_path, busy_timeout_s=5)
    if request.param == "s3":
        use_bucket(database, request.getfixturevalue("bucket").url)
    rows = RowObjects(database.unlocked, "block")
    yield {"rows": rows, "encrypted": EncryptedObjects(rows, Turned())}.get(request.param, database.blocks)
    database.close()


@pytest.fixture
def local(tmp_path) -> FileObjects:
    """Files."""
    return FileObjects(tmp_path / "blocks")


@pytest.mark.parametrize("data", [b"", b"first\x00", os.urandom(2_500_000)], ids=len)
def test_what_was_put_can_be_got(store, data):
    """Byte for byte, however many parts; and in memory of one's own, where changing it changes no object."""
    store.put("u/other", b"2")
    store.put("u/one", data)
    own = store.own("u/one")
    assert bytes(own) == store.get("u/one") == data
    own[:1] = b"x"[: len(data)]
    assert (store.get("u/one"), store.get("u/other")) == (data, b"2")


def test_deleting_twice_is_deleting_once(store):
    """What was deleted, or never put, is a KeyError that names it; others stay, listed with their ages."""
    assert list(store.names()) == []
    for key in ("u/one", "u/two", "v/one"):
        store.put(key, b"x")
    assert [key for key, _ in store.names()] == ["u/one", "u/two", "v/one"]
    assert [key for key, _ in store.names("u/")] == ["u/one", "u/two"]
    assert all(-1 < age_s < 60 for _, age_s in store.names())
    for key in ("u/one", "u/one", "v/never"):
        store.delete(key)
        with pytest.raises(KeyError, match=key):
            store.get(key)
    assert [key for key, _ in store.names()] == ["u/two", "v/one"]


@given(RECORDS)
def test_a_block_holds_its_records(records):
    """Ids and bytes come back by slot, and the size is what `overhead` says."""
    block = encode(records)
    assert decode(block, "k") == records
    assert len(block) == overhead(len(records)) + sum(len(data) for _, data in records)


@given(RECORDS, st.data())
def test_a_torn_block_is_named(records, data):
    """Wherever it ends early, or one bit of it is wrong."""
    flipped = bytearray(block := encode(records))
    place = data.draw(st.integers(0, len(block) - 1))
    flipped[place] ^= 1 << data.draw(st.integers(0, 7))
    for torn in (block[:place], bytes(flipped)):
        with pytest.raises(StorageCorrupt, match="u/torn"):
            decode(torn, "u/torn")


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EIO, StorageUnusable)],
)
def test_a_put_that_fails_leaves_nothing(local, monkeypatch, number, kind):
    """Neither a block nor an unfinished file; the error is of the house."""

    def refuse(_):
        raise OSError(number, "no")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(kind):
        local.put("u/one", b"x")
    assert [path for path in local.folder.rglob("*") if path.is_file()] == []


def test_puts_and_deletes_are_durable(local, monkeypatch):
    """A put syncs the file, then the entry of each folder in the one above; a delete what is left of one."""
    synced, entries, sync = [], [], os.fsync

    def note(descriptor):
        status = os.fstat(descriptor)
        synced.append(status.st_ino)
        entries.append(sorted(os.listdir(descriptor)) if stat.S_ISDIR(status.st_mode) else [])  # noqa: PTH208
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    local.put("u/one", b"x")
    path = local.path("u/one")
    assert synced == [p.stat().st_ino for p in (path, path.parent, local.folder, local.folder.parent)]
    local.put("u/two", b"x")
    entries.clear()
    local.delete("u/one")
    assert entries == [["two.block"]]


def test_a_put_survives_that_another_removes_the_empty_folder(local, monkeypatch):
    """A user's folder goes with the last block; a put that had just made sure of it makes it again."""
    mkdir = Path.mkdir
    left = [2]

    def made_and_taken_away(path, *arguments, **options):
        mkdir(path, *arguments, **options)
        if path.name == "u" and left[0] and path.exists():
            left[0] -= 1
            path.rmdir()

    monkeypatch.setattr(Path, "mkdir", made_and_taken_away)
    local.put("u/one", b"x")
    assert local.get("u/one") == b"x"


def test_what_a_killed_writer_left_is_swept_away(local):
    """Killed between writing and publishing: the next listing finds nobody at it, however young it is."""
    dying = (
        "import os, signal; from pathlib import Path;"
        "from zibaldone.storage.objects import FileObjects;"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL);"
        f"FileObjects(Path({str(local.folder)!r})).put('u/one', b'secret')"
    )
    assert subprocess.run([sys.executable, "-c", dying], check=False).returncode == -signal.SIGKILL
    (beside,) = (local.folder / "u").iterdir()
    assert beside.read_bytes() == b"secret"
    assert list(local.names("v/")) == []
    assert beside.exists()  # another's folder
    assert list(local.names("u/")) == []
    assert list(local.folder.iterdir()) == []


def test_a_file_that_is_being_written_is_left_alone(local, monkeypatch):
    """Neither listed nor swept away, since its writer holds the lock."""
    during = []
    sync = os.fsync

    def listing(descriptor):
        during.append([key for key, _ in FileObjects(local.folder).names()])
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", listing)
    local.put("u/one", b"x")
    assert during[0] == []
    assert local.get("u/one") == b"x"


def test_a_file_that_was_swept_before_it_was_locked_is_made_again(local, monkeypatch):
    """Between opening and locking a listing may take the file for a dead writer's."""
    lock = fcntl.flock
    swept = []

    def late(file, how):
        if not how & fcntl.LOCK_NB and not swept:
            swept.append(list(FileObjects(local.folder).names()))
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    local.put("u/one", b"x")
    assert swept == [[]]
    assert [key for key, _ in local.names()] == ["u/one"]


def test_a_block_that_cannot_be_read_is_an_error_of_the_house(local):
    """Not every OSError is a missing block."""
    local.path("u/one").mkdir(parents=True)
    with pytest.raises(StorageUnusable, match="u/one"):
        local.get("u/one")
