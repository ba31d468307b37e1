"""Folders that are encrypted: no word in any file, who may open them, and what damage says."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from zibaldone import (
    InvalidInput,
    KeyMissing,
    MemAttention,
    Memory,
    NotEncrypted,
    Placement,
    StorageCorrupt,
    StorageError,
    StorageUnusable,
    WrongKey,
    change_key,
)
from zibaldone.api.config import DEFAULT_VIEWS
from zibaldone.storage import encryption
from zibaldone.testing import HashEmbedder
from zibaldone.views import unit_cache

dbapi2 = pytest.importorskip("sqlcipher3.dbapi2", reason="pip install 'zibaldone[encryption]'")

pytestmark = pytest.mark.usefixtures("early_indexes")

KEY = bytes(range(32))
PHRASE = "correct horse battery staple"
SECRET = "Quetzalcoatl"
LEFT = "The clinic in Delfshaven fitted pump seven for my knee in the cold spring of that year."
VIEWS = (*DEFAULT_VIEWS, "chunks", "topics", "hierarchy")
TALK = [
    {
        "content": f"On {day} May {SECRET} planted {day * 7} tulips along path {day * 13} near Xochimilco.",
        "session": f"garden {SECRET}",
        "id": f"{SECRET}-{day}",
        "name": SECRET,
        "metadata": {"where": SECRET},
    }
    for day in range(1, 25)
]


@pytest.fixture
def encrypted(opened):
    """Opens a folder with the key; blocks are small, so that some are written."""

    def encrypted(name="memory", key=KEY, **options):
        small = {"chunks": MemAttention(chunk_gate_tokens=100), "placement": Placement(block_bytes=512)}
        return opened(name, key=key, embedder=HashEmbedder(), **{**small, **options})

    return encrypted


def fill(memory):
    """Messages, all that views make of them, and a saved index."""
    memory.add(TALK, user=SECRET)
    memory.maintain(views=VIEWS)
    return memory


def telling(folder, word=SECRET):
    """Files below a folder that say a word, in any case, or have it in their name."""
    pattern = re.compile(re.escape(word).encode(), re.IGNORECASE)
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return [
        str(path.relative_to(folder))
        for path in files
        if pattern.search(path.read_bytes()) or word.lower() in str(path.relative_to(folder)).lower()
    ]


def test_no_file_says_a_word(encrypted):
    """Neither while it is open, with its log, blocks and indexes, nor after a forgetting, nor when closed."""
    memory = fill(encrypted())
    assert memory.admin.encrypted
    kinds = {path.relative_to(memory.path).parts[0] for path in memory.path.rglob("*")}
    assert kinds == {
        "encryption.json",
        "zibaldone.sqlcipher",
        "zibaldone.sqlcipher-wal",
        "zibaldone.sqlcipher-shm",
        "blocks.encrypted",
        "index.encrypted",
    }
    for word in (SECRET, "tulip", "Xochimilco", "session"):
        assert telling(memory.path, word) == []
    memory.forget(user=SECRET, seqs=[3])
    assert telling(memory.path) == []
    memory.close()
    assert telling(memory.path) == []
    plain = encrypted("plain", key=None)
    assert {Path(name).parts[0] for name in telling(fill(plain).path)} >= {"zibaldone.sqlite3-wal", "blocks"}


def test_a_saved_index_is_opened(encrypted, monkeypatch):
    """And not made anew; a damaged one is."""
    fill(encrypted()).close()
    made = []
    keep = unit_cache.units.load
    monkeypatch.setattr(
        unit_cache.units, "load", lambda *a, **k: made.append(k.get("after")) or keep(*a, **k)
    )
    encrypted().recall("tulips", user=SECRET, views=["messages"])
    assert 0 not in made
    (file,) = encrypted().path.glob("index.encrypted/*/messages-*.index")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert encrypted().recall("tulips", user=SECRET, views=["messages"])
    assert 0 in made


@pytest.mark.parametrize(
    ("made_with", "opened_with", "error", "says"),
    [
        (KEY, None, KeyMissing, "ZIBALDONE_KEY"),
        (KEY, bytes(32), WrongKey, "not that of"),
        (KEY, PHRASE, WrongKey, "not that of"),
        (PHRASE, PHRASE + "!", WrongKey, "not that of"),
        (PHRASE, KEY, WrongKey, "not that of"),
        (None, KEY, NotEncrypted, "zibaldone admin encrypt"),
    ],
)
def test_who_may_not_open_it(encrypted, made_with, opened_with, error, says):
    """Each says what is wrong, and changes nothing."""
    memory = encrypted(key=made_with)
    memory.add("tulip", user="ann")
    memory.close()
    before = {path.name: path.read_bytes() for path in memory.path.iterdir()}
    with pytest.raises(error, match=says):
        encrypted(key=opened_with)
    assert {path.name: path.read_bytes() for path in memory.path.iterdir()} == before
    assert issubclass(error, StorageUnusable)
    assert encrypted(key=made_with).recall("tulip", user="ann")


@pytest.mark.parametrize(("made_with", "opened_with"), [(KEY, KEY.hex()), (PHRASE, PHRASE.encode())])
def test_two_ways_of_giving_one_key(encrypted, made_with, opened_with):
    """Bytes or hexadecimal digits; a phrase or its UTF-8."""
    encrypted(key=made_with).add("tulip", user="ann")
    assert encrypted(key=opened_with).recall("tulip", user="ann")


@pytest.mark.parametrize("key", ["", "short", b"", b"x" * 11, 7, ["a long enough list of"]])
def test_what_is_no_key(encrypted, key):
    """Nothing is made with it."""
    with pytest.raises(InvalidInput, match="key must be"):
        encrypted(key=key)


def test_another_key(encrypted):
    """It opens the folder from then on, and the old one no longer; nothing else is written."""
    memory = fill(encrypted())
    memory.close()
    others = {path: path.read_bytes() for path in memory.path.rglob("*") if path.suffix == ".sqlcipher"}
    with pytest.raises(WrongKey):
        change_key(memory.path, PHRASE, bytes(32))
    change_key(memory.path, KEY, PHRASE)
    assert {path: path.read_bytes() for path in others} == others
    with pytest.raises(WrongKey):
        encrypted()
    assert encrypted(key=PHRASE).recall("tulips", user=SECRET)


def test_a_header_that_is_gone_or_damaged(encrypted):
    """No new memory is begun in its place, with or without a key."""
    memory = fill(encrypted())
    memory.close()
    header = memory.path / "encryption.json"
    text = header.read_text()
    for damaged in ("", "{}", "[]", text.replace('"salt": "', '"salt": "x'), text.replace("keys", "kyes")):
        header.write_text(damaged)
        with pytest.raises(StorageCorrupt, match=r"encryption\.json"):
            encrypted()
    header.write_text(text.replace('"version": 1', '"version": 2'))
    with pytest.raises(StorageUnusable, match="newer version"):
        encrypted()
    header.unlink()
    for key in (None, KEY):
        with pytest.raises(StorageCorrupt, match=r"encryption\.json' is missing"):
            encrypted(key=key)
    header.write_text(text)
    assert encrypted().recall("tulips", user=SECRET)


def test_a_changed_page_is_noticed(encrypted):
    """One bit of the database."""
    memory = fill(encrypted())
    memory.close()
    file = memory.path / "zibaldone.sqlcipher"
    data = bytearray(file.read_bytes())
    for place in range(5000, len(data), 4096):
        data[place] ^= 1
    file.write_bytes(data)
    with pytest.raises(StorageCorrupt):
        encrypted().recall("tulips", user=SECRET)


def test_a_block_in_another_ones_place_is_noticed(encrypted):
    """It would say what another user's does, or what it said before."""
    memory = fill(encrypted())
    one, other = sorted(memory.path.glob("blocks.encrypted/*/*.block"))[:2]
    one.write_bytes(other.read_bytes())
    assert any("damaged" in fault for fault in memory.admin.check().faults)
    memory.builds.rebuild("chunks", user=SECRET)
    assert memory.admin.check().ok


