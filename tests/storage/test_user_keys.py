"""Keys of users: what is stored says nothing without them, and a user is forgotten by destroying one."""

import io
import json
import os
import shutil
import signal
import traceback
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.exc import StatementError

from anywhere import EVERYWHERE
from zibaldone import (
    Filter,
    InvalidInput,
    KeyDestroyed,
    KeyMissing,
    MemAttention,
    NotEncrypted,
    Placement,
    Retention,
    RetentionRule,
    StorageCorrupt,
    StorageError,
    StorageUnusable,
    WrongKey,
    encrypt_folder,
)
from zibaldone.api.config import DEFAULT_VIEWS
from zibaldone.engine import maintenance, shredding
from zibaldone.models.base import ChatReply
from zibaldone.storage import keyring as keyrings
from zibaldone.storage.key_places import KeyFolder
from zibaldone.storage.schema import blocks, chunks, hierarchy_episodes, metadata
from zibaldone.testing import HashEmbedder, ScriptedModel

pytest.importorskip("cryptography", reason="pip install 'zibaldone[encryption]'")

pytestmark = pytest.mark.usefixtures("early_indexes")

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
# Long enough not to stand in sealed bytes by chance, which a word of five letters does once in a while.
WORDS = ("quetzalcoatl", "xochimilco", "tulips along", "windflower", "greenhouse", "garden")
VIEWS = (*DEFAULT_VIEWS, "chunks", "topics", "hierarchy")
WIDELY = pytest.mark.parametrize(
    "place", ["folder", pytest.param("postgres", marks=pytest.mark.wide)], indirect=True
)
TALK = [
    {
        "content": f"On {day} May Quetzalcoatl planted {day * 7} tulips along path {day * 13} in Xochimilco.",
        "session": "garden of Quetzalcoatl",
        "id": f"xochimilco-{day}",
        "name": "Quetzalcoatl",
        "metadata": {"where": "greenhouse"},
    }
    for day in range(1, 13)
]


@pytest.fixture
def sealed(opened_anywhere, tmp_path):
    """Opens a memory whose users have keys; blocks are small, so that some are written."""

    def sealed(name="memory", **options):
        given = {
            "key": KEY,
            "user_keys": tmp_path / "keys",
            "embedder": HashEmbedder(),
            "chunks": MemAttention(chunk_gate_tokens=100),
            "placement": Placement(block_bytes=400, staged_blocks=0),
        }
        return opened_anywhere(name, **given | options)

    return sealed


def filled(memory):
    """With all that Ann said, read by every view."""
    memory.add(TALK, user="ann")
    memory.add("My sister plays the bassoon in Lisbon.", user="zoe")
    memory.user("ann").items.put(("greenhouse",), "windflower", {"kind": "Xochimilco"})
    memory.user("ann").retain(Retention(rules=[RetentionRule(days=9000, session="garden of Quetzalcoatl")]))
    memory.maintain(views=VIEWS)
    return memory


def stored(memory):
    """Every byte of all rows and of all files, in small letters."""
    database = memory._database
    with database.read() as connection:
        rows = [
            repr(tuple(row)).encode()
            for table in metadata.sorted_tables
            for row in connection.exec_driver_sql(f'SELECT * FROM "{table.name}"')
        ]
    files = [path.read_bytes() for path in memory.path.rglob("*") if path.is_file()]
    return b"\n".join([*rows, *files]).lower()


@EVERYWHERE
def test_no_word_of_a_user_is_stored_as_it_was_said(sealed):
    """In no row and in no file, of messages or of what was made of them; and all of it is found."""
    memory = filled(sealed())
    there = stored(memory)
    with memory._database.read() as connection:
        assert connection.execute(blocks.select()).first() is not None
    assert [word for word in WORDS if word.encode() in there] == []
    assert "tulips along path 91" in memory.recall("tulips on 7 May", user="ann", views=VIEWS).text
    assert [message.content for message in memory.messages(user="ann")][: len(TALK)] == [
        message["content"] for message in TALK
    ]
    assert memory.admin.check().faults == ()


