"""A model's notes of chunks are held against the sources that they name: nothing else is kept."""

import pytest
from chunk_talk import FILLER, OTHERS, has, maintained

from chunk_model import chunk_model, compress, joint
from zibaldone import MemAttention

SECRET = "My password is Rumpelstilz. Marguerite knows."
EARLIER = [SECRET, *FILLER[1:]]


@pytest.fixture
def remembering(opened):
    """A memory whose model makes a chunk of EARLIER and then one of OTHERS."""

    def remember(**tasks):
        memory = opened(
            maintained=["chunks"], chunks=MemAttention(chunk_gate_tokens=40), chat=chunk_model(**tasks)
        )
        maintained(memory, *EARLIER)
        maintained(memory, *OTHERS)
        return memory

    return remember


def chunk_texts(memory, number):
    """The items of a chunk, by their sources."""
    (chunk,) = [chunk for chunk in memory.user("ann").chunks() if chunk.id == number]
    return {item.sources: item.text for item in chunk.items}


def test_no_word_of_a_related_chunk_gets_into_a_new_one(remembering):
    """The model is shown related chunks when it refines a new one; forgetting them takes all their words."""
    notes = [
        {"text": "Ann's sister plays the bassoon in Vienna; password Rumpelstilz.", "sources": [1]},
        {"text": "The rent of the flat is 900 euros, says Marguerite.", "sources": [2]},
        {"text": "Ann read a novel about a lighthouse keeper in Norway.", "sources": [3]},
    ]
    memory = remembering(joint_compact=lambda given: {**joint(given), "items": notes})
    assert memory.forget(user="ann", seqs=[1]).purged
    assert has(memory, "Rumpelstilz", "Marguerite") == []
    assert set(chunk_texts(memory, 2)) == {(4,), (5,), (6,)}
    assert memory.admin.check().faults == ()


def test_a_note_that_names_the_wrong_source_is_not_kept(remembering):
    """Its own source's words stand in for it, so that they go with that source."""

    def miscited(given):
        answer = dict(compress(given))
        if given["messages"][0]["seq"] == 1:
            answer["items"] = [{"text": "Ann's password is Rumpelstilz.", "sources": [2]}]
        return answer

    memory = remembering(compress=miscited)
    assert chunk_texts(memory, 1) == {(2,): EARLIER[1]}
    memory.forget(user="ann", seqs=[1])
    assert has(memory, "Rumpelstilz", "Marguerite") == []


def test_a_note_with_a_word_of_another_message_has_that_as_a_source(remembering):
    """It goes when either is forgotten; a word of no message nearby stays refused."""

    def added(given):
        answer = compress(given)
        answer["items"][1]["text"] += " Marguerite."
        return answer

    memory = remembering(compress=added)
    texts = chunk_texts(memory, 1)
    assert texts[1,] == f"Ann said: {EARLIER[0]}"
    assert texts[1, 2].endswith(" Marguerite.")
    assert memory.user("ann").chunks()[0].degraded == ""
    memory.forget(user="ann", seqs=[1])
    assert has(memory, "Marguerite") == []


def test_what_a_refused_note_said_is_not_lost(remembering):
    """The message's own words stay, though another note of it stands."""

    def halved(given):
        answer = compress(given)
        if given["messages"][0]["seq"] == 1:
            answer["items"] += [{"text": "Otto's cellar is twelve metres long.", "sources": [2]}]
        return answer

    (chunk, _) = remembering(compress=halved).user("ann").chunks()
    assert [item.text for item in chunk.items if item.sources == (2,)] == [
        f"Ann said: {EARLIER[1]}",
        EARLIER[1],
    ]


def test_the_reason_of_a_failure_does_not_outlive_what_it_quotes(remembering):
    """A model that fails on one chunk may quote another: forgetting leaves only that there was a failure."""

    def quoting(given):
        raise ValueError(f"I refuse to speak of {SECRET}")

    memory = remembering(joint_compact=quoting)
    assert "Rumpelstilz" in memory.user("ann").chunks()[1].degraded
    memory.forget(user="ann", seqs=[1])
    assert memory.user("ann").chunks()[1].degraded
    assert has(memory, "Rumpelstilz") == []
