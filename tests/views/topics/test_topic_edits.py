"""Edits by hand: which there are, what the log is told of them, and when memory has changed meanwhile."""

import json
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_texts import bodies, documents, nasty

from zibaldone.errors import InvalidImport
from zibaldone.views.topics.edit.document_diff import ALIKE, Edit, conflict_diff, diff, words_of
from zibaldone.views.topics.edit.edit_messages import to_messages
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Document, Event, Heading, Text
from zibaldone.views.topics.markdown.entry import Entry, When
from zibaldone.views.topics.markdown.export_marks import (
    INDEX,
    Exported,
    Review,
    file_names,
    fingerprint,
    read_index,
    render_index,
    review,
)
from zibaldone.views.topics.markdown.parsing import parse, parse_body
from zibaldone.views.topics.markdown.printing import render

often = settings(max_examples=50, deadline=None)

BEFORE = """\
# Cats

- <seq=1,time=2023-05-08> Ann has a cat named Moss.
- <seq=1> Moss is black.
- <seq=4,source=AI> Moss should see a vet every year.

Ask her sister.
"""


def _diff(before: str, after: str) -> tuple[Edit, ...]:
    return diff(Document("x", body=parse_body(before)), Document("x", body=parse_body(after)))


@often
@given(documents)
def test_no_edit_without_a_change(document):
    """A document that only went through a file has no edits."""
    assert diff(document, parse(render(document))) == ()


@often
@given(bodies, bodies, bodies, st.randoms())
def test_edits_account_for_every_entry(removed, kept, added, random):
    """What was there, less what edits took, plus what they brought, is what is there now."""
    mixed = [*kept, *added]
    random.shuffle(mixed)
    old, new = Document("x", body=removed + kept), Document("x", body=tuple(mixed))
    edits = diff(old, new)
    for kind in (Entry, Heading):
        had, has = (Counter(map(_bare, _of(d, kind))) for d in (old, new))
        took = Counter(_bare(edit.before) for edit in edits if isinstance(edit.before, kind))
        brought = Counter(_bare(edit.after) for edit in edits if isinstance(edit.after, kind))
        assert took <= had
        assert had - took + brought == has
    for edit in edits:
        assert (edit.before is None) == (edit.kind == "added")
        assert (edit.after is None) == (edit.kind == "removed")


def test_moving_is_no_edit():
    """Another order, another heading for an entry, another bullet: no fact has changed."""
    after = """\
Ask her sister.

* <seq=4,source=AI> Moss should see a vet every year.

# Cats

1. <seq=1> Moss is black.
2. <seq=1,time=2023-05-08> Ann has a cat named Moss.
"""
    assert _diff(BEFORE, after) == ()


def test_a_corrected_entry():
    """Under its seq an entry is the same however much was changed; of two under one, the one more alike."""
    (edit,) = _diff(BEFORE, BEFORE.replace("is black", "is a black tom"))
    assert (edit.kind, edit.part, edit.path) == ("changed", "entry", ("Cats",))
    assert edit.before == Entry("Moss is black.", 1)
    assert edit.after == Entry("Moss is a black tom.", 1)
    assert words_of(edit.after) == "Moss is a black tom."
    (edit,) = _diff(BEFORE, BEFORE.replace("Moss should see a vet every year", "Nothing at all"))
    assert (edit.kind, edit.before) == ("changed", Entry("Moss should see a vet every year.", 4, source="AI"))


words_of_entries = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8).map(" ".join), max_size=6)


@often
@given(words_of_entries, words_of_entries)
def test_what_is_left_unpaired_is_unlike(before, after):
    """Nothing that went shares most of its words with anything that came: such two are one change."""
    old, new = (
        Document("x", body=tuple(Entry(f"{text} {n}") for n, text in enumerate(some)))
        for some in (before, after)
    )
    edits = diff(old, new)
    added, removed = ([e for e in edits if e.kind == kind] for kind in ("added", "removed"))
    for came in added:
        for went in removed:
            a, b = (Counter(words_of(block).split()) for block in (came.after, went.before))
            assert 2 * (a & b).total() < ALIKE * (a.total() + b.total())


