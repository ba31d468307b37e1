"""The audit log: who read, wrote and forgot, and never what it said."""

import json
import sqlite3
from contextlib import closing

import pytest

from zibaldone import Filter, InvalidInput, Memory, Retention, RetentionRule, StorageBusy
from zibaldone.log.audit import acting
from zibaldone.testing import HashEmbedder

SECRET = "The eagle lands at midnight"


@pytest.fixture
def noted(opened):
    """A memory that is audited."""
    return opened(embedder=HashEmbedder(16), audit=True)


def lines(memory, **which):
    """(action, operation, door, count) of each entry."""
    return [(entry.action, entry.operation, entry.door, entry.count) for entry in memory.admin.audit(**which)]


def test_who_read_wrote_and_forgot(noted, tmp_path, clock):
    """Each method once, whatever others it calls; what changes nothing for anybody is no entry."""
    noted.add([SECRET, "I bake rye."], user="ann", session="s")
    noted.recall("eagle", user="ann", min_confidence=0)
    noted.search("eagle", user="ann")
    noted.messages(user="ann")
    noted.user("ann").sessions()
    noted.get(1, user="ann")
    noted.update(2, "I bake wheat.", user="ann")
    noted.user("ann").export(path=tmp_path / "out")
    noted.user("ann").profile.entries()
    noted.forget(user="ann", seqs=[1], dry_run=True)
    receipt = noted.forget(user="ann", session="s", keep_texts=True)
    noted.admin.verify(receipt)
    noted.maintain()
    noted.admin.stats()
    noted.user("ann").items.put(("a",), "b", {"c": 1})
    noted.user("ann").retain(Retention([RetentionRule(9000)]))
    noted.user("ann").retain(None)
    assert lines(noted) == [
        ("write", "add", "library", 2),
        ("read", "recall", "library", 2),
        ("read", "search", "library", 2),
        ("read", "messages", "library", 2),
        ("read", "sessions", "library", 1),
        ("read", "get", "library", 1),
        ("write", "update", "library", 1),
        ("read", "export", "library", 3),
        ("read", "profile", "library", 1),
        ("read", "forget", "library", 1),
        ("forget", "forget", "library", 3),
        ("read", "verify", "library", 3),
        ("read", "items", "library", 1),
        ("write", "add", "library", 1),
        *[("write", "retain", "library", 1)] * 2,
    ]
    entries = noted.admin.audit()
    assert [entry.number for entry in entries] == list(range(1, 17))
    assert {(entry.user, entry.time, entry.key) for entry in entries} == {("ann", clock(), None)}


def test_no_word_of_what_it_was(noted):
    """Neither messages nor questions, sessions, names or ids are in an entry."""
    noted.add({"content": SECRET, "session": "plans", "name": "Zoe", "id": "id-7"}, user="ann")
    noted.recall(SECRET, user="ann", filter=Filter(session="plans"))
    noted.forget(user="ann", session="plans")
    with closing(sqlite3.connect(noted.path / "zibaldone.sqlite3")) as connection:
        rows = str(connection.execute("SELECT * FROM audit").fetchall())
    assert len(noted.admin.audit()) == 3
    assert not any(word in rows for word in ("eagle", "plans", "Zoe", "id-7"))


def test_nothing_is_noted_unless_it_is_asked_for(memory, tmp_path, monkeypatch):
    """Off by default; a variable switches it on for the command line and the server."""
    memory.add(SECRET, user="ann")
    memory.recall("eagle", user="ann")
    assert memory.admin.audit() == []
    monkeypatch.setenv("ZIBALDONE_AUDIT", "1")
    with Memory.from_env(tmp_path / "other") as other:
        other.add(SECRET, user="ann")
        assert lines(other) == [("write", "add", "library", 1)]
    monkeypatch.setenv("ZIBALDONE_AUDIT", "perhaps")
    with pytest.raises(InvalidInput, match="ZIBALDONE_AUDIT must be 1 or 0"):
        Memory.from_env(tmp_path / "third")


def test_an_entry_stands_or_falls_with_what_it_is_of(noted, monkeypatch):
    """A write that fails leaves none, and a forgetting that is stored has one."""
    noted.add({"content": SECRET, "id": "1"}, user="ann")
    with pytest.raises(Exception, match="is taken by message 1"):
        noted.add(["Something.", {"content": "Other.", "id": "1"}], user="ann")
    assert lines(noted) == [("write", "add", "library", 1)]


def test_which_entries(noted, clock):
    """Entries are narrowed to one user, a time, the newest."""
    noted.add(SECRET, user="ann")
    noted.add(SECRET, user="bea")
    noted.add(SECRET, user="ann")
    assert [entry.user for entry in noted.admin.audit()] == ["ann", "ann", "bea"]
    assert [entry.number for entry in noted.admin.audit(user="ann")] == [1, 2]
    assert [entry.number for entry in noted.admin.audit(user="ann", newest=1)] == [2]
    assert noted.admin.audit(since="2100-01-01") == []


def test_what_is_done_through_another_door(noted):
    """Who acts is known in what they call, and forgotten afterwards."""
    with acting("rest", "key-1"):
        noted.add(SECRET, user="ann")
    noted.get(1, user="ann")
    assert [(entry.door, entry.key) for entry in noted.admin.audit()] == [
        ("rest", "key-1"),
        ("library", None),
    ]


def test_the_command_line(run):
    """Its door is its own; entries come as a table or as JSON."""
    on = {"ZIBALDONE_AUDIT": "1"}
    assert run("add", SECRET, env=on)[0] == 0
    assert run("recall", "eagle", "--min-confidence", "0", env=on)[0] == 0
    entries = json.loads(run("admin", "audit", "--json")[1])
    assert [(entry["operation"], entry["door"]) for entry in entries] == [("add", "cli"), ("recall", "cli")]
    assert "recall\tcli" in run("admin", "audit", "--newest", "1")[1]
    assert run("admin", "audit", "--user", "nobody")[0] == 2


def test_a_read_that_cannot_be_noted_gives_nothing(opened):
    """While another holds the database; the error is of the read, and nothing of it is noted."""
    noted = opened(embedder=HashEmbedder(16), audit=True, busy_timeout_s=0.05)
    noted.add(SECRET, user="ann")
    with closing(sqlite3.connect(noted.path / "zibaldone.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageBusy, match="this read could not be noted") as caught:
            noted.get(1, user="ann")
        other.execute("ROLLBACK")
    assert "stored" not in str(caught.value)
    assert noted.get(1, user="ann").content == SECRET
    assert lines(noted) == [("write", "add", "library", 1), ("read", "get", "library", 1)]
