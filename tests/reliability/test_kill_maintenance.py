"""Chunks made, moved, collected and forgotten, under kill -9 and by several processes: all stays whole."""

import random
from collections import Counter

import pytest
from children import Child

from zibaldone import Config, MemAttention, Memory, Placement
from zibaldone.api import wiring as memory_module
from zibaldone.api.config import MAINTAINED
from zibaldone.testing import HashEmbedder
from zibaldone.views.chunks.storage.records import reclaim_orphans

pytestmark = pytest.mark.wide

EMBEDDER = HashEmbedder(16)
# Small chunks and blocks, and a manager that moves and collects whenever it may.
RESTLESS = Placement(block_bytes=700, gc_invalid_ratio=0.1, staged_blocks=0)
TOWNS = ["Paris", "Rome", "Oslo", "Lima", "Cairo"]


def open_(path):
    """The memory of the folder."""
    return Memory(
        path,
        embedder=EMBEDDER,
        config=Config(
            chunks=MemAttention(chunk_gate_tokens=40, top_p=3),
            placement=RESTLESS,
            maintained=[*MAINTAINED, "chunks"],
        ),
    )


def keep_maintaining(path, seed):
    """Adds, maintains, recalls and forgets, forever; tells what it is about to do."""

    def run(tell, hear):
        chance = random.Random(seed)
        memory = open_(path)
        for number in range(10**9):
            user = chance.choice(["ann", "bea"])
            town = chance.choice(TOWNS)
            facts = [
                f"Fact {seed}-{number}-{i}: Otto repaired clock {i} in cellar {number}." for i in range(3)
            ]
            if chance.random() < 0.3:
                seqs = [message.seq for message in memory.messages(user=user)]
                tell("forget")
                memory.forget(user=user, seqs=chance.sample(seqs, min(3, len(seqs))))
            tell("add")
            memory.add([f"I live in {town} now, in house {number}.", *facts], user=user)
            tell("maintain")
            memory.maintain(user=user)
            for _ in range(3):
                query = f"clock {chance.randrange(20)} in {chance.choice(TOWNS)}"
                memory.recall(query, user=user, views=["chunks"], min_confidence=0)

    return run


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.exhaustive)])
def test_a_killed_maintainer(anywhere, kills, monkeypatch):
    """Killed again and again: integrity holds, each chunk is readable, nothing is read twice or skipped."""
    monkeypatch.setattr(memory_module, "_OWN_LEASE_S", 0.5)  # for so long a killed one is waited for
    chance, path = random.Random(11), anywhere("memory")
    doing = Counter()
    moved = False
    for kill in range(kills):
        child = Child(keep_maintaining(path, kill))
        told = child.until_killed(chance.random() * 0.1, words=chance.randint(1, 6))
        doing[told[-1] if told else "opening"] += 1
        with open_(path) as memory:
            assert memory.admin.check().faults == ()
            for user in memory.users():
                chunks = memory.user(user).chunks()
                said = {message.seq: message.content for message in memory.messages(user=user)}
                found = Counter((item.sources, item.text) for chunk in chunks for item in chunk.items)
                assert set(found.values()) <= {1}
                for sources, text in found:
                    assert any(text in said[seq] or said[seq].startswith(text) for seq in sources)
            moved = moved or any(memory._wiring.chunks.store.blocks.names())
            reclaim_orphans(memory._database, memory._wiring.chunks.store, older_than_s=0)
            with memory._database.read() as connection:
                known = {row[0] for row in connection.exec_driver_sql("SELECT block FROM blocks")}
            assert {key for key, _ in memory._wiring.chunks.store.blocks.names()} == known
            assert memory.admin.check().faults == ()
    assert moved
    assert doing["maintain"] > kills / 5
    assert doing["forget"] > 0 or kills < 100
    with open_(path) as memory:
        memory.maintain()
        assert memory.admin.check().faults == ()
        for view in memory.admin.stats().views:
            assert view.lag == 0 or view.view not in MAINTAINED


def work(path, seed, rounds):
    """Adds, maintains, asks, looks, and forgets now and then."""

    def run(tell, hear):
        chance = random.Random(seed)
        with open_(path) as memory:
            for number in range(rounds):
                facts = [f"Otto {seed} repaired clock {number} {i} in his cellar." for i in range(3)]
                memory.add(facts, user="ann")
                memory.maintain(user="ann")
                memory.recall(f"clock {number}", user="ann", views=["messages", "chunks"], min_confidence=0)
                memory.user("ann").chunks()
                seqs = [message.seq for message in memory.messages(user="ann")]
                memory.forget(user="ann", seqs=chance.sample(seqs, 2), dry_run=chance.random() < 0.7)

    return run


@pytest.mark.parametrize(
    ("place", "rounds"),
    [
        ("folder", 5),
        ("postgres", 2),
        *(pytest.param(place, 20, marks=pytest.mark.exhaustive) for place in ("folder", "postgres")),
    ],
    indirect=["place"],
)
def test_three_processes_on_one_memory(anywhere, rounds):
    """None of them fails, nothing is lost or kept twice, and all agrees in the end."""
    path = anywhere("memory")
    open_(path).close()
    children = [Child(work(path, seed, rounds)) for seed in range(3)]
    for child in children:
        child.wait()
    with open_(path) as memory:
        assert memory.maintain().behind == ()
        assert memory.admin.check().faults == ()
        said = {message.seq for message in memory.messages(user="ann")}
        held = [seq for chunk in memory.user("ann").chunks() for item in chunk.items for seq in item.sources]
        assert len(held) == len(set(held))
        assert set(held) <= said
        assert memory.admin.stats(user="ann").views[1].lag == 0
