"""kill -9 at any moment: what was acknowledged is there, once, and nothing is half done."""

import random

import pytest
from children import Child

from anywhere import serials_at
from traces import Traceable, serial
from zibaldone import Memory
from zibaldone.api import wiring as memory_module
from zibaldone.testing import HashEmbedder

pytestmark = pytest.mark.wide

EMBEDDER = HashEmbedder(16)


def open_(path):
    """The memory of the folder."""
    return Memory(path, embedder=EMBEDDER)


def keep_adding(path, seed):
    """Adds batches of random sizes, forever; tells each before it is tried and when it is acknowledged."""

    def run(tell, hear):
        chance = random.Random(seed)
        memory = open_(path)
        for number in range(10**9):
            user = chance.choice(["ann", "bea"])
            batch = [f"{seed}-{number}-{i}" for i in range(chance.choice([1, 1, 3, 20]))]
            content = " rye" * chance.choice([1, 1, 5, 10, 10, 500])
            tell({"user": user, "tried": batch})
            stored = memory.add([{"id": one, "content": one + content} for one in batch], user=user)
            tell({"user": user, "acknowledged": [m.id for m in stored], "seq": stored[0].seq})

    return run


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.exhaustive)])
def test_a_killed_writer(anywhere, kills):
    """A writer killed again and again: every acknowledged message is there once, and batches are whole."""
    chance, path = random.Random(7), anywhere("memory")
    acknowledged, tried = {"ann": {}, "bea": {}}, []
    for kill in range(kills):
        child = Child(keep_adding(path, kill))
        for told in child.until_killed(chance.random() * 0.03, words=chance.randint(1, 8)):
            if "tried" in told:
                tried.append((told["user"], told["tried"]))
            else:
                acknowledged[told["user"]] |= {
                    one: told["seq"] + i for i, one in enumerate(told["acknowledged"])
                }
        with open_(path) as memory:
            assert memory.admin.check().faults == ()
            present = {user: {m.id: m.seq for m in memory.messages(user=user)} for user in acknowledged}
            for user, expected in acknowledged.items():
                assert expected.items() <= present[user].items()
                assert sorted(present[user].values()) == list(range(1, len(present[user]) + 1))
                assert not expected or memory.recall("rye", user=user)
    sure = {user: set(expected) for user, expected in acknowledged.items()}
    assert sum(map(len, sure.values())) > kills
    assert sum(1 for user, batch in tried if batch[0] not in sure[user]) > kills / 5, (
        "killed between adds only"
    )
    stored = {(user, one) for user in present for one in present[user]}
    assert stored <= {(user, one) for user, batch in tried for one in batch}
    for user, batch in tried:
        assert len({one in present[user] for one in batch}) == 1, "a batch was stored in part"


@pytest.fixture
def filled(anywhere):
    """A memory with 1,300 messages, more than two batches of a rebuild."""
    make = Traceable()
    texts = [make.text(4 if i % 50 else 300) for i in range(1300)]
    with open_(anywhere("memory")) as memory:
        memory.add([{"content": t, "session": "ab"[i % 2]} for i, t in enumerate(texts)], user="ann")
    return texts


@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.exhaustive)])
def test_a_killed_rebuild(anywhere, filled, kills, monkeypatch):
    """Killed while it makes the view anew: the old one serves unchanged, and the next rebuild completes."""
    monkeypatch.setattr(memory_module, "_OWN_LEASE_S", 0.5)  # for so long a killed one is waited for
    chance, path = random.Random(8), anywhere("memory")

    def answer():
        with open_(path) as memory:
            assert memory.admin.check().faults == ()
            return memory.recall(filled[17], user="ann").evidence, memory.messages(user="ann")

    def rebuild(tell, hear):
        memory = open_(path)
        tell("open")
        memory.builds.rebuild(user="ann")

    before = answer()
    for _ in range(kills):
        Child(rebuild).until_killed(chance.random() * 0.4)
        assert answer() == before
    with open_(path) as memory:
        memory.builds.rebuild(user="ann")
    assert answer() == before


def test_a_killed_forget(anywhere, filled):
    """Killed while it forgets: all of it has gone or none, and forgetting once more leaves no byte."""
    chance, path = random.Random(9), anywhere("memory")
    left = set(range(1, 1301))
    while len(left) > 300:
        seqs = chance.sample(sorted(left), 100)

        def forget(tell, hear, seqs=seqs):
            memory = open_(path)
            tell("open")
            memory.forget(user="ann", seqs=seqs)

        Child(forget).until_killed(chance.random() * 0.12)
        with open_(path) as memory:
            assert memory.admin.check().faults == ()
            now = {m.seq for m in memory.messages(user="ann")}
            assert now in (left, left - set(seqs))
            left -= set(seqs)
            assert memory.forget(user="ann", seqs=seqs).purged or memory._database.shared
    assert serials_at(path) == {serial(filled[seq - 1]) for seq in left}


@pytest.mark.usefixtures("made_from_nothing")  # and not by a copy
def test_a_killed_first_open(tmp_path):
    """Killed while it makes the folder's tables: the next one to open it finds none, or all."""
    chance = random.Random(10)
    for number in range(15):
        path = tmp_path / str(number)

        def first(tell, hear, path=path):
            tell("begun")
            open_(path).add("x", user="u")

        Child(first).until_killed(chance.random() * 0.04)
        with open_(path) as memory:
            memory.add("y", user="u")
            assert [m.content for m in memory.messages(user="u")] in (["y"], ["x", "y"])
            assert memory.admin.check().ok
