"""A bucket: its errors, what is tried again, whose objects are whose, and what forgetting leaves of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from bucket_server import BucketMisbehaviour
from memories import open_memory
from zibaldone import (
    Config,
    InvalidInput,
    MemAttention,
    Memory,
    Placement,
    StorageCorrupt,
    StorageFull,
    StorageUnreachable,
    StorageUnusable,
    encrypt_folder,
)
from zibaldone.storage import bucket as bucket_module
from zibaldone.storage.bucket import Bucket, bucket_url
from zibaldone.testing import HashEmbedder
from zibaldone.views import unit_cache

EMBEDDER = HashEmbedder(16)
SETTINGS = {
    "embedder": EMBEDDER,
    "chunks": MemAttention(chunk_gate_tokens=48),
    "placement": Placement(block_bytes=400, staged_blocks=0),
    "maintained": ("messages", "chunks"),
}
CURRENT = "SELECT key FROM saved_indexes WHERE \"user\" = 'ann' AND state = 'current'"
WORDS = "The clinic in Delfshaven says that the Qantril pump of size {} fits me."


pytestmark = pytest.mark.usefixtures("early_indexes")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """A bucket's requests are given up soon."""
    monkeypatch.setattr(bucket_module, "_FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(bucket_module, "_REQUEST_S", 0.2)


@pytest.fixture
def objects(bucket) -> Bucket:
    """Of one memory."""
    return Bucket(bucket_url(bucket.url), "m")


@pytest.fixture(params=["folder", pytest.param("postgres", marks=pytest.mark.exhaustive)])
def place(request, tmp_path):
    """Where the rows are."""
    return tmp_path / "memory" if request.param == "folder" else request.getfixturevalue("url")


@pytest.fixture
def memory(place, bucket) -> Iterator[Memory]:
    """With blocks and saved indexes in the bucket, of what two users said."""
    with open_memory(place, blocks=bucket.url, **SETTINGS) as memory:
        fill(memory)
        yield memory


def fill(memory):
    """What two users said, maintained."""
    for user, first in (("ann", 0), ("bea", 50)):
        memory.add([WORDS.format(number) for number in range(first, first + 12)], user=user)
    memory.maintain()


def kinds(bucket):
    """What objects there are: (blocks, indexes)."""
    return tuple(sum(f"/{kind}/" in key for key in bucket.objects) for kind in ("blocks", "index"))


@pytest.mark.parametrize(
    ("operation", "happens", "error"),
    [
        ("get", BucketMisbehaviour.DENIED, StorageUnusable),
        ("create", BucketMisbehaviour.NO_BUCKET, StorageUnusable),
        ("list", BucketMisbehaviour.SERVER_ERROR, StorageUnreachable),
        ("delete", BucketMisbehaviour.SLOW_DOWN, StorageUnreachable),
        ("get", BucketMisbehaviour.HANG, StorageUnreachable),
        ("create", BucketMisbehaviour.FULL, StorageFull),
    ],
)
def test_what_a_bucket_refuses_is_an_error_of_the_house(bucket, objects, operation, happens, error):
    """Whatever is asked: typed, with the bucket's name, and without the key's secret."""
    bucket.always = happens
    requests = {
        "get": lambda: objects.get("u/k"),
        "create": lambda: objects.create("u/k", b"x"),
        "delete": lambda: objects.delete(["u/k"]),
        "list": lambda: list(objects.list()),
    }
    with pytest.raises(error, match="s3://memories/tests") as raised:
        requests[operation]()
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "happens",
    [
        BucketMisbehaviour.SERVER_ERROR,
        BucketMisbehaviour.SLOW_DOWN,
        BucketMisbehaviour.LOST_ANSWER,
        BucketMisbehaviour.HANG,
        BucketMisbehaviour.CUT,
    ],
)
def test_what_fails_for_a_moment_is_tried_again(bucket, objects, happens):
    """A put whose answer was lost, too: it is there once."""
    bucket.misbehave.append(happens)
    objects.create("u/k", b"the data")
    bucket.misbehave.append(happens)
    assert objects.get("u/k") == b"the data"
    assert [data for data, _ in bucket.objects.values()] == [b"the data"]


def test_an_object_is_never_overwritten(bucket, objects):
    """The same again is no fault; another under its key is."""
    objects.create("u/k", b"first")
    objects.create("u/k", b"first")
    with pytest.raises(StorageCorrupt, match="u/k"):
        objects.create("u/k", b"second")
    assert objects.get("u/k") == b"first"


