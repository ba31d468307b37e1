"""The object that a user holds: what goes in comes out, and what was wired together holds together."""

import dataclasses
import os
import pickle
from datetime import UTC, datetime, timedelta

import pytest

from zibaldone import InvalidInput, StorageBusy

TALK = [
    {"id": "1", "name": "Ann", "content": "My dentist is Dr. Moss.", "time": "2024-01-02T09:00+02:00"},
    {
        "id": "2",
        "role": "assistant",
        "content": "Noted: Dr. Moss.",
        "metadata": {"model": "m", "n": [1, None]},
    },
    {
        "id": "3",
        "session": "b",
        "content": "I bake rye bread on Sundays.",
        "time": "2024-02-03T10:00:00.000001",
    },
    {"id": "4", "session": "b", "content": "   \n"},
]


def view(memory):
    """The figures of the messages view."""
    found = next(one for one in memory.admin.stats().views if one.view == "messages")
    return {counted.kind: counted.rows for counted in found.counts} | {"lag": found.lag}


def test_messages_come_back_as_stored(memory, clock):
    """Add returns what is listed: seqs from 1, times aware, ids made; nothing to add makes no user."""
    stored = memory.add(TALK, user="ann", session="a")
    assert memory.messages(user="ann") == stored
    assert [m.seq for m in stored] == [1, 2, 3, 4]
    assert [m.session for m in stored] == ["a", "a", "b", "b"]
    assert stored[0].time == datetime(2024, 1, 2, 7, tzinfo=UTC)
    assert stored[0].time.utcoffset() == timedelta(hours=2)
    assert stored[1].time == clock.now
    assert stored[1].metadata == {"model": "m", "n": [1, None]}
    assert memory.add("hello", user="ann")[0].id
    assert memory.add([], user="bea") == []
    assert memory.users() == ["ann"]


def test_sessions_and_users(memory):
    """Sessions come in the order of their first messages, with the span of what happened in them."""
    memory.add(TALK, user="ann", session="a")
    memory.add("x", user="bea")
    first, second = memory.user("ann").sessions()
    assert (first.session, first.messages, first.first_seq, first.last_seq) == ("a", 2, 1, 2)
    assert first.start == datetime(2024, 1, 2, 7, tzinfo=UTC)
    assert second.start == datetime(2024, 2, 3, 10, 0, 0, 1, tzinfo=UTC)
    assert memory.users() == ["ann", "bea"]
    assert memory.user("nobody").sessions() == []


def test_sessions_in_pages(memory):
    """Page after page by the first seq of the last one, sessions come once, as in the whole list."""
    for number in (1, 2, 3, 1, 4, 2, 5):
        memory.add(f"In {number}", user="ann", session=f"s{number}")
    memory.add("In 1", user="bea", session="s1")
    pages, after = [], 0
    while page := memory.user("ann").sessions(after=after, limit=2):
        pages.append([held.session for held in page])
        after = page[-1].first_seq
    assert pages == [["s1", "s2"], ["s3", "s4"], ["s5"]]
    assert memory.user("ann").sessions(limit=9) == memory.user("ann").sessions()
    assert memory.user("ann").sessions(after=3) == memory.user("ann").sessions()[3:]
    assert memory.user("ann").sessions(limit=0) == []


def test_a_clock_that_goes_backwards(memory, clock):
    """Seqs rise and nothing is lost when the machine's clock is set back."""
    memory.add("first tulip", user="ann")
    clock.tick(timedelta(days=-400))
    memory.add("second tulip", user="ann")
    first, second = memory.messages(user="ann")
    assert first.seq < second.seq
    assert first.time > second.time
    assert [e.sources for e in memory.recall("tulip", user="ann").evidence] == [(2,), (1,)]


def test_export_replaces_whole_or_not_at_all(memory, tmp_path, monkeypatch):
    """An export that fails half way leaves the file that was there, and no other."""
    memory.add(TALK, user="ann")
    path = tmp_path / "out"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InvalidInput, match="No space left"):
        memory.user("ann").export(path=path)
    assert path.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["memory", "out"]


def test_stats(memory):
    """Stats count messages, sessions and units, of one user and of all."""
    memory.add(TALK, user="ann", session="a")
    memory.add("x", user="bea")
    mine, everybodys = memory.admin.stats(user="ann"), memory.admin.stats()
    assert (mine.users, mine.messages, mine.sessions) == (1, 4, 2)
    assert (everybodys.users, everybodys.messages, everybodys.sessions) == (2, 5, 3)
    assert view(memory) == {"units": 4, "vectors": 4, "lag": 0}
    assert everybodys.bytes_on_disk >= sum(f.stat().st_size for f in memory.path.iterdir()) > 0


def test_a_recall_can_be_pickled_and_holds_its_candidates_alone(memory):
    """Whoever keeps or sends a recall keeps nothing of the memory that was no candidate."""
    cats = [f"Our cat is called Mortimer, I said {number} times." for number in range(60)]
    memory.add([*cats, "My pin is zebra-4711."], user="a")
    found = memory.recall("What is our cat called?", user="a", budget_tokens=60)
    stored = pickle.dumps(found)
    assert b"zebra-4711" not in stored
    assert pickle.loads(stored).text == found.text
    assert dataclasses.asdict(found)["text"] == found.text
    assert "not among" in pickle.loads(stored).why_not(61)
    assert pickle.loads(pickle.dumps(memory.recall("anything", user="nobody"))).text == ""


def test_what_was_forgotten_leaves_this_process(memory):
    """The index in memory is without the text when forget returns."""
    memory.add(["Our cat is called Mortimer.", "My pin is zebra."], user="ann")
    memory.recall("cat", user="ann")
    memory.forget(user="ann", seqs=[2])
    index = memory._wiring.messages._cache._slots.get("ann").index
    assert [unit.text for unit in index.units] == ["Our cat is called Mortimer."]
    assert not index.lexical.df("zebra")


def test_a_failure_behind_the_commit_is_not_told_as_a_failure(memory, monkeypatch):
    """A stored message is acknowledged, even when the view cannot be brought forward at once."""

    def busy(*_, **__):
        raise StorageBusy("locked")

    memory.add({"content": "One.", "id": "1"}, user="ann")
    monkeypatch.setattr("zibaldone.engine.maintenance.advance", busy)
    stored = memory.add([{"content": "One.", "id": "1"}, {"content": "Two.", "id": "2"}], user="ann")
    assert [message.seq for message in stored] == [1, 2]
