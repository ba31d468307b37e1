"""kill -9 at any moment: what was acknowledged is there, once, and nothing is half done."""

import json
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from children import Child

from anywhere import serials_at
from traces import Traceable, serial
from zibaldone import Config, MemAttention, Memory, ModelFailed, Placement
from zibaldone.api.config import MAINTAINED
from zibaldone.testing import HashEmbedder, ScriptedModel
from zibaldone.views.chunks.storage.records import reclaim_orphans

pytestmark = pytest.mark.wide

EMBEDDER = HashEmbedder(16)
TOWNS = ["Paris", "Rome", "Oslo", "Lima", "Cairo"]
# Small chunks and blocks, and a manager that moves and collects whenever it may.
RESTLESS = Config(
    chunks=MemAttention(chunk_gate_tokens=40, top_p=3),
    placement=Placement(block_bytes=700, gc_invalid_ratio=0.1, staged_blocks=0),
    maintained=[*MAINTAINED, "chunks"],
)


def model(seed):
    """Notes where somebody lives, ends the note before; asks for more, answers, and fails now and then."""
    chance = random.Random(seed)

    def answer(request):
        shown = json.loads(request.turns[1].content)
        if chance.random() < 0.1 or request.task.startswith("chunks"):
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
    return Memory(path, embedder=EMBEDDER, chat=model(seed), config=RESTLESS)


def keep_working(path, seed, work):
    """Adds batches of random sizes, forgets and does this work, forever; tells before and after each."""

    def run(tell, hear):
        chance = random.Random(seed)
        memory = open_(path, seed)
        for number in range(10**9):
            user = chance.choice(["ann", "bea"])
            ids = [f"{seed}-{number}-{i}" for i in range(chance.choice([1, 1, 3, 20]))]
            rest = "".join(f" rye {n}" for n in range(chance.choice([1, 1, 5, 10, 10, 500])))
            tell(["add", user, ids])
            batch = [{"id": one, "content": f"I live in {chance.choice(TOWNS)} {one}.{rest}"} for one in ids]
            stored = memory.add(batch, user=user)
            tell(["added", user, {message.id: message.seq for message in stored}])
            if work != "add" and chance.random() < 0.3:
                gone = chance.sample(stored, min(2, len(stored)))
                tell(["forget", user, [message.id for message in gone]])
                memory.forget(user=user, seqs=[message.seq for message in gone])
            if work == "ask":
                tell(["ask", user, None])
                answer = memory.ask("Where do I live?", user=user)
                shown = {seq for unit in answer.evidence.evidence for seq in unit.sources}
                assert {cited.seq for cited in answer.citations} <= shown
            if work != "add":
                tell(["maintain", user, None])
                memory.maintain(user=user)
                memory.recall(f"rye in {chance.choice(TOWNS)}", user=user, views=["chunks"], min_confidence=0)

    return run


@dataclass
class Told:
    """What the killed processes told, by user."""

    tried: list = field(default_factory=list)  # user, ids of a batch
    sure: dict = field(default_factory=lambda: {"ann": {}, "bea": {}})  # acknowledged: seqs by id
    perhaps_gone: set = field(default_factory=set)  # ids
    last: Counter = field(default_factory=Counter)  # what each was at when it was killed

    def take(self, values):
        """Note what one of them told."""
        for what, user, about in values:
            if what == "add":
                self.tried.append((user, about))
            elif what == "added":
                self.sure[user] |= about
            elif what == "forget":
                self.perhaps_gone |= set(about)
        self.last[values[-1][0]] += 1


