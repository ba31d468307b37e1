"""Encrypting and decrypting a folder: killed at any moment, with others at work, with a wrong key."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from children import Child

from zibaldone import (
    Config,
    InvalidInput,
    KeyMissing,
    MemAttention,
    Memory,
    NotEncrypted,
    Placement,
    StorageBusy,
    StorageUnusable,
    WrongKey,
    decrypt_folder,
    encrypt_folder,
)
from zibaldone.storage import converting
from zibaldone.testing import HashEmbedder
from zibaldone.views import unit_cache

pytest.importorskip("sqlcipher3", reason="pip install 'zibaldone[encryption]'")

KEY = bytes(range(32))
WORD = b"quetzalcoatl"
TALK = [f"On {day} May Quetzalcoatl planted {day * 7} tulips along path {day * 13}." for day in range(1, 25)]
# What Python tells before it does it; each is a moment at which to die.
STEPS = ("open", "os.link", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree")
EVERY = 8  # of these moments in `make test`


def open_(folder, key=None):
    """As the tests of this file open a folder."""
    chunks, placement = MemAttention(chunk_gate_tokens=100), Placement(block_bytes=512)
    return Memory(folder, key=key, embedder=HashEmbedder(), config=Config(chunks=chunks, placement=placement))


@pytest.fixture
def plain(tmp_path, monkeypatch):
    """A folder with messages, blocks and a saved index."""
    monkeypatch.setattr(unit_cache, "_LEAST_SAVED", 3)
    with open_(tmp_path / "plain") as memory:
        memory.add(TALK, user="ann")
        memory.maintain(views=["messages", "notes", "chunks"])
    assert {"blocks", "index"} <= {path.name for path in memory.path.iterdir()}
    return memory.path


@pytest.fixture
def encrypted(plain, tmp_path):
    """The same, encrypted."""
    shutil.copytree(plain, tmp_path / "encrypted")
    encrypt_folder(tmp_path / "encrypted", KEY)
    return tmp_path / "encrypted"


def telling(folder):
    """Files that say the word."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if WORD in path.read_bytes().lower()]


def is_whole(folder):
    """All that was said is there, and agrees with itself; nothing is plain and encrypted at once."""
    is_encrypted = (folder / "encryption.json").exists()
    with open_(folder, KEY if is_encrypted else None) as memory:
        said = [message.content for message in memory.messages(user="ann")]
        assert (said, memory.admin.check().faults) == (TALK, ())
        assert memory.recall("tulips on 7 May", user="ann", views=["messages", "chunks"])
        assert not is_encrypted or telling(folder) == []
        assert is_encrypted or not [*folder.glob("*.sqlcipher*"), *folder.glob("*.encrypted")]
    return is_encrypted


