"""The index that a recall begins with is in memory before."""

import pytest

from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.notes import NotesView

TALK = ["My dentist is Dr. Moss.", "I prefer trains to planes.", "Now I live in Braga instead of Porto."]
QUESTION = "Where do I live?"


@pytest.fixture
def read(monkeypatch):
    """The reads into memory since: by whom, and how much."""
    done = []

    def watch(owner, name, size):
        work = getattr(owner, name)

        def watched(self, *given, **options):
            done.extend([name] * bool(size(given)))
            return work(self, *given, **options)

        monkeypatch.setattr(owner, name, watched)

    watch(UnitIndex, "extend", lambda given: len(given[0]))
    watch(NotesView, "_load", len)
    watch(NotesView, "_read_late", lambda given: len(given[0]))
    return done


def test_a_recall_finds_it_there(opened, read):
    """The index of a user whom nobody asked about yet, and of one who has said more since."""
    with opened() as memory:
        memory.add(TALK, user="ann")
        memory.maintain()
    expected = opened().recall(QUESTION, user="ann")
    memory = opened()
    read.clear()
    memory.user("ann").preload()
    assert {"extend", "_load"} <= set(read)
    read.clear()
    assert memory.recall(QUESTION, user="ann").evidence == expected.evidence
    assert read == []
    memory.add("My dentist moved to Green Lane.", user="ann")
    memory.user("ann").preload()
    assert {"extend", "_read_late"} <= set(read)
    read.clear()
    assert "Green Lane" in memory.recall("Where is my dentist?", user="ann").text
    assert read == []


def test_nobody_has_read_anything(opened):
    """An audit says who was shown something."""
    memory = opened(audit=True)
    memory.add(TALK, user="ann")
    memory.user("ann").preload()
    assert [entry.action for entry in memory.admin.audit(user="ann")] == ["write"]
