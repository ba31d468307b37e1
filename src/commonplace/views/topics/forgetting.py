"""The library without some messages, as if nobody had sent them, as far as what is left can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from commonplace.text.words import content_words
from commonplace.views.topics.contradictions import claims, settle
from commonplace.views.topics.document import Block, Document, Heading, Section
from commonplace.views.topics.duplicates import groups
from commonplace.views.topics.entry import Entry
from commonplace.views.topics.library import CURRENT, Key, Library, Step, key_of, order
from commonplace.views.topics.summaries import finished, title
from commonplace.views.topics.tools import Tools, Work


def forget(library: Library, seqs: Iterable[int], tools: Tools) -> Step:
    """Without the entries that come from these messages alone; needs no model.

    A merged entry is taken apart: its other parts are put back, so that no word of a forgotten message stays.
    What a forgotten entry had superseded is current again, unless something that is left contradicts it.
    Summaries and headings of the documents that change are made anew, and empty documents go.
    """
    gone = frozenset(seqs)
    work = Work(tools, library)
    changed: dict[str, Document] = {}
    revived: set[str] = set()  # slots
    words: dict[str, set[str]] = {}  # that a document may have from what is forgotten
    for document in library.everything():
        left = document.map_entries(lambda entry: _left(entry, gone, work, revived))
        if left.body != document.body:
            changed[document.id] = left
            words[document.id] = _lost_words(document, left)
    changed |= _settled({**library.documents, CURRENT: library.current, **changed}, revived)
    tools.forget()
    work.survey([one for doc_id, one in changed.items() if doc_id != CURRENT], [])
    removed = [
        doc_id for doc_id, one in changed.items() if doc_id != CURRENT and not one.entries and not one.texts
    ]
    written = [
        finished(_retitled(one, words.get(doc_id, set()), work), work, "forgotten", None)
        for doc_id, one in changed.items()
        if doc_id != CURRENT and doc_id not in removed
    ]
    current = changed.get(CURRENT, library.current)
    current = replace(current, token_count=work.tokens(current.entries))
    made = replace(
        library.with_documents(written, removed),
        current=current if current.body else Document(CURRENT),
        opened=library.opened if current.entries else None,
        parts=dict(_parts_left(work.parts, gone)),
    )
    ids = sorted((one.id for one in written), key=order)
    ids += [CURRENT] if CURRENT in changed else []
    changes = work.changes(
        written=tuple(ids), removed=tuple(removed), rewritten_tokens=sum(one.token_count for one in written)
    )
    return Step(made, changes)


def _left(entry: Entry, gone: AbstractSet[int], work: Work, revived: set[str]) -> tuple[Entry, ...]:
    """What stands in its place."""
    marks = tuple(seq for seq in entry.superseded_by if seq not in gone)
    if gone.isdisjoint(entry.sources):
        if gone.isdisjoint(entry.superseded_by) and gone.isdisjoint(entry.supersedes):
            return (entry,)
        kept = _unmarked(entry, gone)
        if kept.current and not entry.current:
            revived.update(claim.slot for claim in claims(kept))
        return (kept,)
    parts = work.parts.pop(key_of(entry), (entry,))
    rest = [_unmarked(part, gone) for part in parts if gone.isdisjoint(part.sources)]
    put_back = [
        replace(work.merge(group), superseded_by=marks)
        for group in groups([replace(one, superseded_by=()) for one in rest])
    ]
    revived.update(claim.slot for one in put_back if one.current for claim in claims(one))
    return tuple(put_back)


def _unmarked(entry: Entry, gone: AbstractSet[int]) -> Entry:
    return replace(
        entry,
        supersedes=tuple(seq for seq in entry.supersedes if seq not in gone),
        superseded_by=tuple(seq for seq in entry.superseded_by if seq not in gone),
    )


def _settled(documents: dict[str, Document], slots: set[str]) -> dict[str, Document]:
    """The documents in which entries of these slots have to be marked again."""
    if not slots:
        return {}
    found = [
        (doc_id, entry)
        for doc_id, document in documents.items()
        for entry in document.entries
        if entry.current and any(claim.slot in slots for claim in claims(entry))
    ]
    changed: dict[str, dict[Key, Entry]] = {}
    for number, entry in settle((number, entry) for number, (_, entry) in enumerate(found)).items():
        changed.setdefault(found[number][0], {})[key_of(entry)] = entry
    return {
        doc_id: documents[doc_id].map_entries(lambda entry, new=new: (new.get(key_of(entry), entry),))  # type: ignore[misc] # bound now
        for doc_id, new in changed.items()
    }


def _lost_words(before: Document, after: Document) -> set[str]:
    """Words that only entries had which are gone."""
    left = {word for entry in after.entries for word in content_words(entry.text)}
    return {word for entry in before.entries for word in content_words(entry.text)} - left


def _retitled(document: Document, lost: set[str], work: Work) -> Document:
    """With new headings for those that have a word that is gone."""
    body: list[Block] = []
    for section in document.partitions():
        heading = section.heading
        if heading and not lost.isdisjoint(content_words(heading.title)):
            entries = section.entries or _below(document, section)
            body += [Heading(title(entries, work), heading.level), *section.blocks]
        else:
            body += section.body
    return document.with_body(body)


def _below(document: Document, section: Section) -> tuple[Entry, ...]:
    depth = len(section.path)
    return tuple(
        entry for one in document.partitions() if one.path[:depth] == section.path for entry in one.entries
    )


def _parts_left(
    parts: dict[Key, tuple[Entry, ...]], gone: AbstractSet[int]
) -> Iterator[tuple[Key, tuple[Entry, ...]]]:
    """What is not forgotten; marks of the parts are cleaned too."""
    for key, group in parts.items():
        if gone.isdisjoint(key[0]):
            yield key, tuple(_unmarked(one, gone) for one in group)