@WIDELY
def test_what_is_looked_up_is_found(sealed):
    """By id, session, metadata and item, in another process; and what is added twice is stored once."""
    filled(sealed()).close()
    memory = sealed()
    assert memory.add(TALK, user="ann")[6].seq == 7
    assert memory.get("xochimilco-7", user="ann").seq == 7
    assert memory.get("xochimilco-7", user="zoe") is None
    assert len(memory.messages(user="ann", filter=Filter(session="garden of Quetzalcoatl"))) == len(TALK)
    assert memory.messages(user="ann", filter=Filter(session="garden")) == []
    assert len(memory.messages(user="ann", filter=Filter(metadata={"where": "greenhouse"}))) == len(TALK)
    assert memory.user("ann").items.get(("greenhouse",), "windflower").value == {"kind": "Xochimilco"}
    assert [item.key for item in memory.user("ann").items.search(("greenhouse",))] == ["windflower"]
    assert [one.title for one in memory.user("ann").titled_sessions()[0]] == [TALK[0]["content"]]
    edited = memory.update(7, "On 7 May nobody planted anything.", user="ann")
    assert memory.recall("7 May", user="ann").text.count("nobody planted") == 1
    assert memory.forget(user="ann", seqs=[7]).seqs == (7, edited.seq)
    assert memory.admin.check().faults == ()


@WIDELY
def test_one_user_s_key_opens_nothing_of_another_s(sealed):
    """The same words of two users have nothing in common where they lie."""
    memory = sealed()
    memory.add([{"content": "The same words.", "id": "one", "session": "s"}], user="ann")
    memory.add([{"content": "The same words.", "id": "one", "session": "s"}], user="zoe")
    with memory._database.read() as connection:
        rows = connection.exec_driver_sql("SELECT id, session, content FROM messages").all()
    assert all(first != second for first, second in zip(*rows, strict=True))
    keyring = memory._database.keyring
    mine, other = keyring.of_user("ann"), keyring.of_user("zoe")
    with pytest.raises(ValueError, match="another place or key"):
        other.open(mine.seal(b"said"))


@WIDELY
def test_who_may_open(sealed, opened_anywhere, anywhere, tmp_path):
    """Without keys, with another, with those of another memory: typed, and nothing is changed or made."""
    filled(sealed()).close()
    for options, error in (
        ({"key": None, "user_keys": None}, KeyMissing),
        ({"user_keys": None}, InvalidInput if "://" in str(anywhere("memory")) else KeyMissing),
        ({"key": None}, KeyMissing),
        ({"key": OTHER}, WrongKey),
        ({"key": "a passphrase that is long"}, WrongKey),
        ({"user_keys": tmp_path / "nothing"}, KeyMissing),
    ):
        with pytest.raises(error):
            sealed(**options)
    assert not (tmp_path / "nothing").exists()
    sealed("another", user_keys=tmp_path / "others").close()
    with pytest.raises(WrongKey, match="another memory"):
        sealed(user_keys=tmp_path / "others")
    opened_anywhere("plain").add("Said before.", user="ann")
    with pytest.raises(NotEncrypted, match="new memory"):
        sealed("plain")
    assert sealed().recall("tulips", user="ann")


def test_keys_lie_apart_from_the_memory(sealed, tmp_path):
    """A copy of the memory's folder must not take them along."""
    for keys in (tmp_path / "memory" / "keys", tmp_path):
        with pytest.raises(InvalidInput, match="apart"):
            sealed(user_keys=keys)


def test_keys_that_are_not_mounted_are_neither_made_nor_destroyed(sealed, tmp_path):
    """What is below the mount point would be taken for them; once they are back, all goes on."""
    memory = filled(sealed())
    (tmp_path / "keys").rename(tmp_path / "away")
    (tmp_path / "keys").mkdir()
    for do in (
        lambda: memory.add("Said.", user="eve"),
        lambda: memory.forget(user="ann", everything=True, shred=True),
    ):
        with pytest.raises(StorageUnusable, match="mounted"):
            do()
    assert list((tmp_path / "keys").iterdir()) == []
    memory.close()
    (tmp_path / "keys").rmdir()
    (tmp_path / "away").rename(tmp_path / "keys")
    memory = sealed()
    assert memory.messages(user="ann") == []
    assert "bassoon" in memory.recall("sister", user="zoe").text


