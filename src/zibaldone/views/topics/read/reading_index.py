"""A user's documents in memory, ready for questions: one for each state of the library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zibaldone.search.lexical import Doubles, Ints
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.read.document_index import DocumentIndex, EntryPlace
from zibaldone.views.topics.read.names import Casing, Name


class ReadingIndex:
    """Entries 0 .. n-1 in the order in which they were said, over all documents. It never changes.

    Threads may share it: what it works out late is the same whoever works it out.
    """

    def __init__(self, library: Library, before: ReadingIndex | None = None) -> None:
        """What `before`, of an earlier state, knows of unchanged documents is taken over."""
        held = before.documents if before else {}
        self.documents: dict[str, DocumentIndex] = {
            id_: held[id_] if id_ in held and held[id_].document is document else DocumentIndex(document)
            for id_, document in ((one.id, one) for one in library.everything())
        }
        self.current = library.current.id
        self.casing = Casing(index.casing for index in self.documents.values())
        indexes = list(self.documents.values())
        places = [place for index in indexes for place in index.places]
        seqs = np.array([place.entry.last for place in places], dtype=np.int64)
        parts = np.array([place.entry.part for place in places], dtype=np.int64)
        order = np.lexsort((parts, seqs))
        where = np.empty_like(order)
        where[order] = np.arange(len(order))
        starts = np.cumsum([0, *(len(index.places) for index in indexes)])
        self.places: tuple[EntryPlace, ...] = tuple(places[row] for row in order.tolist())
        self.seqs: Ints = seqs[order]  # (n,) of the message that each was said in
        self.of_document: dict[str, Ints] = {  # id -> where its entries stand among all
            id_: where[start:end]
            for id_, start, end in zip(self.documents, starts[:-1], starts[1:], strict=True)
        }
        self.superseded: npt.NDArray[np.bool_] = np.array(
            [not place.entry.current for place in self.places], dtype=bool
        )
        self.speakers = {place.entry.source for place in self.places if place.entry.source}
        self._postings: dict[str, tuple[Ints, Doubles]] = {}
        self._names: dict[int, list[Name]] = {}

    def __len__(self) -> int:
        return len(self.places)

    def postings(self, term: str) -> tuple[Ints, Doubles]:
        """Which entries have the term, and how often each."""
        known = self._postings.get(term)
        if known is not None:
            return known
        rows, counts = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for id_, index in self.documents.items():
            if index.entries.df(term):
                local, often = index.entries.postings(term)
                rows.append(self.of_document[id_][local])
                counts.append(often)
        merged = self._postings[term] = (np.concatenate(rows), np.concatenate(counts))
        return merged

    def names(self, row: int) -> list[Name]:
        known = self._names.get(row)
        if known is None:
            known = self._names[row] = self.casing.names(self.places[row].entry.text)
        return known

    def spread(self, per_partition: Sequence[Doubles]) -> Doubles:
        """(n,) what each entry's heading partition was given; one array per document, in their order."""
        values = np.zeros(len(self))
        for (id_, index), given in zip(self.documents.items(), per_partition, strict=True):
            if index.places:
                values[self.of_document[id_]] = given[[place.partition for place in index.places]]
        return values