def must_be_whole(memory, told):
    """All that was acknowledged is there once; notes, chunks and blocks are of what is there, and once."""
    assert memory.admin.check().faults == ()
    tried = {user: {one for of, batch in told.tried if of == user for one in batch} for user in told.sure}
    for user, sure in told.sure.items():
        messages = memory.messages(user=user)
        there = {message.id: message.seq for message in messages}
        said = {message.seq: message.content for message in messages}
        assert len(there) == len(messages)
        assert {
            one: seq for one, seq in sure.items() if one not in told.perhaps_gone
        }.items() <= there.items()
        assert there.keys() <= tried[user]
        for of, batch in told.tried:
            stored = {one in there for one in batch if one not in told.perhaps_gone}
            assert of != user or len(stored) <= 1, "a batch was stored in part"
        assert not there or memory.recall("rye", user=user)
        notes = memory.user(user).profile.entries()
        assert {seq for note in notes for seq in note.sources} <= said.keys()
        assert set(Counter(note.text for note in notes if note.ended is None).values()) <= {1}
        items = [item for chunk in memory.user(user).chunks() for item in chunk.items]
        assert set(Counter((item.sources, item.text) for item in items).values()) <= {1}
        assert all(any(item.text in said[seq] for seq in item.sources) for item in items)
    store = memory._wiring.chunks.store
    reclaim_orphans(memory._database, store, older_than_s=0)
    with memory._database.read() as connection:
        known = {row[0] for row in connection.exec_driver_sql("SELECT block FROM blocks")}
    assert {key for key, _ in store.blocks.names()} == known


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("work", ["add", "maintain", "ask"])
def test_killed_at_work(anywhere, work, kills):
    """A process killed again and again, while it adds, forgets, maintains and asks."""
    chance, path, told = random.Random(7), anywhere("memory"), Told()
    for kill in range(kills):
        child = Child(keep_working(path, kill, work))
        told.take(child.until_killed(chance.random() * 0.1, words=chance.randint(1, 9)))
        with open_(path) as memory:
            must_be_whole(memory, told)
    assert sum(map(len, told.sure.values())) > kills
    assert told.last[work] > kills / 20, "killed between two steps only"
    with open_(path) as memory:
        memory.maintain()
        assert memory.admin.check().ok
        lags = {view.view: view.lag for view in memory.admin.stats().views}
        assert {lags[name] for name in RESTLESS.maintained} == {0}
        assert any(memory._wiring.chunks.store.blocks.names())


@pytest.fixture
def filled(anywhere):
    """A memory with 1,300 messages, more than two batches of a rebuild."""
    make = Traceable()
    texts = [make.text(4 if i % 50 else 300) for i in range(1300)]
    with plain(anywhere("memory")) as memory:
        memory.add([{"content": t, "session": "ab"[i % 2]} for i, t in enumerate(texts)], user="ann")
    return texts


def plain(path):
    """The memory of the folder, without a model."""
    return Memory(path, embedder=EMBEDDER)


@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.exhaustive)])
def test_a_killed_rebuild(anywhere, filled, kills):
    """Killed while it makes the view anew: the old one serves unchanged, and the next rebuild completes."""
    chance, path = random.Random(8), anywhere("memory")

    def answer():
        with plain(path) as memory:
            assert memory.admin.check().faults == ()
            return memory.recall(filled[17], user="ann").evidence, memory.messages(user="ann")

    def rebuild(tell, hear):
        memory = plain(path)
        tell("open")
        memory.builds.rebuild(user="ann")

    before = answer()
    for _ in range(kills):
        Child(rebuild).until_killed(chance.random() * 0.4)
        assert answer() == before
    with plain(path) as memory:
        memory.builds.rebuild(user="ann")
    assert answer() == before


def test_a_killed_forget(anywhere, filled):
    """Killed while it forgets: all of it has gone or none, and forgetting once more leaves no byte."""
    chance, path = random.Random(9), anywhere("memory")
    left = set(range(1, 1301))
    while len(left) > 300:
        seqs = chance.sample(sorted(left), 100)

        def forget(tell, hear, seqs=seqs):
            memory = plain(path)
            tell("open")
            memory.forget(user="ann", seqs=seqs)

        Child(forget).until_killed(chance.random() * 0.12)
        with plain(path) as memory:
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
            plain(path).add("x", user="u")

        Child(first).until_killed(chance.random() * 0.04)
        with plain(path) as memory:
            memory.add("y", user="u")
            assert [m.content for m in memory.messages(user="u")] in (["y"], ["x", "y"])
            assert memory.admin.check().ok
