"""MemAttention.paper(): sessions apart, a model that selects, chunks read whole, Algorithm 2 whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from chunk_talk import recalled, sources, texts

from chunk_model import chunk_model
from zibaldone import MemAttention, Placement
from zibaldone.storage.schema import chunk_sources
from zibaldone.views.own_rows import generations

PAPER = replace(MemAttention.paper(), chunk_gate_tokens=50, top_p=2)
TOPICS = ("river", "clock", "bakery", "bassoon", "rent", "novel")


def said(memory, topics=TOPICS, session="s"):
    """A chunk of each topic: three messages that reach the gate."""
    for topic in topics:
        memory.add(
            [
                {"content": f"The {topic} of Otto is number {i} on the list of the old mill.", "name": "Ann"}
                | {"session": session}
                for i in range(3)
            ],
            user="ann",
        )
    return memory.maintain()


def places(memory):
    """The block of each chunk; None for one that is staged."""
    with memory._database.read() as connection:
        generation = generations(connection, chunk_sources, "ann")[-1]
        found = memory._wiring.chunks.store.places(connection, generation)
    return {place.id: place.block for place in found}


@pytest.fixture
def memory(opened):
    """With the paper's settings, but for a gate that three sentences reach; without a model."""
    akin = replace(Placement.paper(), tau_assoc=0.0)  # whatever their cosine is
    return opened(maintained=["chunks"], chunks=PAPER, placement=akin, chat=None)


def test_the_preset_is_the_paper_s():
    """Sections 4.1 to 4.3, and what the paper does not set is as ever."""
    paper = MemAttention.paper()
    assert (paper.chunk_gate_tokens, paper.top_p, paper.memory_budget_tokens) == (1024, 5, 1536)
    assert (paper.scope, paper.recall_relevance, paper.recall_unit) == ("session", "model", "chunk")
    assert paper.relocation
    assert Placement.paper().gc_invalid_ratio == 0.75


def test_a_folder_of_the_default_settings_stays_readable():
    """New settings are no part of what says how chunks were made."""
    assert MemAttention().fingerprint == (
        "chunk_gate_tokens=1024,top_p=5,candidates=40,keywords=256,scope=user"
    )
    reading = MemAttention(recall_unit="chunk", relocation=True, recall_relevance="model")
    assert reading.fingerprint == MemAttention().fingerprint


def test_no_chunk_takes_messages_of_another_session(memory):
    """Though sessions take turns, and one stays below its gate."""
    for number in range(6):
        for session in ("a", "b"):
            text = f"In session {session} the clock of Otto is number {number} on the list."
            memory.add([{"content": text, "session": session}], user="ann")
    memory.add([{"content": "In session c it rains.", "session": "c"}], user="ann")
    memory.maintain()
    chunks = memory.user("ann").chunks()
    assert {chunk.session for chunk in chunks} == {"a", "b"}
    for chunk in chunks:
        assert {item.session for item in chunk.items} == {chunk.session}
    found = recalled(memory, "clock", session="a")
    assert {evidence.session for evidence in found.evidence} == {"a"}


def test_the_model_s_selection_decides_what_is_recalled(opened):
    """It sees the metadata of every chunk, and what it selects is read whole, the likeliest chunk first."""
    shown = []

    def select(given):
        shown.append(len(given["candidates"]))
        return {"chunks": [5, 2] if isinstance(given["about"], str) else []}

    memory = opened(maintained=["chunks"], chunks=PAPER, chat=chunk_model(select_related=select))
    said(memory)
    found = recalled(memory, "What about the river?")
    assert shown[-1] == len(TOPICS)
    assert sources(found) == {4, 5, 6, 13, 14, 15}
    cut = recalled(memory, "What about the river?", budget_tokens=75)
    assert set() < sources(cut) <= {13, 14, 15}


def test_a_recall_within_a_session_has_that_session_as_its_namespace(opened):
    """Algorithm 1, line 16: M is of T[u][s], so a model selects among its chunks; without one, among all."""
    shown = []

    def select(given):
        shown.append(len(given["candidates"]))
        return {"chunks": []}

    memory = opened(maintained=["chunks"], chunks=PAPER, chat=chunk_model(select_related=select))
    said(memory, TOPICS[:3], "a")
    said(memory, TOPICS[2:], "b")
    for session in ("a", None):
        recalled(memory, "What about the rent?", session=session)
    assert shown[-2:] == [3, 7]


def test_chunks_that_are_read_together_come_to_lie_together(memory):
    """Algorithm 2, lines 3 to 10: at the next maintenance, and then they stay where they are."""
    said(memory)
    before = texts(memory)
    assert set(places(memory).values()) == {None}
    recalled(memory, "river bassoon")
    memory.maintain()
    moved = {number for number, block in places(memory).items() if block}
    assert len(moved) == 2
    assert len({places(memory)[number] for number in moved}) == 1
    assert (texts(memory), memory.admin.check().faults) == (before, ())
    here = places(memory)
    recalled(memory, "river bassoon")
    memory.maintain()
    assert places(memory) == here


def test_a_model_says_what_to_co_locate(opened):
    """LLMCOLOCATE: its groups move, whatever the cosines say, and no others do."""

    def colocate(given):
        return {"groups": [[1, 6]] if {one["chunk"] for one in given["chunks"]} == {1, 6} else []}

    def select(given):
        return {"chunks": [1, 6] if isinstance(given["about"], str) else []}

    model = chunk_model(select_related=select, colocate=colocate)
    memory = opened(maintained=["chunks"], chunks=PAPER, chat=model)
    said(memory)
    recalled(memory, "river")
    memory.maintain()
    here = places(memory)
    assert here[1] == here[6] is not None
    assert {block for number, block in here.items() if number not in (1, 6)} == {None}


@pytest.mark.parametrize("relocation", [False, True])
def test_nothing_moves_unless_wanted_nor_what_was_forgotten(opened, relocation):
    """What a recall has noted is of before the forgetting; by default it leaves no work behind."""
    akin = replace(Placement.paper(), tau_assoc=0.0)
    config = replace(PAPER, relocation=relocation)
    memory = opened(maintained=["chunks"], chunks=config, placement=akin, chat=None)
    said(memory)
    recalled(memory, "river bassoon")
    if relocation:
        memory.forget(user="ann", seqs=[1, 2, 3])
    memory.maintain()
    assert set(places(memory).values()) == {None}
    assert memory.admin.check().faults == ()
    assert any("river" in text for text in texts(memory)) is not relocation
