"""One user's topic documents as an immutable value: every step makes a new one (section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count

from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry

CURRENT = "CURRENT"


@dataclass(frozen=True, slots=True)
class CatalogueLine:
    """A document as a reader sees it before opening it."""

    id: str
    title: str
    summary: str
    tokens: int

    @staticmethod
    def of(document: Document) -> CatalogueLine:
        return CatalogueLine(document.id, document.title, document.summary, document.token_count)


@dataclass(frozen=True, slots=True)
class Library:
    """Topic documents and CURRENT; never changed in place."""

    documents: Mapping[str, Document] = field(default_factory=dict, hash=False)  # by id, ids rising
    current: Document = field(default_factory=lambda: Document(CURRENT))
    next_id: int = 1  # of the document made next; never given twice
    opened: datetime | None = None  # time of the message of CURRENT's first entry; None when it is empty

    @property
    def counts(self) -> tuple[int, int]:
        """(documents, entries)."""
        return len(self.documents), sum(1 for _ in self.entries())

    def everything(self) -> Iterator[Document]:
        yield from self.documents.values()
        yield self.current

    def document(self, doc_id: str) -> Document | None:
        """The document of that id, CURRENT included; None if there is none."""
        return self.current if doc_id == CURRENT else self.documents.get(doc_id)

    def entries(self) -> Iterator[Entry]:
        for document in self.everything():
            yield from document.entries

    def catalogue(self) -> tuple[CatalogueLine, ...]:
        """Every document but CURRENT, by rising id."""
        return tuple(map(CatalogueLine.of, self.documents.values()))

    def with_documents(self, written: Iterable[Document], removed: Iterable[str] = ()) -> Library:
        """Copy with these documents added or replaced, and the removed ones gone."""
        documents = {**self.documents, **{one.id: one for one in written}}
        for doc_id in removed:
            documents.pop(doc_id, None)
        return replace(self, documents=dict(sorted(documents.items(), key=lambda item: order(item[0]))))

    def new_ids(self) -> Iterator[str]:
        """Unused ids, `topic-0001` and on; the caller has to advance `next_id` past those that it uses."""
        return (f"topic-{number:04d}" for number in count(self.next_id))


def order(doc_id: str) -> tuple[int, str]:
    """Sort key of document ids: topic-10000 comes after topic-9999."""
    return len(doc_id), doc_id
