"""Edits by hand: which there are, what the log is told of them, and what an exported folder looks like."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from topic_texts import bodies, documents

from zibaldone.views.topics.editing import Edit, conflict_diff, diff
from zibaldone.views.topics.markdown.document import Document, Heading, parse, parse_body, render
from zibaldone.views.topics.markdown.entry import Entry, When
from zibaldone.views.topics.markdown.folder_export import INDEX, write_folder

often = settings(max_examples=50, deadline=None)

BEFORE = """\
# Cats

- <seq=1,part=1,time=2023-05-08> Ann has a cat named Moss.
- <seq=1,part=2> Moss is black.
- <seq=4,source=AI> Moss should see a vet every year.
"""


def _diff(before: str, after: str) -> tuple[Edit, ...]:
    return diff(Document("x", body=parse_body(before)), Document("x", body=parse_body(after)))


@often
@given(documents)
def test_no_edit_without_a_change(document):
    """A document that only went through a file has no edits."""
    assert diff(document, document.with_body(parse(render(document)))) == ()


@often
@given(bodies, bodies, bodies, st.randoms())
def test_edits_account_for_every_entry(removed, kept, added, random):
    """Entries before, less removed ones, plus added ones, are the entries now, in words."""
    mixed = [*kept, *added]
    random.shuffle(mixed)
    old, new = Document("x", body=removed + kept), Document("x", body=tuple(mixed))
    edits = diff(old, new)
    had, has = (Counter(one.text for one in document.entries) for document in (old, new))
    took = Counter(edit.before.text for edit in edits if edit.before)
    brought = Counter(edit.after.text for edit in edits if edit.after)
    assert took <= had
    assert had - took + brought == has
    for edit in edits:
        assert (edit.before is None) == (edit.kind == "added")
        assert (edit.after is None) == (edit.kind == "removed")


def test_a_corrected_entry():
    """Under its seq and part an entry is the same however much was changed."""
    (edit,) = _diff(BEFORE, BEFORE.replace("Moss is black", "He is a tom"))
    assert (edit.kind, edit.path) == ("changed", ("Cats",))
    assert edit.before == Entry("Moss is black.", 1, part=2)
    assert edit.after == Entry("He is a tom.", 1, part=2)


def test_a_conflict_shows_both_sides():
    """What either side changed since the edit began."""
    shown = conflict_diff("a\nB\nc\n", "a\nb\nC\n", "a\nb\nc\n", name="cats")
    assert "--- cats as exported\n+++ cats in memory now" in shown
    assert "-b\n+B" in shown
    assert "+++ cats as edited" in shown
    assert "-c\n+C" in shown


def test_an_index_for_people(tmp_path):
    """A line for each document: title, link, summary."""
    found = [Document("a", "cats", body=(Heading("Cats"),)), Document("b", "", body=(Heading("Æ [x]"),))]
    write_folder(tmp_path / "out", found, "ann", When("2024-03-01T12:00Z"))
    index = (tmp_path / "out" / INDEX).read_text()
    assert index.endswith("# Topics\n\n- [Cats](a.md): cats\n- [Æ \\[x\\]](b.md)\n")
    assert "exported: 2024-03-01T12:00Z" in index
