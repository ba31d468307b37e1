"""Forgetting in topic documents: the library as if some messages had never been sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from zibaldone.text.words import content_words, terms
from zibaldone.views.topics.consolidate.summaries import logged, summed_up, title
from zibaldone.views.topics.consolidate.workbench import Work, Workbench
from zibaldone.views.topics.library import CURRENT, Library
from zibaldone.views.topics.markdown.document import Block, Document, Heading
from zibaldone.views.topics.markdown.entry import Entry

_LONG = 5  # letters: of a shorter term, another that begins with it is another word


def forget(library: Library, seqs: Iterable[int], workbench: Workbench) -> Library:
    """Remove the entries that come from any of these messages; needs no model.

    What a forgotten entry had superseded is current again. Summaries and headings of the documents that
    change are made anew, and empty documents go. So are those of other documents that have a forgotten word:
    a split leaves headings over entries that they were not made of. A model may have put a forgotten message
    in words of its own: a heading above what is forgotten stays only if what is left says each of its words.
    """
    gone = frozenset(seqs)
    work = Work(workbench, library)
    changed: dict[str, Document] = {}
    for document in library.everything():
        left = document.map_entries(lambda entry: _left(entry, gone))
        if left.body != document.body:
            changed[document.id] = left
    words = _lost(library, gone, changed)
    changed = {doc_id: library.documents[doc_id] for doc_id in words if doc_id not in changed} | changed
    work.survey([one for doc_id, one in changed.items() if doc_id != CURRENT], [])
    removed = [doc_id for doc_id, one in changed.items() if doc_id != CURRENT and not one.entries]
    written = [
        logged(summed_up(_retitled(document, words.get(doc_id, frozenset()), work), work), "forgotten", None)
        for doc_id, document in changed.items()
        if doc_id != CURRENT and doc_id not in removed
    ]
    current = changed.get(CURRENT, library.current)
    current = replace(current, token_count=work.tokens(current.entries))
    return replace(
        library.with_documents(written, removed),
        current=current if current.body else Document(CURRENT),
        opened=library.opened if current.entries else None,
    )


def _left(entry: Entry, gone: AbstractSet[int]) -> tuple[Entry, ...]:
    """The entry without marks of what is gone, or nothing."""
    if not gone.isdisjoint(entry.sources):
        return ()
    if gone.isdisjoint(entry.superseded_by) and gone.isdisjoint(entry.supersedes):
        return (entry,)
    supersedes = tuple(seq for seq in entry.supersedes if seq not in gone)
    by = tuple(seq for seq in entry.superseded_by if seq not in gone)
    return (replace(entry, supersedes=supersedes, superseded_by=by),)


def _lost(library: Library, gone: AbstractSet[int], changed: Mapping[str, Document]) -> dict[str, set[str]]:
    """Headings and summaries, by document, that hold a word which none of its remaining entries has."""
    everywhere = _said(one for one in library.entries() if not gone.isdisjoint(one.sources))
    lost_titles: dict[str, set[str]] = {}
    for doc_id, before in library.documents.items():
        left = _said(changed.get(doc_id, before).entries)
        lost = everywhere - left
        losing = [
            section
            for section in before.partitions()
            if any(not gone.isdisjoint(entry.sources) for entry in section.entries)
        ]
        above = {title for section in losing for title in (before.title, *section.path)}
        shown = {before.summary, *(heading.title for heading in before.headings)}
        stale = {title for title in shown if _has_any(title, lost)}
        stale |= {one for one in above if not all(_has_any(word, left) for word in content_words(one))}
        if stale:
            lost_titles[doc_id] = stale
    return lost_titles


def _has_any(title: str, gone: AbstractSet[str]) -> bool:
    """True if a title has one of these terms, or an inflected form of one that the stemmer does not know."""
    own = set(terms(title))
    if not own.isdisjoint(gone):
        return True
    long = [term for term in own if len(term) >= _LONG]
    return any(
        term.startswith(other) or other.startswith(term)
        for term in long
        for other in gone
        if len(other) >= _LONG
    )


def _said(entries: Iterable[Entry]) -> set[str]:
    return {word for entry in entries for word in terms(entry.text)}


def _retitled(document: Document, stale: AbstractSet[str], work: Work) -> Document:
    body: list[Block] = []
    sections = document.partitions()
    for section in sections:
        heading, depth = section.heading, len(section.path)
        if heading and heading.title in stale:
            below = [entry for one in sections if one.path[:depth] == section.path for entry in one.entries]
            body += [Heading(title(section.entries or below, work), heading.level), *section.entries]
        else:
            body += section.body
    return document.with_body(body)
