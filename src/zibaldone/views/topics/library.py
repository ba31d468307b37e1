"""The whole state of one user's topics, as a value: every step makes a new one (§3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count

from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry

CURRENT = "CURRENT"

Key = tuple[tuple[int, ...], str]  # an entry's sources and text: which it is, wherever it stands


def key_of(entry: Entry) -> Key:
    """Marks of what superseded it change, and its place; this does not."""
    return entry.sources, entry.text


@dataclass(frozen=True, slots=True)
class CatalogueLine:
    """What a reader is shown of a document before it is opened."""

    id: str
    title: str
    summary: str
    tokens: int

    @staticmethod
    def of(document: Document) -> CatalogueLine:
        return CatalogueLine(document.id, document.title, document.summary, document.token_count)


@dataclass(frozen=True, slots=True)
class Library:
    """Topic documents and CURRENT. Nothing in it is ever changed in place.

    `parts` says of an entry that stands for several which entries these were, as they were: so a merge can be
    undone when one of their messages is forgotten. An entry that is not there is its own only part.
    """

    documents: Mapping[str, Document] = field(default_factory=dict, hash=False)  # by id, ids rising
    current: Document = field(default_factory=lambda: Document(CURRENT))
    next_id: int = 1  # of the document made next; never given twice
    opened: datetime | None = None  # time of the message of CURRENT's first entry; None when it is empty
    parts: Mapping[Key, tuple[Entry, ...]] = field(default_factory=dict, hash=False)

    def everything(self) -> Iterator[Document]:
        yield from self.documents.values()
        yield self.current

    def document(self, doc_id: str) -> Document | None:
        """The one of that id; `CURRENT` is one too."""
        return self.current if doc_id == CURRENT else self.documents.get(doc_id)

    def entries(self) -> Iterator[Entry]:
        for document in self.everything():
            yield from document.entries

    def origins(self) -> Iterator[Entry]:
        """All entries as they were extracted: those that stand somewhere, and the parts of merged ones."""
        for entry in self.entries():
            yield from self.parts_of(entry)

    def parts_of(self, entry: Entry) -> tuple[Entry, ...]:
        return self.parts.get(key_of(entry), (entry,))

    def catalogue(self) -> tuple[CatalogueLine, ...]:
        """Every document that has something in it, in the order of their ids; CURRENT is not listed."""
        return tuple(map(CatalogueLine.of, self.documents.values()))

    def with_documents(self, written: Iterable[Document], removed: Iterable[str] = ()) -> Library:
        """With these documents new or changed, and without those."""
        documents = {**self.documents, **{one.id: one for one in written}}
        for doc_id in removed:
            documents.pop(doc_id, None)
        return replace(self, documents=dict(sorted(documents.items(), key=lambda item: order(item[0]))))

    def new_ids(self) -> Iterator[str]:
        """Ids that are free, `topic-0001` and on; `next_id` has to be moved past those that are used."""
        return (f"topic-{number:04d}" for number in count(self.next_id))


def order(doc_id: str) -> tuple[int, str]:
    """By this ids rise: topic-10000 comes after topic-9999."""
    return len(doc_id), doc_id
