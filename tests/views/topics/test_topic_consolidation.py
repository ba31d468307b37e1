"""From CURRENT to documents and on: nothing is lost, the newest holds, sizes stay within bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_steps import (
    NOON,
    SMALL,
    added,
    extracted,
    fed,
    filed,
    kept,
    numbered,
    one,
    said,
    texts,
    tools,
)

from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.consolidate.consolidation import flush, flush_due
from zibaldone.views.topics.consolidate.contradictions import claims, settle
from zibaldone.views.topics.library import CURRENT, Library
from zibaldone.views.topics.markdown.document import Document, Heading
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.markdown.parsing import parse
from zibaldone.views.topics.markdown.printing import render

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


def test_a_worker_flushes_by_the_clock() -> None:
    """Also when nobody writes any more; and not before."""
    by = tools()
    library, _ = fed(said(LIFE[0]), by)
    assert flush_due(library, NOON + timedelta(hours=23), by) == library
    assert flush_due(library, NOON + timedelta(days=1), by).current == Document(CURRENT)


def test_one_by_one_is_as_all_at_once() -> None:
    """What was fed in several runs, with other tools each time, is the same library."""
    messages = said(*LIFE)
    whole, _ = fed(messages, tools())
    library = Library()
    for number, message in enumerate(messages):
        library = added(library, message, messages[number - 1] if number else None, tools())
    assert library == whole


@settings(max_examples=25, deadline=None)
@given(st.lists(sentence, max_size=40))
def test_every_entry_is_somewhere(contents: list[str]) -> None:
    """In CURRENT, in a document, superseded, or part of a merged one."""
    messages, by = said(*contents), tools()
    library, _ = fed(messages, by)
    assert kept(library) == extracted(messages, by)
    assert kept(flush(library, by)) == extracted(messages, by)


def test_documents_stay_within_their_size() -> None:
    """What grows is split; ids are never given twice and rise."""
    library = filed(said(*LIFE), tools())
    assert all(one.token_count <= SMALL.split_tokens for one in library.documents.values())
    assert list(library.documents) == sorted(library.documents)
    assert library.next_id > max(int(name[-4:]) for name in library.documents)


def test_documents_survive_printing() -> None:
    """What is exported is what there is."""
    for document in filed(said(*LIFE), tools()).documents.values():
        assert parse(render(document)).body == document.body


def test_a_duplicate_is_one_entry_that_knows_both_messages() -> None:
    """The newest stays; across CURRENT and the documents too."""
    by = tools()
    library = filed(said("I live in Oslo.", "I own a boat.", "I live in Oslo."), by)
    assert one(library, "Oslo").sources == (1, 3)
    again = replace(said("I live in Oslo.")[0], seq=9)
    library = flush(added(library, again, None, by), by)
    assert one(library, "Oslo").sources == (1, 3, 9)
    assert len(library.parts_of(one(library, "Oslo"))) == 3


def test_the_same_words_of_two_speakers_are_two_facts() -> None:
    """Each says "I" of somebody else."""
    ann, bea = Message("I live in Oslo.", name="Ann"), Message("I live in Oslo.", name="Bea")
    assert len(texts(filed(numbered([ann, bea]), tools()))) == 2


def test_the_same_event_on_two_days_is_two_facts() -> None:
    """Its words are alike, its time is not."""
    messages = said("We baked bread with Bob.", "We baked bread with Bob.", apart=timedelta(hours=20))
    assert len(texts(filed(messages, tools()))) == 2


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The capital of Norvia is Oslo.", "The capital of Norvia is Bergen."),
        ("The capital of Norvia is Oslo.", "Bergen is the capital of Norvia."),
        ("Ann Lee's employer is Globex.", "Ann Lee's employer is Initech."),
        ("Ann Lee works for Globex.", "Ann Lee works for Initech."),
        ("Misery was written by Ann Lee.", "Misery was written by Bea Moe."),
        ("I live in Oslo.", "I moved to Bergen."),
        ("The company that made Zed is Globex.", "The company that made Zed is Initech."),
    ],
)
def test_the_newest_value_holds_and_says_what_it_superseded(older: str, newer: str) -> None:
    """Within one CURRENT, and across flushes; the old one stays, marked."""
    for apart in (timedelta(0), timedelta(days=2)):
        library = filed(said(older, newer, apart=apart), tools())
        assert (one(library, older).superseded_by, one(library, newer).supersedes) == ((2,), (1,))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I like tea.", "I like coffee."),
        ("Ann went to Oslo.", "Ann went to Bergen."),
        ("Ann is a friend of Bea.", "Ann is a friend of Cleo."),
        ("The capital of Norvia is Oslo.", "The capital of Sudria is Bergen."),
        ("Ann Lee was born in 1990.", "Ann Lee was born in Oslo."),
        ("Ann Lee does not work for Globex.", "Ann Lee works for Initech."),
        ("The authors of Zed are Ann and Bea.", "The authors of Zed are Cleo and Dan."),
    ],
)
def test_what_may_both_be_true_is_not_superseded(first: str, second: str) -> None:
    """Marking too much hides what holds."""
    assert texts(filed(said(first, second), tools()), current=False) == []


def test_what_a_message_contradicts_is_marked_at_once() -> None:
    """CURRENT never shows two values as if both held, nor does a document beside it."""
    by = tools()
    for apart in (timedelta(0), timedelta(days=2)):
        library, _ = fed(said("I live in Oslo.", "I live in Bergen.", apart=apart), by)
        assert bool(library.documents) == bool(apart)
        assert texts(library, current=True) == ["I live in Bergen."]
        assert all("Oslo" not in document.summary for document in library.documents.values())


def test_an_old_value_that_is_told_late_is_marked_on_arrival() -> None:
    """The assistant's answer is not believed before the person it answers, unmarked not even for a while."""
    person = Message("The capital of Norvia is Oslo.")
    wrong = Message("The capital of Norvia is Bergen.", role="assistant")
    library, _ = fed(numbered([person, wrong]), tools())
    assert one(library, "Bergen").superseded_by == (1,)


