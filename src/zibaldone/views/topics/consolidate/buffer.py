"""CURRENT, the buffer of recent entries: append-only, recallable, flushed by size or by time (Eq. 1).

What a new entry contradicts is marked when it arrives, wherever it stands: a reader never sees two values of
one thing as if both held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.consolidate.contradictions import claiming, marked, slots_claimed, stale
from zibaldone.views.topics.consolidate.summaries import finished
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.library import CURRENT, Library, exchanged
from zibaldone.views.topics.markdown.entry import Entry, When


def append(library: Library, entries: Sequence[Entry], time: datetime, work: Work) -> Library:
    """With the entries of one message, said at that time, at the end of CURRENT."""
    if not entries:
        return library
    library, entries = _settled(library, entries, work)
    current = library.current
    grown = replace(
        current,
        body=(*current.body, *entries),
        token_count=current.token_count + work.tokens(entries),
        created_time=current.created_time or When.of(time),
    )
    return replace(library, current=grown, opened=library.opened or time)


def _settled(library: Library, entries: Sequence[Entry], work: Work) -> tuple[Library, Sequence[Entry]]:
    """The library and the entries with marks of what supersedes what."""
    slots = slots_claimed(entries)
    if not slots:
        return library, entries
    # CURRENT changes with every message: to look through it is cheaper than to index it anew.
    current = [(CURRENT, entry) for entry in claiming(library.current.entries, slots)]
    of_document, incoming = marked([*work.rivals(library.documents, slots), *current], entries)
    changed = {
        doc_id: exchanged(document, new)
        for doc_id, new in of_document.items()
        if (document := library.document(doc_id)) is not None
    }
    grown = replace(library, current=changed.pop(CURRENT, library.current))
    outdated = [
        document
        for document in changed.values()
        if any(stale(document.summary, incoming, entry) for entry in of_document[document.id].values())
    ]
    if outdated:
        work.survey(library.documents.values(), library.current.entries)
        changed |= {one.id: finished(one, work, "updated", incoming[-1].time) for one in outdated}
    return grown.with_documents(changed.values()) if changed else grown, incoming


def is_full(library: Library, settings: Consolidation) -> bool:
    return library.current.token_count >= settings.current_threshold_tokens


def is_due(library: Library, now: datetime, settings: Consolidation) -> bool:
    """Delta t(C) >= tau_time; `now` is the time of the next message, or the clock's."""
    return library.opened is not None and now - library.opened >= settings.current_window