def test_many_entries_typed_anew_take_time_by_their_number():
    """Only entries that share rare words are compared: four times as many, not sixteen times the time."""

    def seconds(entries):
        old = [Entry(f"Item {n} is a thing of size {n % 13}.", n + 1) for n in range(entries)]
        new = [Entry(f"Item {n} is a matter of size {n % 13}.") for n in range(entries)]
        start = time.process_time()
        edits = diff(Document("x", body=tuple(old)), Document("x", body=tuple(new)))
        taken = time.process_time() - start
        assert [edit.kind for edit in edits] == ["changed"] * entries
        return taken

    seconds(50)  # whatever is made once
    assert seconds(1600) < 10 * max(seconds(400), 0.05)


def test_two_corrected_entries_under_one_seq():
    """Each is paired with the one it shares more words with, wherever they stand now."""
    after = "# Cats\n- <seq=1> Moss is a black tom.\n- <seq=1,time=2023-05-08> Ann has a cat named Max.\n"
    edits = _diff("".join(BEFORE.splitlines(keepends=True)[:4]), after)
    assert [(edit.before.text, edit.after.text) for edit in edits] == [
        ("Moss is black.", "Moss is a black tom."),
        ("Ann has a cat named Moss.", "Ann has a cat named Max."),
    ]


def test_an_entry_typed_anew():
    """Without its signature an entry is found by its text, or by most of its words."""
    (edit,) = _diff(BEFORE, BEFORE.replace("<seq=1> ", ""))
    assert (edit.kind, edit.after) == ("changed", Entry("Moss is black."))
    after = BEFORE.replace(
        "<seq=4,source=AI> Moss should see a vet every year", "Moss should see a vet every month"
    )
    (edit,) = _diff(BEFORE, after)
    assert (edit.kind, words_of(edit.after)) == ("changed", "Moss should see a vet every month.")


def test_entries_added_and_removed():
    """A new bullet, and one that is gone; the log is told where, but not again what was removed."""
    added, removed = _diff(BEFORE, BEFORE.replace("- <seq=1> Moss is black.", "- Ann moved to Oslo."))
    assert added == Edit("added", "entry", ("Cats",), None, Entry("Ann moved to Oslo."))
    assert (removed.kind, removed.before) == ("removed", Entry("Moss is black.", 1))


def test_a_mark_that_was_changed():
    """Attributes belong to an entry: a person may say that it is superseded."""
    (edit,) = _diff(BEFORE, BEFORE.replace("<seq=1>", "<seq=1,superseded_by=4>"))
    assert edit.after == Entry("Moss is black.", 1, superseded_by=(4,))


def test_paragraphs_headings_and_summary():
    """Free text is compared by paragraph; a heading and the summary are edits of their own."""
    old = Document("x", "cats", body=parse_body(BEFORE + "\nThe vet is in Main Street.\n"))
    new = replace(
        old,
        summary="cats; Moss",
        body=parse_body(BEFORE.replace("Cats", "Pets") + "\nThe vet is in Lake Street.\n"),
    )
    summary, heading, gone, text = diff(old, new)
    assert (summary.part, summary.kind, words_of(summary.after)) == ("summary", "changed", "cats; Moss")
    assert (heading.part, heading.kind, heading.after) == ("heading", "added", Heading("Pets"))
    assert (gone.part, gone.kind, gone.before) == ("heading", "removed", Heading("Cats"))
    assert (text.part, text.kind, text.before) == ("text", "changed", Text("The vet is in Main Street."))


@often
@given(bodies, bodies)
def test_what_the_log_keeps_of_an_edit_is_json(before, after):
    """It can be stored, whatever the documents are."""
    edits = [("x", edit) for edit in diff(Document("x", body=before), Document("x", body=after))]
    for message in to_messages(edits, Library()):
        assert json.loads(json.dumps(dict(message.metadata))) == message.metadata


def test_a_conflict_shows_both_sides():
    """With the exported text what either side changed, without it the difference of both."""
    shown = conflict_diff("a\nB\nc\n", "a\nb\nC\n", exported="a\nb\nc\n", name="cats.md")
    assert "--- cats.md as exported\n+++ cats.md in memory now" in shown
    assert "-b\n+B" in shown
    assert "+++ cats.md as edited" in shown
    assert "-c\n+C" in shown
    assert "-B\n-c\n+b\n+C" in conflict_diff("a\nB\nc\n", "a\nb\nC\n")


CATS = Document("cats", "cats", body=(Heading("Cats"), Entry("Ann has a cat.", 1)))
EXPORTED = {"cats": Exported("cats.md", fingerprint(CATS))}