def test_thresholds_are_of_what_is_said() -> None:
    """Neither signatures nor marks count: 200 tokens of CURRENT hold 200 tokens of content."""
    by = tools()
    home = Document("topic-0001", summary="bread", body=(Heading("Home"), Entry("I live in Oslo.", 1)))
    library = Library({"topic-0001": by_tokens(home)}, next_id=2)
    marked = added(library, replace(said("I live in Bergen.")[0], seq=2), None, by)
    (document,) = marked.documents.values()
    assert (document.summary, document.entries[0].superseded_by) == ("bread", (2,))
    assert document.token_count == library.documents[home.id].token_count
    assert marked.current.token_count == by.tokens(["I live in Bergen."])[0]
    filed_away = flush(marked, by)
    for one_document in filed_away.documents.values():
        said_in_it = [
            block.title if isinstance(block, Heading) else block.text for block in one_document.body
        ]
        assert one_document.token_count == sum(by.tokens(said_in_it))


def test_summaries_and_titles_are_not_made_of_what_was_shown() -> None:
    """A caption tells what a picture has in it, and not what was said."""
    (document,) = filed(
        said("I bought a red bicycle. [image: a photo of a lamp on a lawn]"), tools()
    ).documents.values()
    assert "bicycle" in document.summary
    assert "lamp" not in f"{document.summary} {document.title}".lower()
    assert "lamp" in document.entries[0].text


def test_a_part_decides_between_entries_of_one_message() -> None:
    """Also when what was said later stands in an earlier document."""
    old, new = (
        Entry("The capital of Norvia is Oslo.", 3, part=1),
        Entry("The capital of Norvia is Bergen.", 3, part=2),
    )
    assert [entry.current for _, entry in sorted(settle([(0, new), (1, old)]).items())] == [True, False]


def test_inside_one_message_the_later_line_is_newer() -> None:
    """The order of a document is its recency, although all its entries have one seq."""
    library = filed(said("1. The capital of Norvia is Oslo.\n2. The capital of Norvia is Bergen."), tools())
    assert not one(library, "Oslo").current
    assert one(library, "Bergen").current


