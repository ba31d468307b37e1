"""WriteAndConsolidate (Algorithm 1) as a function from a library to the next one, with CURRENT (Eq. 1).

The result depends on the log and the settings alone: messages go in one by one in the order of their seqs,
and CURRENT is flushed at the same places however messages are batched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from zibaldone.core import Message
from zibaldone.views.topics.consolidate.planning import Plan, plan
from zibaldone.views.topics.consolidate.resizing import merge_small, split
from zibaldone.views.topics.consolidate.rewriting import (
    DraftBlock,
    inserted,
    rewrite_current,
    rewrite_documents,
)
from zibaldone.views.topics.consolidate.summaries import logged, summed_up
from zibaldone.views.topics.consolidate.workbench import Work, Workbench
from zibaldone.views.topics.library import CURRENT, Library, order
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry, When


def append(library: Library, entries: Sequence[Entry], time: datetime, workbench: Workbench) -> Library:
    """Append the entries of a message, said at `time`, to CURRENT."""
    if not entries:
        return library
    current = library.current
    grown = replace(
        current,
        body=(*current.body, *entries),
        token_count=current.token_count + sum(workbench.tokens([entry.text for entry in entries])),
        created_time=current.created_time or When.of(time),
    )
    return replace(library, current=grown, opened=library.opened or time)


def add(library: Library, message: Message, entries: Sequence[Entry], workbench: Workbench) -> Library:
    """The library with one more message, whose entries these are.

    A CURRENT whose window is over is flushed first, and a full one afterwards. Raises ModelFailed when the
    embedder does not answer, and what the asking of a model raises: the library given is as it was.
    """
    assert message.time is not None  # what is stored has one
    library = flush_due(library, message.time, workbench)
    grown = append(library, entries, message.time, workbench)
    full = grown.current.token_count >= workbench.settings.current_threshold_tokens
    return flush(grown, workbench) if full else grown


def flush_due(library: Library, now: datetime, workbench: Workbench) -> Library:
    """Flush CURRENT if its window is over (Eq. 1); `now` is the time of the next message, or the clock's."""
    due = library.opened is not None and now - library.opened >= workbench.settings.current_window
    return flush(library, workbench) if due else library


def flush(library: Library, workbench: Workbench) -> Library:
    """Lines 14 to 32: file CURRENT into the documents, and empty it."""
    if not library.current.entries:
        return library
    work = Work(workbench, library)
    shelf = _Flush(library, work)
    portions = rewrite_current(library.current.entries, work)
    shelf.carry_out(plan(portions, shelf.documents, work))
    shelf.tidy()
    return shelf.closed()


@dataclass(frozen=True, slots=True)
class _Event:
    """The last change to a document, for its update log."""

    name: str
    summary: str = ""  # a model's, if it wrote one


class _Flush:
    """The documents during one flush."""

    def __init__(self, library: Library, work: Work) -> None:
        self.before, self.work = library, work
        self.documents: dict[str, Document] = dict(library.documents)
        self.events: dict[str, _Event] = {}  # of the documents that are changed
        self.time = max(library.current.entries, key=lambda entry: entry.last).time
        work.survey(self.documents.values(), library.current.entries)

    def carry_out(self, planned: Plan) -> None:
        """RewriteDoc for every document that the plan updates; documents that are too big are split first.

        A new one has the blocks as they are: nothing is in it that they could be put in order with.
        """
        changes: dict[str, list[DraftBlock]] = {}
        for doc_id, portions in sorted(planned.updates.items(), key=lambda item: order(item[0])):
            parts = self._split(doc_id)
            if len(parts) == 1:
                changes[doc_id] = list(portions)
                continue
            near = self.work.centres(self.documents[part].entries for part in parts)
            for portion in portions:
                best = parts[int((near @ self.work.centres([portion.entries])[0]).argmax())]
                changes.setdefault(best, []).append(portion)
        self._rewrite([(self.documents[doc_id], some) for doc_id, some in changes.items()], "updated")
        for name, portions in planned.new.items():
            document = inserted(Document(self.work.new_id()), portions, self.work, name)
            self.documents[document.id] = document
            self.events[document.id] = _Event("created", planned.summaries.get(name, ""))

    def tidy(self) -> None:
        """RefreshLibraryMetadata, lines 25 to 32: split, merge, renew summaries, counts and logs."""
        for doc_id, document in list(self.documents.items()):
            if doc_id in self.events or document.token_count > self.work.settings.split_tokens:
                self._split(doc_id)
        self._sum_up(self.events)
        while True:
            merged, gone = merge_small(self.documents, self.work, known=self.before.documents.keys())
            if not merged:
                break
            for doc_id in gone:
                del self.documents[doc_id]
                self.events.pop(doc_id, None)
            self._rewrite([(document, ()) for document in merged], "merged")
            self._sum_up(document.id for document in merged)
            if self.work.has_model:  # it is asked once
                break
        for doc_id, event in self.events.items():
            self.documents[doc_id] = logged(self.documents[doc_id], event.name, self.time)

    def _sum_up(self, ids: Iterable[str]) -> None:
        for doc_id in ids:
            document = self.documents[doc_id]
            self.documents[doc_id] = summed_up(document, self.work, self.events[doc_id].summary)

    def closed(self) -> Library:
        """Clear, line 23: the library with CURRENT empty."""
        old = self.before.documents
        written = [one for doc_id, one in self.documents.items() if old.get(doc_id) is not one]
        removed = [doc_id for doc_id in old if doc_id not in self.documents]
        return replace(
            self.before.with_documents(written, removed),
            current=Document(CURRENT),
            opened=None,
            next_id=int(self.work.new_id().rpartition("-")[2]),
        )

    def _rewrite(self, changes: Sequence[tuple[Document, Sequence[DraftBlock]]], event: str) -> None:
        for rewritten, summary in rewrite_documents(changes, self.work):
            self.documents[rewritten.id] = rewritten
            self.events[rewritten.id] = _Event(event, summary)

    def _split(self, doc_id: str) -> list[str]:
        parts = split(self.documents[doc_id], self.work)
        if len(parts) > 1:
            self.documents.update({part.id: part for part in parts})
            self.events |= {part.id: _Event("split") for part in parts}
        return [part.id for part in parts]