def killed_at(step, run):
    """Run it in a process that kills itself before its so many-th step; whether it got there."""

    def child(tell, hear):
        left = step

        def count(event, details):
            nonlocal left
            if event in STEPS:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        run()

    process = Child(child)
    _, status = os.waitpid(process.pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def killed_everywhere(folder, convert, back, tmp_path, every):
    """How many moments there were, and what the folders were after being killed there."""
    kinds = []
    for step in range(1, 1000, every):
        copy = tmp_path / f"killed-{step}"
        shutil.copytree(folder, copy)
        there = killed_at(step, lambda copy=copy: convert(copy, KEY))
        kinds.append(is_whole(copy))
        if not there:
            return kinds
        (convert if kinds[-1] is back else lambda *_: None)(copy, KEY)  # once more
        assert is_whole(copy) is not back
        shutil.rmtree(copy)
    raise AssertionError("it never ended")


@pytest.mark.parametrize("every", [EVERY, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.wide
def test_killed_while_encrypting(plain, tmp_path, every):
    """Until the header is there the folder is plain and whole; from then on it is encrypted and whole."""
    kinds = killed_everywhere(plain, encrypt_folder, False, tmp_path, every)
    assert kinds == sorted(kinds)
    assert (kinds[0], kinds[-1]) == (False, True)
    assert len(kinds) * every > 40
    assert kinds.count(True) > 1


@pytest.mark.parametrize("every", [EVERY, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.wide
def test_killed_while_decrypting(encrypted, tmp_path, every):
    """Until the header is gone the folder is encrypted, and what was written plain goes when it is opened."""
    kinds = killed_everywhere(encrypted, decrypt_folder, True, tmp_path, every)
    assert kinds == sorted(kinds, reverse=True)
    assert (kinds[0], kinds[-1]) == (True, False)
    assert kinds.count(False) > 1


def test_there_and_back(plain):
    """The same messages, units and vectors; its log of exports and retentions, too."""

    def rows():
        key = KEY if (plain / "encryption.json").exists() else None
        with open_(plain, key) as memory, memory._database.read() as connection:
            tables = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {
                name: sorted(map(repr, connection.exec_driver_sql(f'SELECT * FROM "{name}"')))
                for name in tables.scalars().all()
            }

    before = rows()
    (plain / "comparing-x").mkdir()
    (plain / "comparing-x" / "left by a crash").write_bytes(WORD)
    assert encrypt_folder(plain, KEY).encrypted
    assert telling(plain) == []
    assert rows() == before
    assert not decrypt_folder(plain, KEY).encrypted
    assert rows() == before
    assert not list(plain.glob("*encrypt*")) + list(plain.glob("*cipher*"))


@pytest.mark.wide
def test_who_has_it_open_writes_nothing_more(plain):
    """An add after an encryption says that the file is gone; what was added before is in the copy."""
    with open_(plain) as memory:
        memory.add("The last tulip.", user="bob")
        program = "from zibaldone.cli.start import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, "admin", "encrypt", "--memory", str(plain)],
            env={**os.environ, "ZIBALDONE_KEY": KEY.hex()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("encrypted\n")
        with pytest.raises(StorageUnusable, match="deleted or replaced"):
            memory.add("Too late.", user="bob")
    with open_(plain, KEY) as memory:
        assert [message.content for message in memory.messages(user="bob")] == ["The last tulip."]
    assert telling(plain) == []


def test_somebody_is_writing(plain):
    """The conversion waits for a while, and then leaves all as it is."""

    def child(tell, hear):
        with open_(plain) as memory, memory._database.write():
            tell("writing")
            hear()

    writer = Child(child)
    assert next(writer.told()) == "writing"
    before = sorted(path.name for path in plain.iterdir() if not path.name.endswith(("-wal", "-shm")))
    converting_ms, converting._WAIT_MS = converting._WAIT_MS, 50
    try:
        with pytest.raises(StorageBusy, match="close the memory"):
            encrypt_folder(plain, KEY)
    finally:
        converting._WAIT_MS = converting_ms
        writer.kill()
    after = sorted(path.name for path in plain.iterdir() if not path.name.endswith(("-wal", "-shm")))
    assert after == before
    assert is_whole(plain) is False


def test_a_second_conversion_beside_the_first(plain):
    """One at a time."""
    with converting._converting(plain), pytest.raises(StorageBusy, match="being encrypted"):
        encrypt_folder(plain, KEY)


def test_what_cannot_be_converted(plain, encrypted, tmp_path):
    """Each says why, and what to do."""
    (tmp_path / "empty").mkdir()
    for convert, folder, key, error, says in (
        (encrypt_folder, encrypted, KEY, InvalidInput, "encrypted already"),
        (decrypt_folder, plain, KEY, NotEncrypted, None),
        (decrypt_folder, encrypted, bytes(32), WrongKey, None),
        (decrypt_folder, encrypted, "", KeyMissing, None),
        (encrypt_folder, plain, b"", KeyMissing, "ZIBALDONE_KEY"),
        (encrypt_folder, plain, "short", InvalidInput, "12 characters"),
        (encrypt_folder, tmp_path / "nowhere", KEY, StorageUnusable, "no folder"),
        (encrypt_folder, tmp_path / "empty", KEY, InvalidInput, "holds no memory"),
    ):
        with pytest.raises(error, match=says):
            convert(folder, key)
    (plain / "kv" / "pool").mkdir(parents=True)
    (plain / "kv" / "pool" / "blocks").write_bytes(b"x")
    with pytest.raises(InvalidInput, match="keys and values"):
        encrypt_folder(plain, KEY)
    assert is_whole(plain) is False
    assert is_whole(encrypted)


def test_what_is_not_ours_stays_and_is_named(plain):
    """Somebody's notes in the folder."""
    (plain / "notes.txt").write_text("mine")
    assert encrypt_folder(plain, KEY).others == ("notes.txt",)
    assert (plain / "notes.txt").read_text() == "mine"


def test_on_the_command_line(plain, run, tmp_path):
    """Encrypted, given another key, decrypted; without a key each says which variable it wants."""
    at = ("--memory", str(plain))
    mine, other = {"ZIBALDONE_KEY": KEY.hex()}, {"ZIBALDONE_KEY": "another passphrase"}
    assert run("admin", "encrypt", *at)[0] == 3
    assert run("admin", "encrypt", *at, env=mine)[0] == 0
    code, _, error = run("recall", "tulips", "--user", "ann", *at)
    assert (code, "ZIBALDONE_KEY_COMMAND" in error) == (3, True)
    assert "tulips" in run("recall", "tulips", "--user", "ann", *at, env=mine)[1]
    assert run("admin", "rekey", *at, env=mine)[0] == 3
    assert run("admin", "rekey", *at, env={**mine, "ZIBALDONE_NEW_KEY": other["ZIBALDONE_KEY"]})[0] == 0
    assert run("recall", "tulips", "--user", "ann", *at, env=mine)[0] == 3
    assert run("admin", "decrypt", *at, env=other)[0] == 0
    assert "tulips" in run("recall", "tulips", "--user", "ann", *at)[1]
    assert is_whole(plain) is False
    assert Path(plain).exists()
