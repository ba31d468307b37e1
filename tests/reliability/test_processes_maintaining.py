"""Several processes maintain, ask and forget in one memory at once."""

import random

import pytest
from children import Child

from zibaldone import Config, MemAttention, Memory, Placement
from zibaldone.api.config import MAINTAINED
from zibaldone.testing import HashEmbedder

pytestmark = pytest.mark.wide

RESTLESS = Placement(block_bytes=900, staged_blocks=0)


def open_(path):
    """With small chunks, and a manager that moves whatever it may."""
    small = MemAttention(chunk_gate_tokens=40)
    return Memory(
        path,
        embedder=HashEmbedder(16),
        config=Config(chunks=small, placement=RESTLESS, maintained=[*MAINTAINED, "chunks"]),
    )


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
