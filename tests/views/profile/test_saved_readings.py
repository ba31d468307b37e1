"""What was read in a user's entries is not read again by the next process."""

import sys
import threading

import pytest

from zibaldone.views import index_files
from zibaldone.views.profile import ProfileView, saved_readings

view_module = sys.modules[ProfileView.__module__]
TALK = [
    "I'm allergic to walnuts.",
    "Always include the narrator when I ask about audiobooks.",
    "I live in Porto, and my sister Anna lives in Rome.",
    "I prefer trains to planes.",
    "We decided to sell the house.",
    "I live in Braga now.",
]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Three messages are worth a file."""
    monkeypatch.setattr(index_files, "LEAST_SAVED", 3)


@pytest.fixture
def read(monkeypatch):
    """What the grammar was asked to read of stored entries since."""
    asked = []
    read_as = view_module.read_as

    def counted(kind, statement, **options):
        asked.append(statement)
        return read_as(kind, statement, **options)

    monkeypatch.setattr(view_module, "read_as", counted)
    return asked


@pytest.fixture
def filled(opened):
    """Ann's talk, maintained."""
    memory = opened()
    memory.add(TALK, user="ann")
    memory.maintain()
    return memory


def test_the_next_process_reads_nothing_again(filled, opened, read):
    """Its profile is the same, down to what was superseded and what an entry constrains."""
    expected = filled.profile("ann").entries()
    assert {entry.kind for entry in expected} >= {"fact", "instruction", "preference", "decision", "relation"}
    read.clear()
    again = opened()
    assert again.profile("ann").entries() == expected
    assert "walnuts" in again.recall("Which snack should I bake for myself?", user="ann", floor=0).text
    assert read == []


def test_what_came_since_is_read_alone(filled, opened, read):
    """Of a file that is some messages old."""
    filled.add(["I prefer tea to coffee."], user="ann")
    filled.maintain()
    filled.close()
    read.clear()
    assert "I prefer tea to coffee." in [entry.text for entry in opened().profile("ann").entries()]
    assert read == ["I prefer tea to coffee."]


def test_another_grammar_reads_all_of_it(filled, opened, read, monkeypatch):
    """A file says which code made it."""
    expected = filled.profile("ann").entries()
    monkeypatch.setattr(saved_readings, "_code", lambda: "another")
    read.clear()
    assert opened().profile("ann").entries() == expected
    assert len(read) >= len(expected)


def test_nothing_forgotten_is_in_the_file(filled, opened):
    """It goes with any message of the user's; the next one has what is left."""
    [file] = filled.path.glob("index/*/profile.index")
    assert b"audiobooks" in file.read_bytes()
    filled.forget(user="ann", seqs=[2])
    assert not file.exists()
    filled.add([f"I prefer tea number {k}." for k in range(4)], user="ann")
    filled.maintain()
    assert b"audiobooks" not in file.read_bytes()
    assert not any("audiobooks" in entry.text for entry in opened().profile("ann").entries())


def test_many_who_wait_for_one_profile_have_it_read_once(filled, opened, monkeypatch):
    """Calls of one user that come while it is read find it in memory."""
    filled.close()
    memory = opened()
    loads, entered, go_on = [], threading.Event(), threading.Event()
    load = ProfileView._load

    def slow(self, *given, **options):
        loads.append(given)
        entered.set()
        assert go_on.wait(20)
        return load(self, *given, **options)

    monkeypatch.setattr(ProfileView, "_load", slow)
    found = []

    def ask():
        found.append(memory.recall("What should I bake for myself?", user="ann", floor=0).text)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    threads[0].start()
    assert entered.wait(20)
    for thread in threads[1:]:
        thread.start()
    memory.add(["I prefer the sea to the hills."], user="bea")
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert len(found) == 4
    assert len(set(found)) == 1
    assert len(loads) == 1
