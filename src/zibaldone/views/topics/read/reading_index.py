"""A user's documents in memory, ready for questions; kept in step with the library document by document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from zibaldone.models.base import Embedder, Vectors
from zibaldone.search.lexical import Doubles, Floats
from zibaldone.search.thesaurus import Thesaurus
from zibaldone.text.words import STOP_WORDS, term_of
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import When
from zibaldone.views.topics.read.document_index import DocumentIndex, Embed, Place
from zibaldone.views.topics.read.naming import Casing, Name

MOST_OF_A_REMARK = 12  # entries of one message
_REMEMBERED = 20_000  # of anything that questions work out anew
Ints = npt.NDArray[np.int64]


class Shelf(Protocol):
    """What reading needs of a library."""

    @property
    def documents(self) -> Mapping[str, Document]:
        """By id."""

    @property
    def current(self) -> Document:
        """CURRENT: what was written lately, searched as any document."""


class ReadingIndex:
    """Entries 0 .. n-1 in the order in which they were said, over all documents.

    A remark is what was said in one go: the entries of one message, u of them in the same order. A message of
    many entries is a list of facts, and each of those is a remark of its own.

    One thread at a time; what `update` has made is not changed by reading, but for the thesaurus.
    """

    def __init__(self, embed: Embed, word_embedder: Embedder) -> None:
        """`embed` makes the vectors of entries and questions, `word_embedder` those of single words."""
        self.embed = embed
        self.thesaurus = Thesaurus(word_embedder)
        self.casing = Casing()
        self.documents: dict[str, DocumentIndex] = {}
        self.current = ""  # id of CURRENT
        self.places: tuple[Place, ...] = ()
        self.of_document: dict[str, Ints] = {}  # id -> where its entries stand among all
        self.remark: Ints = np.zeros(0, dtype=np.int64)  # (n,) the remark of each entry, rising
        self.starts: Ints = np.zeros(0, dtype=np.int64)  # (u,) each remark's first entry
        self.lengths: Doubles = np.zeros(0)  # (u,) terms
        self.vectors: Vectors = np.zeros((0, word_embedder.dimension), dtype=np.float32)  # (u, d)
        self.superseded: npt.NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.speakers: dict[str, list[int]] = {}  # whoever said it -> entries
        self.days: Ints = np.zeros((0, 2), dtype=np.int64)  # (n, 2) ordinals that the entry's time may mean
        self._uses: Counter[str] = Counter()
        self._postings: dict[str, tuple[Ints, Doubles]] = {}
        self._names: dict[int, list[Name]] = {}
        self._embedded: dict[str, Vectors] = {}

    def __len__(self) -> int:
        """Entries."""
        return len(self.places)

    def update(self, shelf: Shelf) -> None:
        """As the library is now. Costs what its changed documents cost, and a few microseconds per entry."""
        wanted = {**shelf.documents, shelf.current.id: shelf.current}
        same = {id_ for id_, held in self.documents.items() if wanted.get(id_) is held.document}
        if len(same) == len(wanted) == len(self.documents):
            return
        held = {}
        learnt: Counter[str] = Counter()
        for id_, document in wanted.items():
            if id_ in same:
                held[id_] = self.documents[id_]
                continue
            held[id_] = DocumentIndex(document, self.embed, self.documents.get(id_))
            learnt.update(held[id_].vocabulary)
            self.casing.learn(place.entry.text for place in held[id_].places)
        gone = [index for id_, index in self.documents.items() if id_ not in same]
        self._relearn(learnt, gone)
        self.documents, self.current = held, shelf.current.id
        self._arrange()

    def _relearn(self, learnt: Counter[str], gone: Iterable[DocumentIndex]) -> None:
        """New words first, so that a word that only moved is not forgotten in between."""
        for word in learnt.keys() - self._uses.keys():
            self.thesaurus.learn(_pairs(word))
        self._uses.update(learnt)
        for index in gone:
            self._uses.subtract(index.vocabulary)
            self.casing.unlearn(place.entry.text for place in index.places)
            for word in index.vocabulary:
                if self._uses[word] <= 0:
                    del self._uses[word]
                    self.thesaurus.unlearn(_pairs(word))

    def _arrange(self) -> None:
        self._postings, self._names, self._embedded = {}, {}, {}  # what is forgotten is nowhere
        indexes = list(self.documents.values())
        places = [place for index in indexes for place in index.places]
        seqs = np.array([place.entry.last for place in places], dtype=np.int64)
        parts = np.array([place.entry.part for place in places], dtype=np.int64)
        order = np.lexsort((parts, seqs))
        where = np.empty_like(order)
        where[order] = np.arange(len(order))
        starts = np.cumsum([0, *(len(index.places) for index in indexes)])
        self.places = tuple(places[row] for row in order.tolist())
        self.of_document = {
            id_: where[start:end]
            for id_, start, end in zip(self.documents, starts[:-1], starts[1:], strict=True)
        }
        self._gather(order, [index.entries.lengths() for index in indexes])
        self.speakers = {}
        for row, place in enumerate(self.places):
            if place.entry.source:
                self.speakers.setdefault(place.entry.source, []).append(row)
        self.days = np.array([_days(place.entry.time) for place in self.places], dtype=np.int64).reshape(
            -1, 2
        )
        self.superseded = np.array([not place.entry.current for place in self.places], dtype=bool)

    def _gather(self, order: Ints, lengths: Sequence[Floats]) -> None:
        """Make the remarks of entries that stand in this order."""
        keys = [place.entry.sources for place in self.places]
        sizes = Counter(keys)
        new = [
            not row or key != keys[row - 1] or sizes[key] > MOST_OF_A_REMARK for row, key in enumerate(keys)
        ]
        self.starts = np.flatnonzero(new)
        self.remark = np.cumsum(new, dtype=np.int64) - 1
        if not keys:
            self.lengths, self.vectors = np.zeros(0), self.vectors[:0]
            return
        self.lengths = np.add.reduceat(np.concatenate(lengths)[order].astype(np.float64), self.starts)
        rows = np.concatenate([index.vectors for index in self.documents.values() if index.places])[order]
        sums = np.add.reduceat(rows, self.starts)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        self.vectors = np.divide(sums, norms, out=sums, where=norms > 0)

    def df(self, term: str) -> int:
        """In how many entries the term occurs."""
        return len(self.postings(term)[0])

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
        if len(self._postings) >= _REMEMBERED:
            self._postings.clear()
        found = self._postings[term] = (np.concatenate(rows), np.concatenate(counts))
        return found

    def names(self, row: int) -> list[Name]:
        """In the entry's text."""
        known = self._names.get(row)
        if known is None:
            known = self._names[row] = self.casing.names(self.places[row].entry.text)
        return known

    def embedded(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of some short texts that are asked for again and again."""
        if len(self._embedded) >= _REMEMBERED:
            self._embedded.clear()
        if new := [text for text in dict.fromkeys(texts) if text not in self._embedded]:
            self._embedded.update(zip(new, self.embed(new), strict=True))
        return self._embedded

    def spread(self, per_partition: Sequence[Doubles]) -> Doubles:
        """(n,) what each entry's heading partition was given; one array per document, in their order."""
        found = np.zeros(len(self))
        for (id_, index), given in zip(self.documents.items(), per_partition, strict=True):
            if index.places:
                found[self.of_document[id_]] = given[[place.partition for place in index.places]]
        return found


def _days(time: When | None) -> tuple[int, int]:
    """Of a year or a month all its days; (0, 0) without a time."""
    start = time.start if time else None
    if time is None or start is None:
        return 0, 0
    first = start.toordinal()
    return first, first + {4: 365, 7: 30}.get(len(time.text), 0)


def _pairs(word: str) -> tuple[tuple[str, str], ...]:
    return () if word in STOP_WORDS else term_of(word)
