"""Events beside a recall or a maintenance of chunks: slow models, forgetting, rebuilds, torn blocks."""

from datetime import UTC, datetime, timedelta

import pytest

from chunk_model import chunk_model, select
from zibaldone import MemAttention, Placement, StorageCorrupt, log
from zibaldone.engine import generations
from zibaldone.testing import HashEmbedder
from zibaldone.views.base import PrepareContext
from zibaldone.views.chunks import table

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
LINES = [
    "The river rose by ten centimetres near the old mill.",
    "My neighbour Otto repairs clocks in his cellar.",
    "The bakery on the square opens at six on Tuesdays.",
    "My sister plays the bassoon in Vienna on Mondays.",
    "The rent of the flat is 900 euros since last year.",
    "I read a novel about a lighthouse keeper in Norway.",
    "A zeppelin flew over the harbour at noon.",
]
ONE_CHUNK = MemAttention(chunk_gate_tokens=40, top_p=1, recall_relevance="model")


def say(memory, contents, user="ann", start=NOW):
    """Messages of Ann, an hour apart."""
    memory.add(
        [
            {"content": content, "name": "Ann", "time": start + timedelta(hours=i)}
            for i, content in enumerate(contents)
        ],
        user=user,
    )


def recalled(memory, query):
    """Sources of what the chunks view alone says."""
    found = memory.recall(query, user="ann", views=["chunks"], min_confidence=0, budget_tokens=500)
    return {seq for unit in found.evidence for seq in unit.sources}


class Meanwhile:
    """A model that does something once while it is asked which chunks are related."""

    def __init__(self):
        self.action = None

    def __call__(self, given):
        action, self.action = self.action, None
        if action:
            action()
        return select(given)


def test_chunks_that_are_made_anew_while_a_model_selects_are_selected_anew(opened):
    """Ids are another generation's then; the answer is of the one that serves."""
    meanwhile = Meanwhile()
    memory = opened(maintained=["chunks"], chunks=ONE_CHUNK, chat=chunk_model(select_related=meanwhile))
    say(memory, LINES)
    memory.maintain()
    before = recalled(memory, "river clocks bakery")
    other = opened(maintained=["chunks"], chunks=ONE_CHUNK, chat=None)  # of the same folder
    meanwhile.action = lambda: other.builds.rebuild(user="ann", view="chunks")
    assert recalled(memory, "river clocks bakery") == before


class Refusing(HashEmbedder):
    """An embedder that must not be asked."""

    forbidden = False

    def embed(self, texts):
        assert not self.forbidden
        return super().embed(texts)


def test_whoever_forgets_waits_for_no_embedder(opened):
    """The rest of a chunk is found by its words, until a maintenance gets its vectors."""
    embedder = Refusing()
    memory = opened(
        maintained=["chunks"], chunks=MemAttention(chunk_gate_tokens=40), chat=None, embedder=embedder
    )
    say(memory, LINES)
    memory.maintain()
    embedder.forbidden = True
    memory.forget(user="ann", seqs=[1])
    embedder.forbidden = False
    assert 2 in recalled(memory, "Otto clocks")
    bare = [chunk for chunk in live(memory) if not len(chunk.metadata.vectors)]
    assert bare
    memory.maintain()
    assert all(len(chunk.metadata.vectors) for chunk in live(memory))


def live(memory):
    """Ann's chunks with their vectors."""
    with memory._database.read() as connection:
        generation = generations.serving(connection, "ann", memory._wiring.chunks)
        return [chunk for chunk in table.load(connection, generation, 64).values() if chunk.items]


@pytest.fixture
def torn(opened):
    """A memory of several blocks, the first of which is damaged; each recall and each gate reads all."""
    memory = opened(
        maintained=["chunks"],
        chunks=MemAttention(chunk_gate_tokens=40, top_p=12),
        chat=chunk_model(),
        placement=Placement(block_bytes=700, staged_blocks=1),
    )
    say(memory, [f"{line} {i}" for i in range(4) for line in LINES])
    memory.maintain()
    blocks = sorted(memory.path.rglob("*.block"), key=lambda path: path.stat().st_mtime_ns)
    assert len(blocks) > 1
    blocks[0].write_bytes(blocks[0].read_bytes()[:-40])
    return memory


def test_a_recall_goes_on_without_a_torn_block(torn):
    """The other chunks are read, and the trace says what was left out and what to do."""
    found = torn.recall(
        "river clocks bakery", user="ann", views=["chunks"], min_confidence=0, budget_tokens=900
    )
    assert found.evidence
    assert "is torn" in found.trace.views[0].note
    assert "memory.builds.rebuild" in found.trace.views[0].note


def test_maintenance_names_a_torn_block_and_the_fix(torn):
    """Reading related chunks and tending to blocks raise the typed error, which says what to do; it works."""
    view = torn._wiring.chunks
    with torn._database.read() as connection:
        generation = generations.serving(connection, "ann", view)
        unread = log.read(connection, "ann", after=0)
    context = PrepareContext("ann", generation, torn._database.read)
    with pytest.raises(StorageCorrupt, match=r"is torn: .*memory\.builds\.rebuild"):
        view.prepare([m for m in unread if m.seq > 20], context)
    torn.builds.rebuild(user="ann", view="chunks")
    assert torn.admin.check().faults == ()
    assert torn.maintain().behind == ()


def test_a_block_that_is_gone_names_the_fix_too(torn):
    """A missing file is told from a block that was moved while it was read: it is nowhere else."""
    for path in torn.path.rglob("*.block"):
        path.unlink()
    with pytest.raises(StorageCorrupt, match=r"is lost: if so, .*memory\.builds\.rebuild"):
        torn.user("ann").chunks()
    assert (
        "memory.builds.rebuild"
        in torn.recall("river clocks bakery", user="ann", views=["chunks"], min_confidence=0)
        .trace.views[0]
        .note
    )
