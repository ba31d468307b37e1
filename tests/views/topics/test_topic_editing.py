"""A person's edits: which there are, and what each, as a message, does to the library."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from topic_talk import NOON, tools
from topic_texts import documents

from zibaldone import Document, Message
from zibaldone.log.message_input import to_messages as checked
from zibaldone.views.topics.editing import apply, diff, read, to_messages
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Heading, parse, parse_body, render, render_body
from zibaldone.views.topics.markdown.entry import When
from zibaldone.views.topics.markdown.folder_export import INDEX, write_folder

BODY = """\
# Cats

- <seq=1,time=2023-05-01,source=Ann> I have a cat named Moss.
- <seq=2> Moss is black.

## Food

- <seq=3> Moss likes fish.

Ask her sister.
"""
CATS = Document("topic-0001", "cats, Moss", body=parse_body(BODY))
TREES = Document("topic-0002", "trees", body=parse_body("# Trees\n\n- <seq=5> Oaks grow slowly.\n"))


def library(*stored: Document, **options) -> Library:
    """With these documents."""
    return Library({one.id: one for one in stored or (CATS, TREES)}, next_id=9, **options)


def edited(before: Document, after: Document | str, first: int = 40) -> list[Message]:
    """Messages of an edit as the log stores them: seqs from `first`."""
    if isinstance(after, str):
        after = replace(before, body=parse_body(after))
    asked = checked(to_messages(before.id, diff(before, after)), session=None)
    return [replace(one, seq=seq, time=NOON) for seq, one in enumerate(asked, first)]


def applied(found: Library, messages: list[Message]) -> Library:
    """One after the other."""
    by = tools()
    for message in messages:
        found = apply(found, [message], by)
    return found


def body(found: Library, doc_id: str = "topic-0001") -> str:
    """A document's, as it is printed."""
    return render_body(found.documents[doc_id].body)


def test_no_message_says_what_another_said():
    """Old words, and headings that memory made of them, are in no message: each can be forgotten alone."""
    after = replace(CATS, summary="", body=parse_body("# Dogs\n\n- <seq=1> I have a dog.\n"))
    told = str([(one.content, one.metadata) for one in edited(CATS, after)])
    assert not any(word in told for word in ("Cats", "cats", "Moss", "black", "Food", "sister"))


def test_a_message_that_is_no_edit():
    """Only editors edit, and only by what an edit says."""
    by = tools()
    for message in (
        Message("Hello.", seq=1, time=NOON),
        Message("Hello.", role="editor", seq=1, time=NOON),
        Message("x", role="user", metadata={"edit": "added", "part": "entry"}, seq=1, time=NOON),
        Message("x", role="editor", metadata={"edit": ["added"], "part": "entry"}, seq=1, time=NOON),
        Message("x", role="editor", metadata={"edit": "added", "part": "soul"}, seq=1, time=NOON),
        Message("x", role="editor", metadata={"edit": "added", "part": "entry", "path": 7}, seq=1, time=NOON),
    ):
        start = library()
        assert read(message) is None
        assert apply(start, [message], by) is start


def test_edits_at_once():
    """They leave what they leave one after the other: words, marks, summaries, CURRENT."""
    after = "# Cats\n\n- <seq=1> I have a dog.\n- Moss lives in Bern.\n- Moss lives in Basel.\n\nA line.\n"
    messages = edited(CATS, after)
    assert len(messages) > 4
    at_once = apply(library(), messages, tools())
    in_turn = applied(library(), messages)
    assert [(one.body, one.summary, one.token_count) for one in at_once.everything()] == [
        (one.body, one.summary, one.token_count) for one in in_turn.everything()
    ]
    assert at_once.documents["topic-0001"].summary != CATS.summary


@pytest.mark.parametrize(
    ("was", "now", "printed", "then"),
    [
        ("is black", "is a tabby", "<seq=2> Moss is black", "<seq=40,time=2023-05-08> Moss is a tabby"),
        ("- <seq=3> Moss likes fish.\n", "", "- <seq=3> Moss likes fish.\n", ""),
        (
            "likes fish.\n",
            "likes fish.\n- Moss hates rice.\n",
            "- Ask her sister.",
            "- Ask her sister.\n- <seq=40,time=2023-05-08> Moss hates rice.",
        ),
        (
            "is black.\n",
            "is black.\n- <time=2020> Moss was lost.\n",
            "is black.\n",
            "is black.\n- <seq=40,time=2020> Moss was lost.\n",
        ),
        (
            "sister.\n",
            "sister.\n\n## Toys\n\n- Moss has a ball.\n",
            "is black.\n",
            "is black.\n- <seq=40,time=2023-05-08> Moss has a ball.\n",
        ),
    ],
    ids=["changed", "removed", "added", "added with a date", "added below a new heading"],
)
def test_an_edit(was, now, printed, then):
    """New words stand in the place of the old; what is added at the end of its section; headings stay."""
    found = applied(library(), edited(CATS, BODY.replace(was, now)))
    assert body(found) == body(library()).replace(printed, then)
    assert found.documents["topic-0001"].update_log[-1].event == "edited"
    assert found.documents["topic-0002"] is TREES
    assert not found.current.body


