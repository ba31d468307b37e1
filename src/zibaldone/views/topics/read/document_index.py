"""One topic document as reading searches it: its entries, its heading partitions, and BM25 over either."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.search.lexical import Doubles, LexicalIndex, inverse_frequency, saturated
from zibaldone.text.words import terms
from zibaldone.views.topics.markdown.document import Block, Document
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.markdown.printing import Region, regions, render_body
from zibaldone.views.topics.read.names import Casing

K1, B = 1.5, 0.75  # of BM25 over partitions, as released with the paper


@dataclass(frozen=True, slots=True)
class EntryPlace:
    document: str  # its id
    heading: tuple[str, ...]  # titles from the topmost heading down; () before the first
    partition: int  # from 0, in its document
    entry: Entry
    start: int  # line in the document's rendered body, counted from 1
    end: int  # its last line


class DocumentIndex:
    """One version of a document, taken apart. Nothing of it changes; rows are its entries, in order."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.lines = tuple(render_body(document.body).split("\n")) if document.body else ()
        self.regions: tuple[Region, ...] = regions(document)
        self.places = tuple(_places(document, self.regions))
        self.casing = Casing(texts=(place.entry.text for place in self.places))
        self.entries, self.partitions = LexicalIndex(), LexicalIndex()
        for place in self.places:
            self.entries.append(terms(place.entry.text))
        for region in self.regions:
            texts = [entry.text for entry in region.section.entries]
            self.partitions.append(terms("\n".join((*region.section.path, *texts))))

    def rows_of(self, start: int, end: int) -> list[int]:
        """The entries with a line from `start` to `end`."""
        return [row for row, place in enumerate(self.places) if place.start <= end and place.end >= start]

    def widened(self, start: int, end: int) -> list[int]:
        """The entries of every heading block that these lines touch (§3.4)."""
        touched = {n for n, one in enumerate(self.regions) if one.start <= end and one.end >= start}
        return [row for row, place in enumerate(self.places) if place.partition in touched]


def bm25(indexes: Sequence[LexicalIndex], wanted: Mapping[str, float]) -> list[Doubles]:
    """Per index its rows' scores, (n,), with the statistics of all together; a weight for each term."""
    n = sum(map(len, indexes))
    mean = sum(float(index.lengths().sum()) for index in indexes) / max(n, 1)
    lengths = [index.lengths() / max(mean, 1e-9) for index in indexes]
    scores = [np.zeros(len(index)) for index in indexes]
    for term, weight in wanted.items():
        idf = inverse_frequency(sum(index.df(term) for index in indexes), n)
        for index, length, score in zip(indexes, lengths, scores, strict=True):
            rows, counts = index.postings(term)
            score[rows] += weight * idf * saturated(counts, length[rows], K1, B)
    return scores


def best_blocks(
    documents: Sequence[DocumentIndex], wanted: Iterable[str]
) -> list[tuple[DocumentIndex, int, float]]:
    """Heading blocks (by their number) that have any of these terms, with their scores, best first."""
    scores = bm25([document.partitions for document in documents], dict.fromkeys(wanted, 1.0))
    order = [
        (-float(score), place, number)
        for place, given in enumerate(scores)
        for number, score in enumerate(given)
        if score > 0
    ]
    return [(documents[place], number, -score) for score, place, number in sorted(order)]


def _places(document: Document, parts: Sequence[Region]) -> list[EntryPlace]:
    places = []
    end = -1
    before: Block | None = None
    for number, region in enumerate(parts):
        for block in region.section.body:
            start = end + (1 if isinstance(block, Entry) and isinstance(before, Entry) else 2)
            end = start + render_body([block]).count("\n")
            before = block
            if isinstance(block, Entry):
                places.append(EntryPlace(document.id, region.section.path, number, block, start, end))
    return places