def test_a_value_that_comes_back_holds_again() -> None:
    """Oslo, Bergen, Oslo: the last one is what holds."""
    for apart in (timedelta(0), timedelta(days=2)):
        library = filed(said("I live in Oslo.", "I live in Bergen.", "I live in Oslo.", apart=apart), tools())
        assert texts(library, current=True) == ["I live in Oslo."]
        assert not one(library, "Bergen").current


def test_a_person_is_believed_before_the_assistant_that_answers() -> None:
    """At equal recency, which is that of one exchange; a later correction still counts."""
    person = Message("The capital of Norvia is Oslo.")
    wrong = Message("The capital of Norvia is Bergen.", role="assistant")
    library = filed(numbered([person, wrong]), tools())
    assert texts(library, current=True) == ["The capital of Norvia is Oslo."]
    later = numbered([person, Message("I bake bread."), wrong])
    assert "The capital of Norvia is Bergen." in texts(filed(later, tools()), current=True)


def test_superseded_entries_are_not_in_summaries() -> None:
    """A summary says what holds."""
    library = filed(said("The capital of Norvia is Oslo.", "The capital of Norvia is Bergen."), tools())
    (document,) = library.documents.values()
    assert "Bergen" in document.summary
    assert "Oslo" not in document.summary


def test_summaries_are_short() -> None:
    """At most summary_tokens, whatever the entries say."""
    by = tools(replace(SMALL, summary_tokens=12))
    for document in filed(said(*LIFE), by).documents.values():
        assert 0 < len(document.summary.replace(",", " ").split()) <= 12


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
    assert sorted(texts(made)) == sorted(
        [*(entry.text for entry in entries), "I bought the cat of Oslo number 1000."]
    )


def test_small_documents_on_one_subject_are_merged() -> None:
    """The oldest id stays, the others go and are not given again."""
    by = tools()
    entry = Entry("I feed the cat Moss.", first=1)
    other = Entry("I brush the cat Moss.", first=2)
    library = Library(
        {
            "topic-0001": by_tokens(Document("topic-0001", body=(Heading("Cat"), entry))),
            "topic-0002": by_tokens(Document("topic-0002", body=(Heading("Moss"), other))),
        },
        next_id=3,
    )
    library, _ = fed([replace(said("Globex sells machines in Bergen.")[0], seq=3)], by, library)
    merged = flush(library, by)
    assert "topic-0002" not in merged.documents
    assert {entry, other} <= set(merged.documents["topic-0001"].entries)


def test_documents_that_a_message_does_not_touch_stay_the_same_objects() -> None:
    """What is parsed and indexed of them stays so."""
    before = filed(said(*LIFE), tools())
    message = replace(said("My sister plays piano in Oslo.")[0], seq=200)
    after = added(before, message, None, tools())
    assert after.current.entries
    assert all(after.documents[name] is one for name, one in before.documents.items())


def test_an_empty_current_needs_no_flush() -> None:
    """And changes nothing."""
    assert flush(Library(), tools()) == Library()


def test_a_claim_is_read_the_same_in_either_order() -> None:
    """V is the N of K, and the N of K is V."""
    one_way, other_way = Entry("The mayor of Oslo is Ann Lee."), Entry("Ann Lee is the mayor of Oslo.")
    assert claims(one_way) == claims(other_way) != ()


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_read_for_claims(text: str) -> None:
    """And quickly."""
    claims(Entry(text))


@pytest.mark.parametrize(
    "wrong",
    [
        {"current_threshold_tokens": 0},
        {"split_tokens": True},
        {"merge_most": 1},
        {"merge_tokens": 5000},
        {"route_similarity": 2.0},
        {"current_window": timedelta(0)},
        {"current_window": 60},
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    """With the name of the setting."""
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Consolidation(**wrong)


def test_the_fingerprint_tells_settings_apart() -> None:
    """What was made with others has to be rebuilt."""
    assert Consolidation().fingerprint == Consolidation().fingerprint
    assert Consolidation().fingerprint != Consolidation(split_tokens=4000).fingerprint


def by_tokens(document: Document) -> Document:
    """With a token count that is about right."""
    return replace(document, token_count=sum(len(entry.text.split()) + 3 for entry in document.entries))
