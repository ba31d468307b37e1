"""Events beside a recall or a maintenance of chunks: slow models, forgetting, rebuilds, torn blocks."""

import pytest
from chunk_talk import LINES, recalled, said, sources

from chunk_model import chunk_model, select
from faulty_models import FailingEmbedder
from zibaldone import MemAttention, Placement, StorageCorrupt, log
from zibaldone.engine import generations
from zibaldone.testing import HashEmbedder
from zibaldone.views.base import PrepareContext
from zibaldone.views.chunks import table

ONE_CHUNK = MemAttention(chunk_gate_tokens=40, top_p=1, recall_relevance="model")
QUESTION = "river clocks bakery"


def test_chunks_that_are_made_anew_while_a_model_selects_are_selected_anew(opened):
    """Ids are another generation's then; the answer is of the one that serves."""
    actions = []

    def meanwhile(given):
        if actions:
            actions.pop()()
        return select(given)

    memory = opened(maintained=["chunks"], chunks=ONE_CHUNK, chat=chunk_model(select_related=meanwhile))
    memory.add(said(*LINES), user="ann")
    memory.maintain()
    before = sources(recalled(memory, QUESTION))
    other = opened(maintained=["chunks"], chunks=ONE_CHUNK, chat=None)  # of the same folder
    actions.append(lambda: other.builds.rebuild(user="ann", view="chunks"))
    assert sources(recalled(memory, QUESTION)) == before
    assert not actions


def test_whoever_forgets_waits_for_no_embedder(opened):
    """The rest of a chunk is found by its words, until a maintenance gets its vectors."""
    embedder = FailingEmbedder(HashEmbedder(), failing=False)
    memory = opened(
        maintained=["chunks"], chunks=MemAttention(chunk_gate_tokens=40), chat=None, embedder=embedder
    )
    memory.add(said(*LINES), user="ann")
    memory.maintain()
    calls = embedder.calls
    memory.forget(user="ann", seqs=[1])
    assert embedder.calls == calls
    assert 2 in sources(recalled(memory, "Otto clocks"))
    assert any(not len(chunk.metadata.vectors) for chunk in live(memory))
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
    memory.add(said(*(f"{line} {i}" for i in range(4) for line in LINES)), user="ann")
    memory.maintain()
    blocks = sorted(memory.path.rglob("*.block"), key=lambda path: path.stat().st_mtime_ns)
    assert len(blocks) > 1
    blocks[0].write_bytes(blocks[0].read_bytes()[:-40])
    return memory


def test_a_recall_goes_on_without_a_torn_block(torn):
    """The other chunks are read, and the trace says what was left out and what to do."""
    found = recalled(torn, QUESTION, budget_tokens=900)
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
    assert "memory.builds.rebuild" in recalled(torn, QUESTION).trace.views[0].note