def test_a_listing_of_several_pages_is_whole(bucket, objects):
    """Sorted, and of this memory alone."""
    bucket.page = 2
    for number in range(5):
        objects.create(f"u/{number}", b"x" * number)
    Bucket(bucket_url(bucket.url), "other").create("u/9", b"x")
    assert [key for key, _ in objects.list()] == [f"u/{number}" for number in range(5)]


@pytest.mark.parametrize(
    "url",
    [
        "bucket/prefix",
        "https://bucket/prefix",
        "s3://",
        "s3:///prefix",
        "s3://bucket:80/x",
        "s3://key:secret@bucket/x",
        "s3://bucket/x?secret_access_key=hush",
        "s3://bucket/x#y",
        7,
    ],
)
def test_what_names_no_bucket(tmp_path, url):
    """The error shows the form, and no secret that stood in the URL."""
    with pytest.raises(InvalidInput) as raised:
        Memory(tmp_path, embedder=EMBEDDER, config=Config(blocks=url))
    assert "hush" not in str(raised.value)


def test_the_environment_names_the_bucket(run, bucket, tmp_path):
    """ZIBALDONE_BLOCKS, once: a process without it knows by then."""
    assert run("add", "Rye bread.", "--user", "ann", env={"ZIBALDONE_BLOCKS": bucket.url})[0] == 0
    assert run("admin", "stats")[0] == 0
    with Memory(tmp_path / "memory", embedder=EMBEDDER) as memory:
        assert memory._database.bucket is not None
    code, _, error = run("admin", "stats", env={"ZIBALDONE_BLOCKS": "s3://elsewhere"})
    assert (code != 0, "s3://memories/tests" in error) == (True, True)


def test_blocks_and_indexes_are_objects_of_their_users(memory, bucket, place):
    """Both kinds are there, below a digest of each user and no name; nothing of them is a row or a file."""
    blocks, indexes = kinds(bucket)
    assert blocks >= 2
    assert indexes == 2
    parts = {part for key in bucket.objects for part in re.split(r"\W", key)}
    assert parts.isdisjoint({"ann", "bea"})  # a digest may have these letters in it
    assert len({key.split("/")[3] for key in bucket.objects if "/index/" in key}) == 2
    with memory._database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM stored_objects")).scalar_one() == 0
    assert not any((memory.path / name).exists() for name in ("blocks", "index"))
    assert memory.admin.check().ok
    with_objects = memory.admin.stats().bytes_on_disk
    assert with_objects > sum(len(data) for data, _ in bucket.objects.values())


def test_another_process_knows_the_bucket(memory, bucket, place):
    """It is told nothing, begins with the saved index, and reads the blocks."""
    expected = memory.recall("Qantril pump", user="ann", views=["messages", "chunks"], min_confidence=0)
    bucket.requests.clear()
    with open_memory(place, **SETTINGS) as other:
        assert (
            other.recall("Qantril pump", user="ann", views=["messages", "chunks"], min_confidence=0).text
            == expected.text
        )
    read = [request for request in bucket.requests if request.startswith("GET ")]
    assert any("/index/" in request for request in read)
    assert any("/blocks/" in request for request in read)


def test_another_bucket_is_refused(memory, bucket, place):
    """The memory's own is named; the same with other options is the same."""
    with pytest.raises(InvalidInput, match="s3://memories/tests"):
        open_memory(place, blocks=bucket.url.replace("tests", "elsewhere"), **SETTINGS)
    with open_memory(place, blocks=bucket.url + "&region=eu-west-1", **SETTINGS) as other:
        assert other.admin.check().ok


def local_blocks(memory):
    """How many blocks lie beside the rows."""
    with memory._database.read() as connection:
        rows = connection.execute(text("SELECT count(*) FROM stored_objects WHERE kind = 'block'"))
        return rows.scalar_one() + len([*(memory.path / "blocks").rglob("*.block")])


def test_a_memory_with_blocks_is_given_no_bucket(place, bucket):
    """They would stay where they are; the error says how to move, and nothing is noted or left."""
    with open_memory(place, **SETTINGS) as memory:
        fill(memory)
        assert local_blocks(memory) > 2
    with pytest.raises(InvalidInput, match="import them into a new memory"):
        open_memory(place, blocks=bucket.url, **SETTINGS)
    assert bucket.objects == {}
    with open_memory(place, **SETTINGS) as memory:
        assert memory._database.bucket is None
        assert memory.admin.check().ok


