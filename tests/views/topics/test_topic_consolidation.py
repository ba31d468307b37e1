"""From CURRENT to documents and on: nothing is lost, the newest holds, sizes stay within bounds."""

from dataclasses import replace
from datetime import timedelta

import pytest
from topic_talk import NOON, SMALL, documents, entries, expected, said, told

from zibaldone import Consolidation, InvalidInput, Message
from zibaldone.testing import FrozenClock

WORDS = ("cat", "garden", "Oslo", "piano", "Globex", "sister", "bread", "Bergen", "bicycle", "school")
LIFE = [
    f"I {verb} the {WORDS[n % 10]} of {WORDS[(n * 7 + 3) % 10]} number {n}."
    for n, verb in enumerate(["bought", "painted", "lost", "found", "repaired"] * 16)
]


def test_current_is_flushed_at_its_threshold(opened):
    """Before it holds as many tokens there is no document, and then it is empty again."""
    memory = opened(topics=SMALL, maintained=["topics"], clock=FrozenClock(NOON))
    memory.add(said(*LIFE[:10]), user="ann")
    memory.maintain()
    assert [one.id for one in documents(memory)] == ["CURRENT"]
    memory.add(said(*LIFE[10:]), user="ann")
    memory.maintain()
    found = documents(memory)
    assert len(found) > 3
    assert found[-1].id != "CURRENT" or found[-1].token_count < SMALL.current_threshold_tokens
    assert told(memory) == expected(said(*LIFE))


def test_a_document_too_big_is_split(filed):
    """Though all belong together; ids rise, and nothing is lost."""
    found = filed(
        said(*LIFE[:40]), said(*LIFE[40:]), route_similarity=-1.0, group_similarity=-1.0, split_tokens=260
    )
    ids = [one.id for one in documents(found)]
    assert ids == sorted(set(ids))
    assert len(ids) > 1
    assert all(one.token_count <= 260 for one in documents(found))
    assert told(found) == expected(said(*LIFE))


def test_current_is_flushed_before_a_message_that_comes_after_its_window(opened):
    """The late message starts a new CURRENT."""
    memory = opened(topics=SMALL, maintained=["topics"], clock=FrozenClock(NOON + timedelta(days=1)))
    memory.add(said(*LIFE[:2], apart=timedelta(days=1)), user="ann")
    memory.maintain()
    first, current = documents(memory)
    assert [entry.first for entry in first.entries] == [1]
    assert [entry.first for entry in current.entries] == [2]


@pytest.mark.parametrize("text", ["I live in Oslo.", "We baked bread with Bob."])
@pytest.mark.parametrize(("name", "hours"), [("Bea", 0), ("Ann", 20)])
def test_the_same_words_of_another_speaker_or_day_are_another_fact(filed, text, name, hours):
    """Each says "I" of somebody else; and words of an event are alike, its time is not."""
    first = Message(text, name="Ann", time=NOON)
    second = replace(first, name=name, time=NOON + timedelta(hours=hours))
    assert len(entries(filed([first, second]))) == 2


@pytest.mark.parametrize("alike", [True, False])
def test_small_documents_are_merged_if_their_summaries_are_similar(filed, alike):
    """The oldest id stays, and the other goes."""
    other = "I brush the cat Moss." if alike else "Ships sail north."
    memory = filed(said("I feed the cat Moss."), said(other), route_similarity=1.0)
    found = documents(memory)
    assert [one.id for one in found] == ["topic-0001"] if alike else ["topic-0001", "topic-0002"]
    assert len(entries(memory)) == 2


def test_the_paper_s_settings():
    """Section 4.1's numbers; the default differs in the reader, which is not stored."""
    paper = Consolidation.paper()
    found = (paper.extraction_tokens, paper.current_threshold_tokens, paper.split_tokens, paper.merge_tokens)
    assert found == (4096, 5000, 5000, 1000)
    assert paper.reader == "agentic"
    assert paper.fingerprint == Consolidation().fingerprint


def test_what_is_split_is_not_merged_again():
    """Settings by which it would be are refused."""
    with pytest.raises(InvalidInput, match="merge_tokens must be below split_tokens"):
        Consolidation(merge_tokens=5000)