def test_a_change_keeps_who_said_it_and_when():
    """As the signature says after the edit."""
    found = applied(library(), edited(CATS, BODY.replace("I have a cat", "I have two cats")))
    new = found.documents["topic-0001"].entries[0]
    assert (new.source, new.time, new.sources) == ("Ann", When("2023-05-01"), (40,))
    dateless = BODY.replace("<seq=1,time=2023-05-01,source=Ann> I", "<seq=1> We")
    new = applied(library(), edited(CATS, dateless)).documents["topic-0001"].entries[0]
    assert (new.text[:2], new.source, new.time) == ("We", None, When("2023-05-01"))
    after = BODY.replace("<seq=2>", "<seq=2,superseded_by=3>")
    new = applied(library(), edited(CATS, after)).documents["topic-0001"].entries[1]
    assert (new.text, new.superseded_by, new.sources) == ("Moss is black.", (3,), (40,))


def test_an_addition_without_a_place():
    """In CURRENT, and from there it is filed like what was said."""
    found = applied(
        library(), edited(Document("topic-0008"), "# Trips\n\n- Ann went to Oslo.\n\nIt rained.\n")
    )
    assert [(one.text, one.sources) for one in found.current.entries] == [
        ("Ann went to Oslo.", (40,)),
        ("It rained.", (41,)),
    ]
    assert found.opened == NOON
    assert found.current.token_count > 0
    assert found.documents == library().documents


def test_what_cannot_be_found():
    """A removal does nothing; a change is noted in CURRENT, once however often it is applied."""
    edits = edited(CATS, BODY.replace("- <seq=2> Moss is black.\n", ""))
    of_another_message = replace(CATS, body=parse_body(BODY.replace("<seq=2>", "<seq=6>")))
    for start in (library(TREES), library(of_another_message)):
        assert applied(start, edits) is start
    start = library(TREES)
    edits = edited(CATS, BODY.replace("is black", "is a black tom"))
    found = applied(start, edits)
    assert [one.text for one in found.current.entries] == ["Moss is a black tom."]
    assert applied(found, edits) is found
    done = applied(library(), edits)
    assert applied(done, edits) is done


def test_after_a_rebuild_under_other_ids():
    """Entries are found by their words and sources, additions by a heading path of one document alone."""
    edits = edited(
        CATS,
        BODY.replace("is black", "is a black tom").replace("likes fish.", "likes fish.\n- Moss hates rice."),
    )
    moved = library(replace(TREES, id="topic-0001"), replace(CATS, id="topic-0007"))
    found = applied(moved, edits)
    assert found.documents["topic-0001"] == replace(TREES, id="topic-0001")
    expected = applied(library(), edits).documents["topic-0001"]
    assert found.documents["topic-0007"].body == expected.body
    assert not found.current.body


@settings(max_examples=60, deadline=None)
@given(documents, documents)
def test_what_a_person_left_is_what_memory_says(before, after):
    """Whatever was edited: the same words."""
    before = replace(before, id="topic-0001")
    after = before.with_body(parse(render(after)))
    found = applied(library(before), edited(before, after, first=100))
    made = found.documents.get("topic-0001", Document("topic-0001"))
    texts = Counter(one.text for one in (*made.entries, *found.current.entries) if one.text)
    wanted = Counter(one.text for one in after.entries if one.text)
    assert wanted == texts


@settings(max_examples=50, deadline=None)
@given(documents)
def test_no_edit_without_a_change(document):
    """A document that only went through a file has no edits."""
    assert diff(document, document.with_body(parse(render(document)))) == ()


def test_an_index_for_people(tmp_path):
    """A line for each document: title, link, summary."""
    found = [Document("a", "cats", body=(Heading("Cats"),)), Document("b", "", body=(Heading("Æ [x]"),))]
    write_folder(tmp_path / "out", found, "ann", When("2024-03-01T12:00Z"))
    index = (tmp_path / "out" / INDEX).read_text()
    assert index.endswith("# Topics\n\n- [Cats](a.md): cats\n- [Æ \\[x\\]](b.md)\n")
    assert "exported: 2024-03-01T12:00Z" in index
