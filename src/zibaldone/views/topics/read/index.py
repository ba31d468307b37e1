"""Indexes of topic documents for reading: entries, heading partitions, BM25 over either, and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import regex

from zibaldone.search.lexical import Doubles, Ints, LexicalIndex, damping, saturated
from zibaldone.text.keywords import inverse_frequency
from zibaldone.text.words import STOP_WORDS, terms
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Document, Region, regions, render_body
from zibaldone.views.topics.markdown.entry import Entry

Name = tuple[str, ...]  # its words, as they are written

_TOKEN = regex.compile(r"[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}]")
_JOINS = frozenset("of to near the de del la le van von der den and in".split())
_POSSESSIVE = regex.compile(r"['’]s?$")


class Casing:
    """Counts of words with and without a capital letter inside sentences."""

    def __init__(self, parts: Iterable[Casing] = (), texts: Iterable[str] = ()) -> None:
        self.capital: Counter[str] = Counter()
        self.small: Counter[str] = Counter()
        for part in parts:
            self.capital.update(part.capital)
            self.small.update(part.small)
        for text in texts:
            tokens = _TOKEN.findall(text)
            for at, word in enumerate(tokens):
                if word[0].isalpha() and not word[0].isupper():
                    self.small[word.casefold()] += 1
                elif word[0].isalpha() and at and tokens[at - 1].isalnum():
                    self.capital[word] += 1

    def names(self, text: str) -> list[Name]:
        """Names in the text, as word tuples without possessive endings.

        Two names with a joining word between them, as in `Isle of Man`, are given as one name too, and first.
        """
        tokens = [_POSSESSIVE.sub("", token) for token in _TOKEN.findall(text)]
        marks: list[bool] = []
        for at, token in enumerate(tokens):
            # What follows a name with a capital is part of it, as in `Acme Works`.
            goes_on = at > 0 and marks[at - 1] and token[:1].isupper() and token.isalpha()
            marks.append(goes_on or self._is_name(tokens, at))
        edges = [at for at, (last, mark) in enumerate(pairwise([False, *marks, False])) if last != mark]
        runs = list(zip(edges[::2], edges[1::2], strict=True))
        joined = [
            (start, end)
            for (start, stop), (again, end) in pairwise(runs)
            if again - stop == 1 and tokens[stop].casefold() in _JOINS
        ]
        return list(dict.fromkeys(tuple(tokens[start:end]) for start, end in (*joined, *runs)))

    def _is_name(self, tokens: list[str], at: int) -> bool:
        word = tokens[at]
        if not word or not word[0].isalpha() or not word[0].isupper():
            return False
        low = word.casefold()
        capital, small = self.capital[word], self.small[low]
        if at and tokens[at - 1].isalnum():
            return capital >= small and word != "I"
        if low in STOP_WORDS:
            return False
        follows = at + 1 < len(tokens) and tokens[at + 1][:1].isupper()
        return capital > small or (not small and not capital and follows)


K1, B = 1.5, 0.75  # of BM25 over partitions, as released with the paper


@dataclass(frozen=True, slots=True)
class EntryPlace:
    document: str  # its id
    partition: int  # from 0, in its document
    entry: Entry
    start: int  # line in the document's rendered body, counted from 1
    end: int  # its last line


class DocumentIndex:
    """One version of a document, indexed; immutable. Rows are its entries, in order."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.lines = tuple(render_body(document.body).split("\n")) if document.body else ()
        self.regions: tuple[Region, ...] = regions(document)
        self.places = tuple(_places(document, self.regions))
        self.casing = Casing(texts=(place.entry.text for place in self.places))
        self.entries, self.partitions = LexicalIndex(), LexicalIndex()
        self.entries.extend([terms(place.entry.text) for place in self.places])
        self.partitions.extend(
            [
                terms("\n".join((*region.section.path, *(entry.text for entry in region.section.entries))))
                for region in self.regions
            ]
        )

    def rows_of(self, start: int, end: int) -> list[int]:
        """Entries with a line from `start` to `end`."""
        return [row for row, place in enumerate(self.places) if place.start <= end and place.end >= start]

    def widened(self, start: int, end: int) -> list[int]:
        """Entries of every heading block that these lines touch (section 3.4)."""
        touched = {n for n, one in enumerate(self.regions) if one.start <= end and one.end >= start}
        return [row for row, place in enumerate(self.places) if place.partition in touched]


def bm25(indexes: Sequence[LexicalIndex], wanted: Iterable[str]) -> list[Doubles]:
    """BM25 scores of each index's rows, (n,) for some terms, with the statistics of all together."""
    n = sum(map(len, indexes))
    mean = sum(float(index.lengths().sum()) for index in indexes) / max(n, 1)
    lengths = [index.lengths() / max(mean, 1e-9) for index in indexes]
    scores = [np.zeros(len(index)) for index in indexes]
    for term in dict.fromkeys(wanted):
        idf = inverse_frequency(sum(index.df(term) for index in indexes), n)
        for index, length, score in zip(indexes, lengths, scores, strict=True):
            rows, counts = index.postings(term)
            score[rows] += idf * saturated(counts, damping(length[rows], K1, B), K1)
    return scores


def best_blocks(
    documents: Sequence[DocumentIndex], wanted: Iterable[str]
) -> list[tuple[DocumentIndex, int, float]]:
    """Heading blocks (document, number, score) that have any of these terms, best first."""
    scores = bm25([document.partitions for document in documents], wanted)
    order = [
        (-float(score), place, number)
        for place, given in enumerate(scores)
        for number, score in enumerate(given)
        if score > 0
    ]
    return [(documents[place], number, -score) for score, place, number in sorted(order)]


def _places(document: Document, parts: Sequence[Region]) -> Iterator[EntryPlace]:
    for number, region in enumerate(parts):
        start = region.start + (2 if region.section.heading else 0)  # after an empty line
        for entry in region.section.entries:
            end = start + entry.line.count("\n")
            yield EntryPlace(document.id, number, entry, start, end)
            start = end + 1


class ReadingIndex:
    """All entries of a user, 0 .. n-1 in the order in which they were said; immutable.

    Threads may share it: what it works out late is the same whoever works it out.
    """

    def __init__(self, library: Library, before: ReadingIndex | None = None) -> None:
        """Indexes of unchanged documents are taken from `before`, the index of an earlier state."""
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
        """Rows of the entries with the term, and how often each has it."""
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
        """(n,) each entry's value by its heading partition; one array per document, in their order."""
        values = np.zeros(len(self))
        for (id_, index), given in zip(self.documents.items(), per_partition, strict=True):
            if index.places:
                values[self.of_document[id_]] = given[[place.partition for place in index.places]]
        return values