@WIDELY
def test_a_first_add_that_fails_leaves_no_key(sealed, tmp_path, monkeypatch):
    """The key was made before the rows; the user who comes again gets another, and others keep theirs."""
    memory = sealed()
    memory.add("The otter sleeps.", user="bea")
    before = set((tmp_path / "keys").rglob("*.key"))

    def fail(*_):
        raise RuntimeError("the power went")

    with monkeypatch.context() as patched:
        patched.setattr(maintenance, "move_cursor", fail)
        with pytest.raises(RuntimeError, match="power"):
            memory.add("The heron sleeps.", user="ann")
    assert set((tmp_path / "keys").rglob("*.key")) == before
    memory.add("The heron wakes.", user="ann")
    assert [one.content for one in memory.messages(user="ann")] == ["The heron wakes."]
    assert [one.content for one in memory.messages(user="bea")] == ["The otter sleeps."]


@WIDELY
def test_another_master_key_wraps_what_is_there(sealed, tmp_path):
    """No row is written, and no user's key."""
    filled(sealed()).close()
    before = {path.name: path.read_bytes() for path in (tmp_path / "keys").rglob("*.key")}
    keyrings.change_master_key(tmp_path / "keys", KEY, OTHER)
    keyrings.change_master_key(tmp_path / "keys", KEY, OTHER)  # of whoever was stopped, and begins again
    with pytest.raises(WrongKey):
        keyrings.change_master_key(tmp_path / "keys", KEY, bytes(range(2, 34)))
    assert {path.name: path.read_bytes() for path in (tmp_path / "keys").rglob("*.key")} == before
    with pytest.raises(WrongKey):
        sealed()
    assert "91" in sealed(key=OTHER).recall("tulips on 7 May", user="ann").text


@EVERYWHERE
@pytest.mark.wide
def test_a_shredded_user_is_gone_and_may_come_anew(sealed):
    """The receipt says what went, verify finds nothing, others stay; what is said next has another key."""
    memory = filled(sealed())
    before = memory._database.keyring.of_user("ann").number.hex()
    receipt = memory.forget(user="ann", everything=True, shred=True, keep_texts=True)
    assert (receipt.messages, receipt.key, receipt.purged) == (len(TALK) + 1, before, True)
    assert any(counted.rows for view in receipt.views for counted in view.counts)
    verified = memory.admin.verify(receipt)
    assert (verified.ok, verified.leftovers) == (True, ())
    assert memory.messages(user="ann") == []
    assert not memory.recall("tulips", user="ann")
    assert "bassoon" in memory.recall("sister", user="zoe").text
    memory.add("I am Ann, and I am new here.", user="ann")
    memory.maintain(views=VIEWS)
    assert memory._database.keyring.of_user("ann").number.hex() != before
    assert "new here" in memory.recall("who is new", user="ann").text
    assert memory.admin.check().faults == ()


@pytest.mark.wide
def test_a_backup_of_a_shredded_user_says_nothing(sealed, tmp_path):
    """The folder as it was before: others read theirs, Ann's raises a typed error that names her."""
    filled(sealed()).close()
    shutil.copytree(tmp_path / "memory", tmp_path / "backup")
    memory = sealed()
    receipt = memory.forget(user="ann", everything=True, shred=True, keep_texts=True)
    assert memory.admin.verify(receipt, also=[tmp_path / "backup"]).ok
    restored = sealed("backup")
    assert "bassoon" in restored.recall("sister", user="zoe").text
    assert restored.admin.stats().messages == len(TALK) + 2
    assert any("'ann' was destroyed" in fault for fault in restored.admin.check().faults)
    for read in (
        lambda: restored.messages(user="ann"),
        lambda: restored.recall("tulips", user="ann"),
        lambda: restored.recall("tulips", user="ann", views=["chunks"]),
        lambda: restored.user("ann").topics.documents(),
        lambda: restored.add("Said after.", user="ann"),
    ):
        with pytest.raises(KeyDestroyed, match="'ann'"):
            read()
    again = restored.forget(user="ann", everything=True, shred=True)
    assert again.messages == len(TALK) + 1
    restored.add("Said after.", user="ann")
    assert restored.admin.check().faults == ()