def leave_in_a_free_page(memory, *, in_the_log):
    """A program that does not overwrite what it deletes."""
    file, keys = memory.path / "zibaldone.sqlcipher", memory._database._keys
    with closing(dbapi2.connect(str(file), isolation_level=None)) as connection:
        connection.execute(f'PRAGMA key="{keys.sqlcipher_literal}"')
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute("CREATE TABLE left_over (text TEXT)")
        connection.execute("INSERT INTO left_over VALUES (?)", [LEFT + " " + "x" * 9000])
        connection.execute("DROP TABLE left_over")
        if not in_the_log:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_verify_reads_what_files_say(encrypted):
    """Of encrypted files, too, it finds what was left: in the database, its log, a block and an index."""
    memory = encrypted()
    memory.add([LEFT, *(message["content"] for message in TALK)], user="ann")
    memory.maintain(views=VIEWS)
    receipt = memory.forget(user="ann", seqs=[1], keep_texts=True)
    assert memory.admin.verify(receipt).ok
    folder, database = next(memory.path.glob("blocks.encrypted/*")).name, memory._database
    database.blocks.put(f"{folder}/{'0' * 32}", LEFT.encode())
    database.saved.store.put(f"{folder}/old", LEFT.encode())
    leave_in_a_free_page(memory, in_the_log=False)
    leave_in_a_free_page(memory, in_the_log=True)
    found = [left.where for left in memory.admin.verify(receipt).leftovers]
    places = ("zibaldone.sqlcipher, bytes", "zibaldone.sqlcipher-wal, bytes", "blocks.enc", "index.enc")
    assert [any(where.startswith(place) for where in found) for place in places] == [True] * 4


