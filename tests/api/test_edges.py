"""Where things nearly go wrong: pickles, indexes in memory, foreign embedders."""

import dataclasses
import pickle

from zibaldone import StorageBusy
from zibaldone.testing import HashEmbedder


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


class Unplugged(HashEmbedder):
    """An embedder of somebody else's, whose network is down."""

    def embed(self, texts):
        """Raise what a network raises."""
        raise ConnectionError("no route to host")


def test_an_embedder_that_raises_its_own_errors_loses_nothing(opened):
    """The message is stored, and found by its words."""
    memory = opened(embedder=Unplugged())
    assert memory.add("Our cat is called Mortimer.", user="ann")[0].seq == 1
    found = memory.recall("What is our cat called?", user="ann")
    assert found.evidence[0].sources == (1,)
    assert "no route to host" in found.trace.views[0].note or "lexical only" in found.trace.views[0].note


def test_a_failure_behind_the_commit_is_not_told_as_a_failure(memory, monkeypatch):
    """A stored message is acknowledged, even when the view cannot be brought forward at once."""

    def busy(*_, **__):
        raise StorageBusy("locked")

    memory.add({"content": "One.", "id": "1"}, user="ann")
    monkeypatch.setattr("zibaldone.engine.maintenance.advance", busy)
    stored = memory.add([{"content": "One.", "id": "1"}, {"content": "Two.", "id": "2"}], user="ann")
    assert [message.seq for message in stored] == [1, 2]