@EVERYWHERE
def test_what_a_model_said_is_sealed_where_it_could_not_be_used(sealed):
    """The reason why an offline answer stands in for a model's quotes the model, who saw what was said."""
    refusal = ChatReply("I will not speak of Quetzalcoatl in Xochimilco.", "refusal")
    memory = sealed(chat=ScriptedModel(lambda _: refusal))
    memory.add([f"On day {day} Quetzalcoatl planted {day * 7} tulips." for day in range(40)], user="ann")
    memory.maintain(views=VIEWS)
    assert [word for word in WORDS if word.encode() in stored(memory)] == []
    reasons = (chunks.c.degraded, hierarchy_episodes.c.degraded)
    with memory._database.read("ann") as connection:
        told = [" ".join(connection.execute(select(said)).scalars()) for said in reasons]
    assert ["Quetzalcoatl" in said for said in told] == [True, True]


def test_no_error_quotes_what_was_said(sealed, opened_anywhere, monkeypatch):
    """SQLAlchemy's errors show values of a statement, and whoever logs a traceback would log them."""
    memory = opened_anywhere("plain")
    memory.add("Said before.", user="ann")
    with memory._database.write() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER refused BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    with pytest.raises(StorageError) as refused:
        memory.add(TALK, user="ann")
    other = sealed()
    monkeypatch.setattr(keyrings.UserKey, "seal", lambda *_: 1 / 0)
    with pytest.raises(StatementError) as failed:
        other.add(TALK, user="ann")
    for error in (refused, failed):
        told = "".join(traceback.format_exception(error.value)).lower()
        assert [word for word in WORDS if f"{word} planted" in told or f"of {word}" in told] == []


def test_an_index_by_a_destroyed_key_is_made_anew(sealed, tmp_path):
    """Put back from a copy, say, beside rows of the user who came anew."""
    filled(sealed()).close()
    shutil.copytree(tmp_path / "memory" / "index", tmp_path / "index")
    memory = sealed()
    memory.forget(user="ann", everything=True, shred=True)
    memory.add("I am Ann, and I am new here.", user="ann")
    memory.close()
    shutil.copytree(tmp_path / "index", tmp_path / "memory" / "index", dirs_exist_ok=True)
    assert "new here" in sealed().recall("who is new", user="ann").text


def test_a_key_that_came_back_is_a_leftover(sealed, tmp_path):
    """A copy of the place of keys that somebody put back is what verify finds."""
    memory = filled(sealed())
    shutil.copytree(tmp_path / "keys", tmp_path / "copy")
    receipt = memory.forget(user="ann", everything=True, shred=True)
    for path in (tmp_path / "copy").rglob("*.key"):
        shutil.copy(path, tmp_path / "keys" / path.relative_to(tmp_path / "copy"))
    (leftover,) = memory.admin.verify(receipt).leftovers
    assert (leftover.kind, leftover.words) == ("key", receipt.key)


def test_the_bytes_of_a_destroyed_key_are_overwritten(tmp_path, monkeypatch):
    """Before the name goes: a disk that keeps the blocks of a deleted file keeps nothing of it."""
    place, left = KeyFolder(tmp_path / "keys"), {}
    place.put_header("{}")
    place.create("ab" * 8, b"wrapped" * 9)
    unlink = Path.unlink
    monkeypatch.setattr(
        Path, "unlink", lambda path, **options: (left.update({path.suffix: path.read_bytes()}), unlink(path))
    )
    place.erase("ab" * 8)
    assert len(left[".key"]) == 63
    assert b"wrapped" not in left[".key"]


def test_shredding_says_what_it_needs(sealed, opened_anywhere):
    """All of a user, and keys of users."""
    memory = filled(sealed())
    with pytest.raises(InvalidInput, match="everything=True"):
        memory.forget(user="ann", seqs=[1], shred=True)
    with pytest.raises(InvalidInput, match="user_keys="):
        opened_anywhere("plain").forget(user="ann", everything=True, shred=True)
    assert memory.forget(user="ann", everything=True, shred=True, dry_run=True).messages == len(TALK) + 1
    assert memory.forget(user="nobody", everything=True, shred=True).key == ""


