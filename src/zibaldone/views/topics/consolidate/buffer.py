"""CURRENT, the buffer of recent entries: append-only, recallable, flushed by size or by time (Eq. 1).

What a new entry contradicts is marked when it arrives, wherever it stands: a reader never sees two values of
one thing as if both held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.consolidate.contradictions import claims, settle, stale
from zibaldone.views.topics.consolidate.summaries import finished
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.library import CURRENT, Key, Library, key_of
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry, When


def append(library: Library, entries: Sequence[Entry], time: datetime, work: Work) -> Library:
    """With the entries of one message, said at that time, at the end of CURRENT."""
    if not entries:
        return library
    library, entries = settled(library, entries, work)
    current = library.current
    grown = replace(
        current,
        body=(*current.body, *entries),
        token_count=current.token_count + work.tokens(entries),
        created_time=current.created_time or When.of(time),
    )
    return replace(library, current=grown, opened=library.opened or time)


def settled(library: Library, entries: Sequence[Entry], work: Work) -> tuple[Library, Sequence[Entry]]:
    """The library and the entries with marks of what supersedes what."""
    slots = {claim.slot for entry in entries for claim in claims(entry)}
    if not slots:
        return library, entries
    filed = work.workbench.claiming(slots, library.documents.values())
    held = [(document.id, entry) for document, entry in filed]
    # CURRENT changes with every message: to look through it is cheaper than to profile it anew.
    held += [
        (CURRENT, entry)
        for entry in library.current.entries
        if entry.current and any(claim.slot in slots for claim in claims(entry))
    ]
    given = [*held, *((CURRENT, entry) for entry in entries)]
    changed = settle(enumerate(entry for _, entry in given))
    if not changed:
        return library, entries
    of_document: dict[str, dict[Key, Entry]] = {}
    for number, entry in changed.items():
        if number < len(held):
            of_document.setdefault(held[number][0], {})[key_of(entry)] = entry
    incoming = [changed.get(number, entry) for number, (_, entry) in enumerate(given)][len(held) :]
    marked = {doc_id: _marked(library, doc_id, new) for doc_id, new in of_document.items()}
    current = marked.pop(CURRENT, library.current)
    outdated = [
        document
        for document in marked.values()
        if any(stale(document.summary, incoming, entry) for entry in of_document[document.id].values())
    ]
    if outdated:
        work.survey(library.documents.values(), library.current.entries)
        marked |= {one.id: finished(one, work, "updated", incoming[-1].time) for one in outdated}
    return replace(library.with_documents(marked.values()), current=current), incoming


def _marked(library: Library, doc_id: str, new: Mapping[Key, Entry]) -> Document:
    """The document with these entries in the places of those that they are; it says no more than before."""
    document = library.document(doc_id)
    assert document
    return document.map_entries(lambda entry: (new.get(key_of(entry), entry),))


def is_full(library: Library, settings: Consolidation) -> bool:
    return library.current.token_count >= settings.current_threshold_tokens


def is_due(library: Library, now: datetime, settings: Consolidation) -> bool:
    """Delta t(C) >= tau_time; `now` is the time of the next message, or the clock's."""
    return library.opened is not None and now - library.opened >= settings.current_window
