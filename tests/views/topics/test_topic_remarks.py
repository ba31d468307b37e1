"""Remarks of a library that are kept up document by document are those that are made anew."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from zibaldone.views.topics.entry_units import LibraryRemarks
from zibaldone.views.topics.library import CURRENT, Library
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry

Body = tuple[Entry, ...]
ENTRIES = st.builds(
    lambda text, first, more, part: Entry(text, first, first + more, part=part),
    st.sampled_from(["She rows.", "She sings.", "The ferry is late."]),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(0, 14),
)
BODIES = st.lists(ENTRIES, max_size=16).map(tuple)
IDS = st.sampled_from(["topic-0001", "topic-0002", "topic-10000"])
STEPS = st.lists(st.tuples(IDS, st.one_of(st.none(), BODIES), BODIES), min_size=1, max_size=6)


@given(STEPS)
def test_they_are_the_same_after_any_changes(steps: list[tuple[str, Body | None, Body]]) -> None:
    """Documents new, changed and gone, entries that move among them, with others that were said with them."""
    library, kept = Library(), None
    for doc_id, body, current in steps:
        gone = () if body else (doc_id,)
        written = [Document(doc_id, body=body)] if body else []
        library = replace(library.with_documents(written, gone), current=Document(CURRENT, body=current))
        kept = LibraryRemarks.of(library, kept)
        anew = LibraryRemarks.of(library)
        assert kept.together == anew.together
        assert kept.remarks == anew.remarks
