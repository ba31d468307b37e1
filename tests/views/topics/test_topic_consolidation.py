"""From CURRENT to documents and on: nothing is lost, the newest holds, sizes stay within bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_steps import NOON, SMALL, added, extracted, fed, filed, kept, one, said, texts, tools

from zibaldone import Consolidation, Document, Entry, Message
from zibaldone.errors import InvalidInput
from zibaldone.views.topics.consolidate.consolidation import flush
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Heading

WORDS = ("cat", "garden", "Oslo", "piano", "Globex", "sister", "bread", "Bergen", "bicycle", "school")
LIFE = [
    f"I {verb} the {WORDS[n % 10]} of {WORDS[(n * 7 + 3) % 10]} number {n}."
    for n, verb in enumerate(["bought", "painted", "lost", "found", "repaired"] * 16)
]
sentence = st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(lambda w: f"I know {' '.join(w)}.")


def test_current_is_flushed_at_its_threshold() -> None:
    """Before it holds as many tokens there is no document, and then it is empty again."""
    by = tools()
    library, flushes = fed(said(*LIFE[:10]), by)
    assert (flushes, len(library.current.entries), library.documents) == (0, 10, {})
    library, flushes = fed(said(*LIFE), by)
    assert flushes >= 2
    assert library.current.token_count < SMALL.current_threshold_tokens
    assert library.documents


def test_current_is_flushed_before_a_message_that_comes_after_its_window() -> None:
    """The late message starts a new CURRENT."""
    by = tools()
    library, flushes = fed(said(LIFE[0], LIFE[1], apart=timedelta(days=1)), by)
    assert flushes == 1
    assert [entry.first for entry in library.current.entries] == [2]
    assert library.opened == NOON + timedelta(days=1)


@settings(max_examples=25, deadline=None)
@given(st.lists(sentence, max_size=40))
def test_every_entry_is_somewhere(contents: list[str]) -> None:
    """In CURRENT, in a document, superseded, or part of a merged one."""
    messages, by = said(*contents), tools()
    library, _ = fed(messages, by)
    assert kept(library) == extracted(messages, by)
    assert kept(flush(library, by)) == extracted(messages, by)


def test_a_duplicate_is_one_entry_that_knows_both_messages() -> None:
    """The newest stays; across CURRENT and the documents too."""
    by = tools()
    library = filed(said("I live in Oslo.", "I own a boat.", "I live in Oslo."), by)
    assert one(library, "Oslo").sources == (1, 3)
    again = replace(said("I live in Oslo.")[0], seq=9)
    library = flush(added(library, again, None, by), by)
    assert one(library, "Oslo").sources == (1, 3, 9)
    assert len(library.parts_of(one(library, "Oslo"))) == 3


@pytest.mark.parametrize("text", ["I live in Oslo.", "We baked bread with Bob."])
@pytest.mark.parametrize(("name", "hours"), [("Bea", 0), ("Ann", 20)])
def test_the_same_words_of_another_speaker_or_day_are_another_fact(text: str, name: str, hours: int) -> None:
    """Each says "I" of somebody else; and words of an event are alike, its time is not."""
    first = Message(text, name="Ann", time=NOON, seq=1)
    second = replace(first, name=name, time=NOON + timedelta(hours=hours), seq=2)
    assert len(texts(filed([first, second], tools()))) == 2


def test_a_document_too_big_is_split_before_it_is_updated() -> None:
    """It stays updatable: nothing is filed elsewhere for its size, and nothing is lost."""
    by = tools()
    entries = [Entry(f"{text} And so on.", first=n) for n, text in enumerate(LIFE[:60], 1)]
    big = Document("topic-0001", body=(Heading("Life"), *entries))
    library = Library({"topic-0001": by_tokens(big)}, next_id=2)
    message = replace(said("I bought the cat of Oslo number 1000.")[0], seq=100)
    made = flush(added(library, message, None, by), by)
    assert len(made.documents) > 1
    assert all(one.token_count <= SMALL.split_tokens for one in made.documents.values())
    assert list(made.documents) == sorted(made.documents)  # ids rise, and none is given twice
    assert made.next_id > max(int(name[-4:]) for name in made.documents)
    assert sorted(texts(made)) == sorted(
        [*(entry.text for entry in entries), "I bought the cat of Oslo number 1000."]
    )


@pytest.mark.parametrize("alike", [True, False])
def test_small_documents_are_merged_if_their_summaries_are_similar(alike: bool) -> None:
    """The oldest id stays, the others go and are not given again; their entries' likeness does not count."""
    by = tools()
    entry = Entry("I feed the cat Moss.", first=1)
    other = Entry("I brush the cat Moss.", first=2)
    library = Library(
        {
            "topic-0001": Document("topic-0001", "cat; Moss is fed.", 8, body=(Heading("Cat"), entry)),
            "topic-0002": Document(
                "topic-0002",
                "cat; Moss is brushed." if alike else "trade; ships sail north.",
                8,
                body=(Heading("Moss"), other),
            ),
        },
        next_id=3,
    )
    library, _ = fed([replace(said("Globex sells machines in Bergen.")[0], seq=3)], by, library)
    merged = flush(library, by)
    assert ("topic-0002" in merged.documents) is not alike
    assert ({entry, other} <= set(merged.documents["topic-0001"].entries)) is alike


def test_the_paper_s_settings() -> None:
    """Section 4.1's numbers; the default differs in the reader, which is not stored."""
    paper = Consolidation.paper()
    found = (paper.extraction_tokens, paper.current_threshold_tokens, paper.split_tokens, paper.merge_tokens)
    assert found == (4096, 5000, 5000, 1000)
    assert paper.reader == "agentic"
    assert paper.fingerprint == Consolidation().fingerprint


def test_what_is_split_is_not_merged_again() -> None:
    """Settings by which it would be are refused."""
    with pytest.raises(InvalidInput, match="merge_tokens must be below split_tokens"):
        Consolidation(merge_tokens=5000)


def by_tokens(document: Document) -> Document:
    """With a token count that is about right."""
    return replace(document, token_count=sum(len(entry.text.split()) + 3 for entry in document.entries))
