"""The topics view inside a Memory: consolidated, asked, forgotten, flushed by the clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from faulty_models import FailingEmbedder
from memories import open_memory
from talk import purchases
from zibaldone import Consolidation, Memory, Message
from zibaldone.engine.generations import serving
from zibaldone.engine.worker import BackgroundWorker
from zibaldone.testing import FrozenClock, HashEmbedder, ScriptedModel
from zibaldone.views.topics.library import Library

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
SMALL = Consolidation(
    current_threshold_tokens=150, split_tokens=400, merge_tokens=120, current_window=timedelta(days=1)
)


@pytest.fixture
def memory(opened) -> Memory:
    """With small documents, so that few messages make several."""
    return opened(topics=SMALL, maintained=["topics"])


def library(memory: Memory, user: str = "ann") -> Library:
    """As the database has it."""
    view = memory._wiring.topics
    with memory._database.read() as connection:
        generation = serving(connection, user, view)
        return view.library(connection, generation) if generation else Library()


def test_what_is_newer_holds_until_it_is_forgotten(memory):
    """Recall shows the new value as it is, and the old one, if at all, marked; then as if it had not been."""
    memory.add("The capital of Norland is Ulm.", user="ann")
    memory.add("The capital of Norland is Port Ash.", user="ann")
    memory.maintain()
    found = memory.recall("What is the capital of Norland?", user="ann", views=["topics"])
    assert "Port Ash." in found.text
    assert "Ulm" not in found.text or "Ulm [superseded]." in found.text
    memory.forget(user="ann", seqs=[2])
    found = memory.recall("What is the capital of Norland?", user="ann", views=["topics"])
    assert "Ulm." in found.text
    assert "Port Ash" not in found.text
    assert memory.admin.check().ok


def test_a_recall_follows_every_change_of_a_document(memory):
    """What was indexed for an earlier recall is of the documents as they were then."""

    def found() -> str:
        memory.maintain()
        return memory.recall("Who is my dentist?", user="ann", views=["topics"], min_confidence=0).text

    memory.add("My dentist is Dr. Moss.", user="ann")
    assert "Moss" in found()
    memory.add("My dentist has a practice in Green Lane.", user="ann")
    assert "Green Lane" in found()
    memory.forget(user="ann", seqs=[1])
    assert "Moss" not in found()
    assert "Green Lane" in found()


def test_forgetting_reaches_an_edit_that_quotes_the_message(memory):
    """An editor's message keeps the words that it changed: it goes with them."""
    memory.add("My PIN is 4711.", user="ann")
    edit = {
        "edit": "removed",
        "part": "entry",
        "document": "topic-0001",
        "before": "My PIN is 4711.",
        "sources": [1],
    }
    memory.add(Message("An editor removed an entry.", role="editor", metadata=edit), user="ann")
    assert memory.forget(user="ann", seqs=[1], dry_run=True).seqs == (1, 2)
    memory.forget(user="ann", seqs=[1])
    assert memory.messages(user="ann") == []


def test_current_is_flushed_by_the_clock(opened, clock):
    """A user who is not behind, but whose CURRENT has been open for too long, is maintained."""
    memory = opened(maintained=["messages", "topics"])
    memory.add("I bought a bassoon from Rosa Diaz.", user="ann")
    memory.maintain()
    backlog = memory._wiring.backlog
    assert library(memory).current.entries
    assert backlog.look() == []
    clock.tick(timedelta(days=100))
    assert backlog.look() == ["ann"]
    memory._wiring.worker = BackgroundWorker(memory._wiring.maintain_in_background, backlog.look)
    memory._wiring.maintain_in_background("ann")
    assert backlog.look() == []
    assert not library(memory).current.entries
    assert library(memory).documents
    found = memory.recall("bassoon", user="ann", views=["topics"])
    assert [one.seq for one in found.citations] == [1]


def test_an_embedder_that_fails_leaves_words_to_search_by(opened):
    """Maintenance says that the view is behind; recall finds by words and says so."""
    embedder = FailingEmbedder(HashEmbedder(), failing=False)
    memory = opened(embedder=embedder, topics=SMALL, maintained=["topics"])
    memory.add(purchases(5), user="ann")
    memory.maintain()
    embedder.failing = True
    memory.add(purchases(6), user="ann")
    assert "topics" in [one.view for one in memory.maintain().behind]
    found = memory.recall("What is from Rosa Diaz?", user="ann", views=["topics"], min_confidence=0.0)
    assert "Rosa Diaz" in found.text
    assert "by words only" in found.trace.views[0].note


@pytest.mark.parametrize("view", ["topics", "hierarchy"])
def test_a_batch_that_was_prepared_before_another_tended_is_prepared_again(tmp_path, view, monkeypatch):
    """Another process puts the view in order while a batch is prepared: nothing is lost or doubled."""
    clock = FrozenClock(START + timedelta(hours=1))
    settings = {"chat": None, "maintained": [view], "clock": clock}
    said = [
        replace(
            message, time=START + timedelta(hours=i // 2, minutes=i % 2), session="1"
        )  # an episode a pair
        for i, message in enumerate(purchases(9))
    ]
    with open_memory(tmp_path, **settings) as one, open_memory(tmp_path, **settings) as other:
        one.add(said[:20], user="ann")
        one.maintain()
        one.forget(user="ann", seqs=[3])  # what an episode loses is told anew when the view is tended
        one.add(said[20:], user="ann")
        mine = one._wiring.views[view]
        prepare = mine.prepare
        clock.tick(timedelta(days=100))  # CURRENT is due

        calls = []

        def slowly(*given: object) -> object:
            prepared = prepare(*given)
            calls.append(given)
            if len(calls) > 1:
                return prepared
            with other._database.read() as connection:
                generation = serving(connection, "ann", other._wiring.views[view])
            other._wiring.views[view].housekeep(other._database, generation)
            return prepared

        monkeypatch.setattr(mine, "prepare", slowly)
        one.maintain()
        assert len(calls) == 2
        assert one.admin.check().ok
        left = {message.seq for message in one.messages(user="ann")}
        if view == "topics":
            held = library(one)
            assert {seq for entry in held.entries() for seq in entry.sources} == left
            assert len({(entry.sources, entry.text) for entry in held.entries()}) == len(list(held.entries()))
        else:
            told = [seq for episode in one.user("ann").episodes() for seq in episode.seqs]
            assert len(told) == len(set(told))
            assert {1, 2, 4, 5, 6} <= set(told)


def test_the_day_that_a_model_worked_out_is_recalled(opened):
    """A fact of another day than its message's has it behind its words, which no longer say "yesterday"."""
    said = [Message("I lost my job as a banker yesterday.", name="Jon", time=START)]
    facts = [{"message": 1, "text": "Jon lost his job as a banker.", "date": "2024-02-29"}]
    chat = ScriptedModel(lambda request: {"facts": facts} if request.task == "topics.extract" else {})
    memory = opened(chat=chat, maintained=["topics"])
    memory.add(said, user="ann")
    memory.maintain(user="ann")
    (found,) = memory.recall("When did Jon lose his job?", user="ann", views=["topics"]).evidence
    assert found.text == "Jon lost his job as a banker (2024-02-29)."
    assert found.time == START