def test_a_review_of_an_untouched_folder():
    """Nothing is asked for, even where memory has moved on or the document is gone."""
    files = {"cats.md": render(CATS)}
    newer = CATS.with_entries([Entry("Ann has a dog.", 2)])
    for stored in ({"cats": CATS}, {"cats": newer}, {}):
        found = review(EXPORTED, stored, files)
        assert (found.edits, found.conflicts) == ((), ())
    assert review(EXPORTED, {"cats": CATS}, {}).edits == ()


def test_a_review_of_an_edited_folder():
    """Edits carry the id of their document; a file that lost it is known by its name, a new file has none."""
    edited = render(CATS) + "- Moss is black.\n"
    headless = edited.split("---\n")[2]
    for text in (edited, headless):
        ((document, edit),) = [
            found
            for found in review(EXPORTED, {"cats": CATS}, {"cats.md": text}).edits
            if found[1].part == "entry"
        ]
        assert (document, words_of(edit.after)) == ("cats", "Moss is black.")
    ((document, edit),) = review(EXPORTED, {"cats": CATS}, {"new.md": "- Ann likes tea."}).edits
    assert (document, words_of(edit.after)) == ("", "Ann likes tea.")


def test_a_review_of_a_folder_that_memory_overtook():
    """A document changed on both sides is shown as a diff, and none of its edits is taken."""
    newer = CATS.with_entries([Entry("Ann has a dog.", 2)])
    files = {"cats.md": render(CATS).replace("a cat", "two cats"), "new.md": "- Ann likes tea."}
    for stored in ({"cats": newer}, {}):
        found = review(EXPORTED, stored, files)
        (conflict,) = found.conflicts
        assert (conflict.file, conflict.document) == ("cats.md", "cats")
        assert "+- <seq=1> Ann has two cats." in conflict.diff
        assert [document for document, _ in found.edits] == [""]
    same = {"cats": parse(files["cats.md"])}
    assert review(EXPORTED, same, {"cats.md": files["cats.md"]}) == Review((), ())
    logged = replace(CATS, update_log=(*CATS.update_log, Event("updated")), token_count=9)
    assert not review(EXPORTED, {"cats": logged}, files).conflicts


def test_a_file_that_cannot_be_read_is_named():
    """The error says which file, which line and what to do."""
    with pytest.raises(InvalidImport, match=r"^bad.md: line 2: .*put texts in quotes"):
        review({}, {}, {"bad.md": "---\naux: [\n---\n"})


@often
@given(st.lists(nasty, max_size=6, unique_by=lambda name: Document(name).id), nasty)
def test_an_index_says_what_was_exported(names, title):
    """Every document has a file of its own with a plain name, and the index is read back as it was meant."""
    found = [Document(name, title, body=(Heading(title),)) for name in names]
    files = file_names(found)
    index = render_index(found, When("2024-03-01"))
    assert read_index(index) == {d.id: Exported(files[d.id], fingerprint(d)) for d in found}
    assert len({name.casefold() for name in files.values()} | {INDEX}) == len(found) + 1
    assert not any(set(name) & set("/\\ \n\t:") or name.startswith(".") for name in files.values())


def test_file_names_do_not_collide():
    """Titles that look alike in a file name are counted, and the index keeps its own."""
    titles = ["Cats", "cats!", "Index", "../x", "?"]
    found = [Document(str(number), body=(Heading(title),)) for number, title in enumerate(titles)]
    assert list(file_names(found).values()) == ["cats.md", "cats-2.md", "index-2.md", "x.md", "topic.md"]


def test_an_index_for_people():
    """A line for each document: title, link, summary."""
    index = render_index([CATS, Document("2", "", body=(Heading("Æ [x]"),))], When("2024-03-01T12:00Z"))
    assert index.endswith("# Topics\n\n- [Cats](cats.md): cats\n- [Æ \\[x\\]](%C3%A6-x.md)\n")
    assert "exported: 2024-03-01T12:00Z" in index


@pytest.mark.parametrize(
    "text", ["", "# Topics", "---\ndocuments: [a]\n---\n", "---\ndocuments: {a: {}}\n---\n"]
)
def test_an_index_that_lost_its_list(text):
    """The error says what to do."""
    with pytest.raises(InvalidImport, match="export into a new folder"):
        read_index(text)


def _of(document: Document, kind: type) -> list:
    return [block for block in document.body if isinstance(block, kind)]


def _bare(block):
    return replace(block, marker="-") if isinstance(block, Entry) else block
