"""One topic document as reading searches it: its entries, its heading partitions, and BM25 over either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.lexical import Doubles, LexicalIndex
from zibaldone.text.words import STOP_WORDS, term_of, words
from zibaldone.views.topics.markdown.document import Block, Document, Text
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.markdown.printing import Region, regions, render_body

K1, B = 1.5, 0.75  # of BM25 over partitions, as released with the paper

Embed = Callable[[Sequence[str]], Vectors]  # texts -> (n, d), rows of unit length


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry stands."""

    document: str  # its id
    heading: tuple[str, ...]  # titles from the topmost heading down; () before the first
    partition: int  # from 0, in its document
    entry: Entry
    start: int  # line in the document's rendered body, counted from 1
    end: int  # its last line


class DocumentIndex:
    """One version of a document, taken apart. Nothing of it changes; rows are its entries, in order."""

    def __init__(self, document: Document, embed: Embed, before: DocumentIndex | None = None) -> None:
        """`before` is an earlier version, whose vectors are used again where a text has not changed."""
        self.document = document
        self.lines = tuple(render_body(document.body).split("\n")) if document.body else ()
        self.regions: tuple[Region, ...] = regions(document)
        self.places = tuple(_places(document, self.regions))
        self.entries, self.partitions = LexicalIndex(), LexicalIndex()
        self.vocabulary: Counter[str] = Counter()  # word -> entries that have it
        for place in self.places:
            said = words(place.entry.text)
            self.vocabulary.update(set(said))
            self.entries.append(_terms(said))
        for region in self.regions:
            told = [block.text for block in region.section.blocks if isinstance(block, Entry | Text)]
            self.partitions.append(_terms(words("\n".join((*region.section.path, *told)))))
        self.vectors = _vectors(self.places, embed, before)

    def rows_of(self, start: int, end: int) -> list[int]:
        """The entries with a line from `start` to `end`."""
        return [row for row, place in enumerate(self.places) if place.start <= end and place.end >= start]

    def widened(self, start: int, end: int) -> list[int]:
        """The entries of every heading block that these lines touch (§3.4)."""
        touched = {n for n, one in enumerate(self.regions) if one.start <= end and one.end >= start}
        return [row for row, place in enumerate(self.places) if place.partition in touched]


def bm25(indexes: Sequence[LexicalIndex], terms: Mapping[str, float]) -> list[Doubles]:
    """Per index its rows' scores, (n,), with the statistics of all together; a weight for each term."""
    lengths = [index.lengths().astype(np.float64) for index in indexes]
    n = sum(map(len, lengths))
    mean = max(sum(float(each.sum()) for each in lengths) / max(n, 1), 1e-9)
    norms = [K1 * (1 - B + B * each / mean) for each in lengths]
    scores = [np.zeros(len(each)) for each in lengths]
    for term, weight in terms.items():
        idf = inverse_frequency(sum(index.df(term) for index in indexes), n)
        for index, norm, score in zip(indexes, norms, scores, strict=True):
            rows, counts = index.postings(term)
            score[rows] += weight * idf * counts * (K1 + 1) / (counts + norm[rows])
    return scores


def inverse_frequency(df: int, n: int) -> float:
    """BM25's, never negative, of a term that `df` of `n` rows have."""
    return float(np.log1p((n - df + 0.5) / (df + 0.5)))


def _terms(said: Sequence[str]) -> list[str]:
    return [term for word in said if word not in STOP_WORDS for _, term in term_of(word)]


def _places(document: Document, found: Sequence[Region]) -> list[Place]:
    places = []
    end = -1
    before: Block | None = None
    for number, region in enumerate(found):
        for block in region.section.body:
            start = end + (1 if isinstance(block, Entry) and isinstance(before, Entry) else 2)
            end = start + render_body([block]).count("\n")
            before = block
            if isinstance(block, Entry):
                places.append(Place(document.id, region.section.path, number, block, start, end))
    return places


def _vectors(places: Sequence[Place], embed: Embed, before: DocumentIndex | None) -> Vectors:
    """(n, d) of the entries' texts."""
    known = {}
    if before is not None:
        known = {one.entry.text: row for one, row in zip(before.places, before.vectors, strict=True)}
    fresh = list(dict.fromkeys(p.entry.text for p in places if p.entry.text not in known))
    made = embed(fresh)
    known |= dict(zip(fresh, made, strict=True))
    rows = [known[place.entry.text] for place in places]
    return np.stack(rows) if rows else made[:0]
