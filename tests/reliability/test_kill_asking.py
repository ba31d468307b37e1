"""kill -9 while a model takes notes and answers: what was acknowledged is there, and no note twice."""

import json
import random
from collections import Counter

import pytest
from children import Child

from zibaldone import Memory, ModelFailed
from zibaldone.api import wiring as memory_module
from zibaldone.testing import HashEmbedder, ScriptedModel

pytestmark = pytest.mark.wide

TOWNS = ["Paris", "Rome", "Oslo", "Lima", "Cairo"]


def model(seed):
    """Notes where somebody lives, ends the note before; asks for more, answers, and fails now and then."""
    chance = random.Random(seed)

    def answer(request):
        shown = json.loads(request.turns[1].content)
        if chance.random() < 0.1:
            raise ModelFailed("the model is down")
        if request.task == "ask.step":
            if shown["rounds_left"] > 1:
                return {"queries": [{"query": chance.choice(TOWNS), "order": "last"}]}
            return {"answer": "there", "sources": [entry["seq"] for entry in shown["evidence"]][:2]}
        living = [entry for entry in shown["messages"] if entry["text"].startswith("I live in")]
        held = [note["id"] for note in shown["notes"] if "I live in" in note["text"]]
        return {
            "notes": [
                {"kind": "fact", "text": entry["text"], "sources": [entry["seq"]], "ends": held}
                for entry in living[-1:]
            ],
            "ended": [],
        }

    return ScriptedModel(answer)


def open_(path, seed=0):
    """The memory of the folder."""
    return Memory(path, embedder=HashEmbedder(16), chat=model(seed))


def keep_asking(path, seed):
    """Adds, takes notes, asks and forgets, forever; tells what is acknowledged and what is begun."""

    def run(tell, hear):
        chance = random.Random(seed)
        memory = open_(path, seed)
        for number in range(10**9):
            user = chance.choice(["ann", "bea"])
            text = f"I live in {chance.choice(TOWNS)} now, in house {seed}-{number}."
            (stored,) = memory.add([text], user=user)
            tell({"did": "add", "user": user, "seq": stored.seq, "text": text})
            if chance.random() < 0.2:
                tell({"did": "forget", "user": user, "seq": stored.seq})
                memory.forget(user=user, seqs=[stored.seq])
            tell({"did": "ask"})
            answer = memory.ask("Where do I live?", user=user)
            assert {cited.seq for cited in answer.citations} <= {
                seq for unit in answer.evidence.evidence for seq in unit.sources
            }
            tell({"did": "maintain"})
            memory.maintain(user=user)

    return run


@pytest.mark.parametrize("kills", [20, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_killed_with_notes_and_questions_at_work(anywhere, kills, monkeypatch):
    """Each kill comes after an acknowledged write: it is there, once; notes cite what is there."""
    monkeypatch.setattr(memory_module, "_OWN_LEASE_S", 0.5)  # for so long a killed one is waited for
    chance, path = random.Random(13), anywhere("memory")
    kept, perhaps_gone, doing = {"ann": {}, "bea": {}}, {"ann": set(), "bea": set()}, Counter()
    for kill in range(kills):
        told = Child(keep_asking(path, kill)).until_killed(chance.random() * 0.1, words=chance.randint(1, 9))
        assert told[0]["did"] == "add"
        doing[told[-1]["did"]] += 1
        for each in told:
            assert "raised" not in each, each
            if each["did"] == "add":
                kept[each["user"]][each["seq"]] = each["text"]
            if each["did"] == "forget":
                perhaps_gone[each["user"]].add(each["seq"])
        with open_(path) as memory:
            assert memory.admin.check().faults == ()
            for user, expected in kept.items():
                there = {message.seq: message.content for message in memory.messages(user=user)}
                for seq, text in expected.items():
                    assert there.get(seq, text if seq in perhaps_gone[user] else None) == text
                assert set(Counter(there.values()).values()) <= {1}
                notes = memory.user(user).profile.entries()
                assert {seq for note in notes for seq in note.sources} <= there.keys()
                hold = Counter(note.text for note in notes if note.ended is None)
                assert set(hold.values()) <= {1}
    assert doing["ask"] > kills / 20
    assert doing["maintain"] > kills / 20
    with open_(path) as memory:
        memory.maintain()
        assert memory.admin.check().ok