def test_a_key_for_a_server(monkeypatch):
    """What PostgreSQL keeps is not ours to encrypt."""
    with pytest.raises(InvalidInput, match="a key is for a folder"):
        Memory("postgresql+psycopg://nobody@127.0.0.1:1/none", key=KEY)


def test_the_key_of_the_environment(encrypted, monkeypatch):
    """As it is, or printed by a command; what fails says which command, and never the key."""
    memory = fill(encrypted())
    memory.close()
    monkeypatch.setenv("ZIBALDONE_KEY", KEY.hex())
    with Memory.from_env(memory.path, embedder=HashEmbedder()) as again:
        assert again.recall("tulips", user=SECRET)
    with pytest.raises(KeyMissing):
        Memory(memory.path)
    monkeypatch.setenv("ZIBALDONE_KEY", "")
    monkeypatch.setenv("ZIBALDONE_KEY_COMMAND", f"echo {KEY.hex()}")
    with Memory.from_env(memory.path, embedder=HashEmbedder()) as again:
        assert again.recall("tulips", user=SECRET)
    for command in ("false", "true", "/no/such/program", "echo 'half"):
        monkeypatch.setenv("ZIBALDONE_KEY_COMMAND", command)
        with pytest.raises(InvalidInput, match="ZIBALDONE_KEY_COMMAND"):
            Memory.from_env(memory.path)


def test_two_begin_one_folder_at_once(tmp_path):
    """Whose header is there first decides; the other one reads it."""
    tmp_path.joinpath("new").mkdir()
    keys, text = encryption.new_header(KEY)
    assert encryption.put_header(tmp_path / "new", text)
    assert not encryption.put_header(tmp_path / "new", encryption.new_header(KEY)[1])
    assert encryption.folder_keys(tmp_path / "new", KEY, is_plain=False) == keys
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["encryption.json"]
    assert (tmp_path / "new" / "encryption.json").stat().st_mode & 0o777 == 0o600


def test_an_export_into_the_folder_is_refused(encrypted, opened):
    """It would lie there plain, and might be the database."""
    memory = fill(encrypted())
    other = opened("other")
    other.add("tulip", user="ann")
    with pytest.raises(InvalidInput):
        other.user("ann").export(path=memory.path / "zibaldone.sqlcipher")
    with pytest.raises(StorageError):
        Memory(memory.path)