def test_a_bucket_and_a_key_do_not_go_together(tmp_path, bucket):
    """Objects are outside of the key's reach: an encrypted memory is given none, and one with some no key."""
    pytest.importorskip("sqlcipher3.dbapi2", reason="pip install 'zibaldone[encryption]'")
    key = "correct horse battery staple"
    with pytest.raises(InvalidInput, match="not encrypted by the memory's key"):
        open_memory(tmp_path / "encrypted", key=key, blocks=bucket.url, **SETTINGS)
    assert bucket.objects == {}
    with open_memory(tmp_path / "plain", blocks=bucket.url, **SETTINGS) as memory:
        fill(memory)
    with pytest.raises(InvalidInput, match="are in a bucket"):
        encrypt_folder(tmp_path / "plain", key)
    with open_memory(tmp_path / "plain", **SETTINGS) as memory:
        assert memory.admin.check().ok


def test_who_does_not_know_of_the_bucket_yet_writes_nothing_beside_it(place, bucket):
    """A process of before the bucket was named: what it wrote, nobody else would find or forget."""
    with open_memory(place, **SETTINGS) as before:
        before.add([WORDS.format(number) for number in range(12)], user="ann")
        with open_memory(place, blocks=bucket.url, **SETTINGS):
            assert ["open it again" in late.reason for late in before.maintain().behind] == [True]
        assert local_blocks(before) == 0
        with open_memory(place, **SETTINGS) as after:
            fill(after)
        assert not before.forget(user="ann", everything=True).purged
    assert not list((before.path / "index").rglob("*.index"))
    with open_memory(place, **SETTINGS) as after:
        after.maintain()
        assert not any(WORDS.format(3).encode() in data for data, _ in bucket.objects.values())


def test_a_bucket_that_overwrites_is_refused(tmp_path, bucket, monkeypatch):
    """What ignores If-None-Match is told from what honours it, before the memory is given to it."""
    put = bucket._put
    monkeypatch.setattr(bucket, "_put", lambda key, data, create: put(key, data, create=False))
    with pytest.raises(StorageUnusable, match="If-None-Match"):
        Memory(tmp_path, embedder=EMBEDDER, config=Config(blocks=bucket.url))
    with Memory(tmp_path, embedder=EMBEDDER) as memory:
        assert memory._database.bucket is None


def test_two_memories_below_one_prefix(tmp_path, bucket):
    """Neither sweeps away, lists or verifies what is the other's, though their users have the same names."""
    with (
        open_memory(tmp_path / "1", blocks=bucket.url, **SETTINGS) as one,
        open_memory(tmp_path / "2", blocks=bucket.url, **SETTINGS) as two,
    ):
        for memory in (one, two):
            memory.add([WORDS.format(number) for number in range(12)], user="ann")
            memory.maintain()
        one.forget(user="ann", everything=True)
        assert two.admin.check().ok
        assert two.recall("Qantril", user="ann", views=["chunks"], min_confidence=0).evidence


def test_what_is_forgotten_leaves_the_bucket(memory, bucket):
    """The index, and every block that had it; what is another's stays. Verifying lists the bucket."""
    gone = [WORDS.format(number).encode() for number in (2, 3)]
    assert {words in data for data, _ in bucket.objects.values() for words in gone} == {True, False}
    receipt = memory.forget(user="ann", seqs=[3, 4], keep_texts=True)
    assert receipt.remains == ("" if receipt.purged else memory._database.remains)
    assert not any(words in data for data, _ in bucket.objects.values() for words in gone)
    assert kinds(bucket)[1] == 1
    assert any(WORDS.format(53).encode() in data for data, _ in bucket.objects.values())
    verified = memory.admin.verify(receipt)
    assert (verified.ok, verified.leftovers) == (True, ())
    assert sum(looked.kind == "object" for looked in verified.looked_at) == len(bucket.objects) > 0