STEPS = [
    (keyrings.Keyring, "destroy", False),
    (KeyFolder, "erase", False),
    (KeyFolder, "erase", True),
    (shredding, "_erase", False),
    (shredding, "refreshed", False),
    (shredding, "purge", False),
]


@WIDELY
@pytest.mark.parametrize("step", [1, *(pytest.param(n, marks=pytest.mark.wide) for n in (0, 2, 3, 4, 5))])
def test_whoever_is_killed_while_shredding_is_gone_on_for(sealed, step, monkeypatch, tmp_path):
    """Killed before or after each step: the next to open ends it, and others lose nothing."""
    filled(sealed()).close()
    owner, name, after = STEPS[step]
    whole = getattr(owner, name)

    def killed(*args, **options):
        if after:
            whole(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    if (child := os.fork()) == 0:
        try:
            setattr(owner, name, killed)
            sealed().forget(user="ann", everything=True, shred=True)
        finally:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    memory = sealed()
    assert memory.messages(user="ann") == []
    assert len(list((tmp_path / "keys").rglob("*.key"))) == 1  # Zoe's
    memory.add("Said after.", user="ann")
    assert "Said after" in memory.recall("what was said after", user="ann").text
    assert "bassoon" in memory.recall("sister", user="zoe").text
    assert memory.admin.check().faults == ()


@WIDELY
def test_nothing_is_acknowledged_that_a_condemned_key_seals(sealed):
    """Another process that has the key in memory may not seal by it any more."""
    first, second = filled(sealed()), sealed()
    second.add("Said in time.", user="ann")
    database = first._database
    with database.write("ann") as connection:
        database.keyring.condemn(connection, "ann")
    with pytest.raises(KeyDestroyed, match="is being destroyed"):
        second.add("Said too late.", user="ann")
    second.add("Zoe goes on.", user="zoe")
    first.forget(user="ann", everything=True, shred=True)
    second.add("Said anew.", user="ann")
    assert [message.content for message in first.messages(user="ann")] == ["Said anew."]


@WIDELY
def test_two_who_shred_at_once_take_nothing_of_who_comes_anew(sealed, monkeypatch):
    """The second one to erase finds another key, and leaves what that sealed."""
    first, second = filled(sealed()), sealed()
    destroy = keyrings.Keyring.destroy

    def meanwhile(*args):
        monkeypatch.setattr(keyrings.Keyring, "destroy", destroy)
        second.forget(user="ann", everything=True, shred=True)
        second.add("Said anew.", user="ann")
        destroy(*args)

    monkeypatch.setattr(keyrings.Keyring, "destroy", meanwhile)
    first.forget(user="ann", everything=True, shred=True)
    assert [message.content for message in first.messages(user="ann")] == ["Said anew."]
    assert "Said anew" in first.recall("what was said anew", user="ann").text


def test_blocks_and_indexes_in_a_bucket_are_sealed(sealed, bucket):
    """A folder with keys of users may have a bucket, and its objects say nothing without them."""
    memory = filled(sealed(blocks=bucket.url))
    memory.close()
    objects = [content.lower() for content, _ in bucket.objects.values()]
    assert len(objects) > 2
    assert [word for word in WORDS if any(word.encode() in content for content in objects)] == []
    memory = sealed()
    assert "91" in memory.recall("tulips on 7 May", user="ann", views=["messages", "chunks"]).text
    receipt = memory.forget(user="ann", everything=True, shred=True, keep_texts=True)
    assert memory.admin.verify(receipt).ok


def test_keys_may_lie_in_a_bucket(sealed, bucket):
    """For machines that share a database: the header, a key, its mark; and another master key."""
    where = bucket.url
    filled(sealed(user_keys=where)).close()
    keyrings.change_master_key(where, KEY, OTHER)
    with pytest.raises(WrongKey):
        sealed(user_keys=where)
    memory = sealed(user_keys=where, key=OTHER)
    receipt = memory.forget(user="ann", everything=True, shred=True)
    assert memory.admin.verify(receipt).ok
    assert [key for key in bucket.objects if key.endswith(f"keys/{receipt.key}")] == []


@pytest.mark.wide
def test_a_folder_may_be_encrypted_as_well(sealed, tmp_path):
    """Two keys for two ends: one hides counts and times of a folder that is copied, the other forgets."""
    pytest.importorskip("sqlcipher3", reason="pip install 'zibaldone[encryption]'")
    filled(sealed()).close()
    encrypt_folder(tmp_path / "memory", KEY)
    memory = sealed()
    assert memory.admin.encrypted
    assert "91" in memory.recall("tulips on 7 May", user="ann", views=["messages", "chunks"]).text
    assert memory.admin.verify(memory.forget(user="ann", everything=True, shred=True, keep_texts=True)).ok


def test_what_nobody_sealed_is_damage(sealed):
    """A plain value where a sealed one belongs raises StorageCorrupt, and is not taken for what was said."""
    memory = filled(sealed())
    with memory._database.write() as connection:
        connection.exec_driver_sql("UPDATE messages SET content = 'I agree.' WHERE seq = 3")
    with pytest.raises(StorageCorrupt, match="sealed"):
        memory.messages(user="ann")


@WIDELY
def test_several_users_in_one_import_have_each_their_own_key(sealed):
    """An import of what two said: one's key does not open the other's."""
    memory = sealed()
    said = [{"user": user, "session": "s", "content": f"Said by {user}."} for user in ("ann", "zoe")]
    memory.admin.import_(io.BytesIO("\n".join(map(json.dumps, said)).encode()))
    memory.forget(user="ann", everything=True, shred=True)
    assert memory.messages(user="ann") == []
    assert [message.content for message in memory.messages(user="zoe")] == ["Said by zoe."]


@WIDELY
def test_what_goes_by_itself_goes_by_names_that_are_sealed(sealed):
    """A default rule that names a session holds for each user, whose names are sealed otherwise."""
    policy = Retention(rules=[RetentionRule(days=1, session="old")])
    memory = sealed(retention=policy)
    for user in ("ann", "zoe"):
        said = [{"content": "Said.", "session": name, "time": "2001-01-01"} for name in ("old", "new")]
        memory.add(said, user=user)
    memory.maintain()
    assert [m.session for user in ("ann", "zoe") for m in memory.messages(user=user)] == ["new", "new"]


def test_a_user_whose_key_is_gone_holds_nobody_up(sealed, tmp_path):
    """In a backup in which a shredded user had a policy, what is due of others goes, and they go on."""
    memory = filled(sealed())
    memory.add({"content": "Old.", "time": "2001-01-01"}, user="zoe")
    memory.user("zoe").retain(Retention(rules=[RetentionRule(days=3000)]))
    memory.close()
    shutil.copytree(tmp_path / "memory", tmp_path / "backup")
    sealed().forget(user="ann", everything=True, shred=True)
    restored = sealed("backup")
    assert [(receipt.user, receipt.messages) for receipt in restored.admin.apply_retention()] == [("zoe", 1)]
    restored.add("My sister moved to Porto.", user="zoe")
    restored.maintain()
    assert "Porto" in restored.recall("where did my sister move", user="zoe").text


def test_the_command_line_shreds(run, tmp_path, monkeypatch):
    """With the place of keys in the environment; and another master key."""
    monkeypatch.setenv("ZIBALDONE_KEY", KEY.hex())
    monkeypatch.setenv("ZIBALDONE_USER_KEYS", str(tmp_path / "keys"))
    run("add", "Quetzalcoatl planted tulips.")
    monkeypatch.setenv("ZIBALDONE_NEW_KEY", OTHER.hex())
    assert run("admin", "rekey")[:2] == (0, "the new key opens the keys of users from now on\n")
    assert run("recall", "tulips")[0] == 3
    monkeypatch.setenv("ZIBALDONE_KEY", OTHER.hex())
    assert "planted tulips" in run("recall", "tulips")[1]
    receipt = str(tmp_path / "receipt.json")
    code, out, _ = run("forget", "--all", "--shred", "--yes", "--receipt", receipt)
    assert (code, "key is destroyed" in out) == (0, True)
    assert run("forget", "--verify", receipt)[0] == 0
    assert run("forget", "--seq", "1", "--shred")[0] == 2
