"""CURRENT, the buffer of recent entries: append-only, recallable, flushed by size or by time (Eq. 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.entry import Entry, When


def append(library: Library, entries: Sequence[Entry], time: datetime, work: Work) -> Library:
    """With the entries of one message, said at that time, at the end of CURRENT."""
    if not entries:
        return library
    current = library.current
    grown = replace(
        current,
        body=(*current.body, *entries),
        token_count=current.token_count + work.tokens(entries),
        created_time=current.created_time or When.of(time),
    )
    return replace(library, current=grown, opened=library.opened or time)


def is_full(library: Library, settings: Consolidation) -> bool:
    return library.current.token_count >= settings.current_threshold_tokens


def is_due(library: Library, now: datetime, settings: Consolidation) -> bool:
    """Delta t(C) >= tau_time; `now` is the time of the next message, or the clock's."""
    return library.opened is not None and now - library.opened >= settings.current_window