def test_verifying_finds_what_was_left_in_the_bucket(memory, bucket):
    """An object with the text, of whatever kind; and one of the user's that no row names."""
    folder = next(key for key in bucket.objects if "/blocks/" in key).rsplit("/", 3)[0]
    names = {key.split("/")[3] for key in bucket.objects if "/blocks/" in key}
    receipt = memory.forget(user="ann", everything=True, keep_texts=True)
    memory.forget(user="bea", everything=True)
    for name in names:
        bucket.objects[f"{folder}/blocks/{name}/planted"] = (WORDS.format(3).encode(), datetime.now(UTC))
    leftovers = [(left.kind, left.where) for left in memory.admin.verify(receipt).leftovers]
    assert len([kind for kind, where in leftovers if kind == "text" and "planted" in where]) == 2
    assert len([kind for kind, where in leftovers if kind == "reference" and "planted" in where]) == 1


def test_opening_a_memory_asks_nothing_of_the_bucket(memory, bucket, place, monkeypatch):
    """It may be down: what a crash left is swept by whoever maintains."""
    monkeypatch.setattr(unit_cache, "_LEAST_SAVED", 1000)
    bucket.requests.clear()
    with open_memory(place, **SETTINGS) as other:
        other.add("A tulip.", user="ann")
    assert bucket.requests == []


@pytest.mark.parametrize("happens", [BucketMisbehaviour.DENIED, BucketMisbehaviour.SERVER_ERROR])
def test_a_bucket_that_does_not_answer_costs_no_message(memory, bucket, happens, place):
    """Adds and recalls go on without it; chunks say what they could not read."""
    bucket.always = happens
    with open_memory(place, **SETTINGS) as other:
        assert other.add("A tulip.", user="ann")[0].seq == 13
        assert other.recall("tulip", user="ann", min_confidence=0).evidence
        assert other.recall("Qantril pump", user="ann", min_confidence=0).evidence
    bucket.always = None
    assert memory.recall("Qantril", user="ann", views=["chunks"], min_confidence=0).evidence


def test_what_could_not_be_deleted_yet_is_deleted_later(memory, bucket):
    """Forgetting says so; the rows know which objects, and the next maintenance does it."""
    memory.forget(user="bea", everything=True)
    seqs = [message.seq for message in memory.messages(user="ann")]
    refuse = bucket._delete
    bucket._delete = lambda _: bucket.misbehave.extend([BucketMisbehaviour.DENIED] * 9)
    receipt = memory.forget(user="ann", seqs=seqs[:3])
    bucket._delete = refuse
    bucket.misbehave.clear()
    assert not receipt.purged
    memory.add("Rye bread.", user="ann")
    memory.maintain()
    gone = [WORDS.format(number).encode() for number in range(3)]
    assert not any(words in data for data, _ in bucket.objects.values() for words in gone)
    assert memory.admin.check().ok


def test_an_index_that_a_killed_writer_left_is_swept(memory, bucket):
    """Once it is older than a write takes; one that is being written now is left alone."""
    database = memory._database
    arrays = {}
    draft = database.saved.draft("ann", "other", arrays, {})
    draft.__enter__()  # and never left
    with_draft = kinds(bucket)[1]
    database.saved.sweep()
    assert kinds(bucket)[1] == with_draft
    with database.unlocked() as connection:
        hour_ago = database.now_us(connection) - 3_700_000_000
        connection.execute(
            text("UPDATE saved_indexes SET since_us = :us WHERE name = 'other'"), {"us": hour_ago}
        )
    database.saved.sweep("bea")
    assert kinds(bucket)[1] == with_draft
    memory.admin.start_worker()
    assert kinds(bucket)[1] == with_draft - 1


def test_an_older_snapshot_takes_no_newer_index_away(memory, bucket):
    """An object that was current then, and is gone by now: the one that is current now stays so."""
    database = memory._database
    with database.read("ann") as older:
        (then,) = older.execute(current := text(CURRENT)).scalars()
        memory.add([WORDS.format(number) for number in range(20, 60)], user="ann")
        memory.maintain()
        with database.read("ann") as connection:
            (now,) = connection.execute(current).scalars()
        assert (then != now, any(key.endswith(then) for key in bucket.objects)) == (True, False)
        assert database.saved.contents("ann", then) is None
    with database.read("ann") as connection:
        assert list(connection.execute(current).scalars()) == [now]


def test_a_forked_child_is_told(memory, bucket):
    """The threads of obstore stay with the parent: a child gets an error, and does not wait for ever."""
    child = os.fork()
    if not child:
        try:
            memory._database.bucket.get("memory")
        except StorageUnusable as error:
            os._exit(0 if "forked" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
