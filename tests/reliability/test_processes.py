"""Several processes with one memory open, and processes that were forked from one with it open."""

import random
from itertools import chain

import pytest
from children import Child

from anywhere import EVERYWHERE
from traces import Traceable, serial, serials
from zibaldone import Config, MemAttention, Memory, Placement
from zibaldone.api.config import MAINTAINED
from zibaldone.testing import HashEmbedder

pytestmark = pytest.mark.usefixtures("made_from_nothing")

EMBEDDER = HashEmbedder(16)
BATCHES = 40


def test_two_writers_and_two_readers(anywhere):
    """Every message of both writers is there once; readers only ever see whole batches, and never fewer."""
    path = anywhere("memory")

    def writer(number):
        def run(tell, hear):
            memory = Memory(path, embedder=EMBEDDER)
            for batch in range(BATCHES):
                memory.add([f"writer {number} batch {batch} rye"] * 3, user="ann", session=str(number))
                memory.add("tulip", user=f"own {number}")

        return run

    def reader(tell, hear):
        memory = Memory(path, embedder=EMBEDDER)
        seen = 0
        while seen < 2 * 3 * BATCHES:
            found = memory.messages(user="ann")
            assert [m.seq for m in found] == list(range(1, len(found) + 1))
            assert len(found) >= seen
            assert all(
                found[i].content == found[i + 1].content == found[i + 2].content
                for i in range(0, len(found), 3)
            )
            recalled = memory.recall("rye", user="ann", min_confidence=0)
            assert recalled or not found
            seen = len(found)
        tell(memory.admin.check().faults)

    children = [Child(writer(0)), Child(writer(1)), Child(reader), Child(reader)]
    told = [child.wait() for child in children]
    assert told == [[], [], [[]], [[]]]
    with Memory(path, embedder=EMBEDDER) as memory:
        assert len(memory.messages(user="ann")) == 2 * 3 * BATCHES
        assert [len(memory.messages(user=f"own {n}")) for n in (0, 1)] == [BATCHES] * 2
        stats = memory.admin.stats()
        assert (stats.views[0].lag, stats.views[0].counts[0].rows) == (0, stats.messages)
        assert memory.admin.check().faults == ()


@pytest.mark.parametrize("place", ["folder", "postgres"])
@pytest.mark.parametrize("memories", [3, pytest.param(12, marks=pytest.mark.exhaustive)])
@pytest.mark.wide
def test_many_open_a_fresh_memory_at_once(place, memories, tmp_path, request):
    """The tables are made once, and all can write and close: seqs have no gap and none is given twice."""
    for number in range(memories):
        path = tmp_path / str(number)
        if place == "postgres":
            server = request.getfixturevalue("postgres")
            server.run(f"CREATE DATABASE fresh{memories}_{number} OWNER zibaldone")
            path = server.url(f"fresh{memories}_{number}")

        def run(tell, hear):
            tell("ready")
            hear()
            for n in range(3):
                with Memory(path, embedder=EMBEDDER) as memory:  # noqa: B023
                    tell(memory.add(f"rye {n}", user="ann")[0].seq)

        children = [Child(run) for _ in range(5)]
        for child in children:
            assert child.next() == "ready"
        for child in children:
            child.say()
        given = [child.wait() for child in children]
        assert all(seqs == sorted(seqs) for seqs in given)
        with Memory(path, embedder=EMBEDDER) as memory:
            assert sorted(chain(*given)) == [m.seq for m in memory.messages(user="ann")] == [*range(1, 16)]
            assert memory.admin.check().ok


@EVERYWHERE
def test_fork_after_open(opened_anywhere):
    """A child may use a memory that its parent opened, beside the parent, on connections of its own."""
    memory = opened_anywhere()
    memory.add("A tulip of the parent.", user="ann")
    memory.recall("tulip", user="ann")
    with memory._database.read() as connection:
        parents = connection.connection.driver_connection

    def run(tell, hear):
        with memory._database.read() as connection:
            assert connection.connection.driver_connection is not parents
        for i in range(5):
            memory.add(f"Tulip {i} of the child.", user="ann")
        tell(len(memory.recall("tulip", user="ann").evidence))
        hear()
        memory.add("A tulip of the orphan.", user="ann")
        memory.close()

    child = Child(run)
    assert child.next() == 6
    memory.add("Another tulip of the parent.", user="ann")
    assert len(memory.recall("tulip", user="ann").evidence) == 7
    child.say()
    child.wait()
    assert len(memory.messages(user="ann")) == 8
    memory.add("The last.", user="ann")
    assert memory.admin.check().ok


def test_forgetting_while_others_have_it_open(tmp_path):
    """Text is gone from every file also when other processes had read it; one that reads on delays it."""
    make = Traceable()
    memory = Memory(tmp_path, embedder=EMBEDDER, config=Config(busy_timeout_s=0.3))
    texts = [make.text(8) for _ in range(200)]
    memory.add(texts, user="ann")

    def idle(tell, hear):
        other = Memory(tmp_path, embedder=EMBEDDER)
        other.recall("tulip", user="ann")
        other.add("x", user="bea")
        tell("open")
        hear()
        other.close()

    def reading(tell, hear):
        other = Memory(tmp_path, embedder=EMBEDDER)
        with other._database.read() as connection:
            connection.exec_driver_sql("SELECT * FROM messages").all()
            tell("reading")
            hear()
        tell("done")
        hear()

    children = [Child(idle), Child(idle)]
    assert [child.next() for child in children] == ["open", "open"]
    assert memory.forget(user="ann", seqs=range(1, 101)).purged
    children.append(Child(reading))
    assert children[-1].next() == "reading"
    assert not memory.forget(user="ann", seqs=range(101, 151)).purged
    children[-1].say()
    assert children[-1].next() == "done"
    assert memory.forget(user="ann", seqs=range(101, 151)).purged
    for child in children:
        child.kill()
    memory.close()
    assert serials(tmp_path) == {serial(text) for text in texts[150:]}


RESTLESS = Config(
    chunks=MemAttention(chunk_gate_tokens=40, top_p=3),
    placement=Placement(block_bytes=700, gc_invalid_ratio=0.1, staged_blocks=0),
    maintained=[*MAINTAINED, "chunks"],
)


def open_(path):
    """A memory whose chunks are moved and collected whenever they may be."""
    return Memory(path, embedder=EMBEDDER, config=RESTLESS)


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
@pytest.mark.wide
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
