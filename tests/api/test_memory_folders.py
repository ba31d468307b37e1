"""Folders: opened once and again, by several objects and threads, under any name, and closed."""

import threading
from pathlib import Path

import pytest

from talk import same
from zibaldone import ClosedMemory, InvalidInput, Memory

pytestmark = pytest.mark.usefixtures("made_from_nothing")

TALK = ["My dentist is Dr. Moss.", "Noted: Dr. Moss.", "I bake rye bread on Sundays.", "   \n"]


@pytest.mark.parametrize("name", ["zibaldone.sqlite3", "commonplace.sqlite3"])
def test_opening_again_keeps_everything(opened, tmp_path, name):
    """Opening a folder never wipes it, by its earlier name either; a with block leaves one file."""
    with opened() as memory:
        memory.add(TALK, user="ann")
        before = memory.messages(user="ann"), same(memory.recall("dentist", user="ann"))
    (file,) = (tmp_path / "memory").iterdir()
    assert file.name == "zibaldone.sqlite3"
    file.rename(file.with_name(name))
    again = opened()
    assert (again.messages(user="ann"), same(again.recall("dentist", user="ann"))) == before
    again.add("And tea.", user="ann")
    assert {path.name.partition("-")[0] for path in again.path.iterdir()} == {name}


@pytest.mark.parametrize("name", ["a?b=c", "a#b", "a%20b", "a b", "ü:@", "file:x?mode=memory", ":memory:"])
def test_folders_of_any_name(opened, tmp_path, name):
    """A folder's name is a name, whatever it means in a URL."""
    opened(name).add("x", user="ann")
    assert (tmp_path / name / "zibaldone.sqlite3").stat().st_size
    assert [p.name for p in tmp_path.iterdir()] == [name]


def modes(folder):
    """The permissions of others than the owner, of a folder and of all that is in it."""
    return {path.name: path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*")) if path.is_file()}


def test_a_new_folder_is_the_owners_alone(opened, tmp_path):
    """Nobody else may enter it, nor read the database and what lies beside it."""
    opened("new/memory").add("My PIN is 4711.", user="ann")
    assert (tmp_path / "new" / "memory").stat().st_mode & 0o777 == 0o700
    assert modes(tmp_path / "new" / "memory") == dict.fromkeys(
        ("zibaldone.sqlite3", "zibaldone.sqlite3-shm", "zibaldone.sqlite3-wal"), 0
    )


def test_a_folder_that_was_there_keeps_its_rights(opened, tmp_path):
    """So does a database that its owner shares with a group; what is made in it anew is private."""
    folder = tmp_path / "memory"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with opened() as memory:
        memory.add("x", user="ann")
    assert folder.stat().st_mode & 0o777 == 0o755
    assert modes(folder) == {"zibaldone.sqlite3": 0}
    (folder / "zibaldone.sqlite3").chmod(0o660)
    opened().add("y", user="ann")
    assert modes(folder)["zibaldone.sqlite3"] == 0o060


@pytest.mark.parametrize("url", ["mssql://sa:secret@host/db", "sqlite:///memory.db", "mysql+pymysql://h/d"])
def test_a_url_that_no_memory_can_have_is_refused(url, tmp_path, monkeypatch):
    """It is no folder's name: the error says which URLs are known, and shows no password."""
    monkeypatch.chdir(tmp_path)
    for place in (url, Path(url)):
        with pytest.raises(InvalidInput, match="postgresql://user@host/name") as caught:
            Memory(place)
        assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_relative_folder_stays_where_it_was(tmp_path, monkeypatch):
    """The folder does not move when the process goes elsewhere."""
    monkeypatch.chdir(tmp_path)
    with Memory("memory") as memory:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        memory.add("x", user="ann")
        other = threading.Thread(target=memory.users)  # a thread of its own gets a connection of its own
        other.start()
        other.join()
        assert memory.path == tmp_path / "memory"
        assert list((tmp_path / "elsewhere").iterdir()) == []


def test_closed(memory, tmp_path):
    """After close, which may be called twice, every method says that the memory is closed."""
    memory.close()
    memory.close()
    calls = [
        lambda: memory.add("x", user="ann"),
        lambda: memory.recall("x", user="ann"),
        lambda: memory.messages(user="ann"),
        lambda: memory.user("ann").sessions(),
        memory.users,
        lambda: memory.forget(user="ann", everything=True),
        lambda: memory.forget(user="ann", everything=True, dry_run=True),
        lambda: memory.user("ann").export(path=tmp_path / "out"),
        lambda: memory.builds.rebuild(user="ann"),
        memory.admin.stats,
        memory.admin.check,
    ]
    for call in calls:
        with pytest.raises(ClosedMemory):
            call()


def test_two_memories_of_one_folder(opened):
    """Each of two objects sees at once what the other added or forgot."""
    one, two = opened(), opened()
    one.add("A tulip.", user="ann")
    assert two.recall("tulip", user="ann")
    two.add("Another tulip.", user="ann")
    assert len(one.recall("tulip", user="ann").evidence) == 2
    two.forget(user="ann", seqs=[1])
    assert [e.sources for e in one.recall("tulip", user="ann").evidence] == [(2,)]


def test_many_threads(memory):
    """Threads that add and recall at once get every message stored once, in one row of seqs."""
    faults = []

    def work(number):
        try:
            for i in range(5):
                memory.add([f"thread {number} tulip {i}", "and one more"], user="ann", session=str(number))
                assert memory.recall(f"tulip {i}", user="ann")
        except Exception as error:  # noqa: BLE001 - handed to the test below
            faults.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    stored = memory.messages(user="ann")
    assert [m.seq for m in stored] == list(range(1, 8 * 5 * 2 + 1))
    assert {m.content for m in stored} >= {f"thread {n} tulip {i}" for n in range(8) for i in range(5)}
    assert memory.admin.check().ok
    assert memory.admin.stats().views[0].lag == 0
