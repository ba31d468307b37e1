"""The one relevance function of maintenance and retrieval: LLMSELECT of Algorithm 1, lines 7 and 17."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.dense import products
from zibaldone.search.lexical import Doubles, inverse_frequency
from zibaldone.search.ranker import standardised
from zibaldone.views.chunks.chunk import Chunk, terms_of

_DENSE = 1.0  # weight of the cosine beside the words, both in standard deviations
_DATE = 1.0  # a chunk of the days that a query names


@dataclass(frozen=True, slots=True)
class Target:
    """What is looked for: the metadata of a new chunk, or a query."""

    keywords: tuple[str, ...]
    vectors: Vectors  # (s, d); one row for a query
    days: tuple[tuple[int, int], ...] = ()  # ordinals, inclusive


class MetadataIndex:
    """Live chunks by the words of their metadata and by their vectors.

    What scoring takes beside a product with all vectors depends on who has a word that is sought, and not on
    how many words the others have.
    """

    def __init__(self, chunks: Iterable[Chunk] = ()) -> None:
        self._live: dict[int, Chunk] = {}
        self._having: dict[str, set[int]] = {}
        self.df: Counter[str] = Counter()  # in how many live chunks a term is
        for chunk in chunks:
            self.put(chunk)

    def __len__(self) -> int:
        """Live chunks."""
        return len(self._live)

    def put(self, chunk: Chunk) -> None:
        """Add a chunk, or a new version of it; one that holds nothing any more is live no more."""
        before = self._live.pop(chunk.id, None)
        for term in before.metadata.terms if before else ():
            self._having[term].discard(chunk.id)
            self.df[term] -= 1
        if chunk.items:
            self._live[chunk.id] = chunk
            self.df.update(chunk.metadata.terms)
            for term in chunk.metadata.terms:
                self._having.setdefault(term, set()).add(chunk.id)

    def ranked(self, target: Target) -> list[tuple[Chunk, float]]:
        """All live chunks with how related each is by its metadata; best first, of equals the newer."""
        chunks = [self._live[number] for number in sorted(self._live, reverse=True)]
        scored = self._scores(target, chunks).tolist()
        order = sorted(range(len(chunks)), key=lambda row: -round(scored[row], 4))
        return [(chunks[row], scored[row]) for row in order]

    def _scores(self, target: Target, chunks: Sequence[Chunk]) -> Doubles:
        """(n,) words, cosine, time span."""
        row_of = {chunk.id: row for row, chunk in enumerate(chunks)}
        lexical = np.zeros(len(chunks))
        for term in sorted(terms_of(target.keywords)):
            having = [row_of[number] for number in self._having.get(term, ())]
            lexical[having] += inverse_frequency(len(having), len(chunks))
        total = standardised(lexical) + _DENSE * standardised(_cosines(target.vectors, chunks))
        for first, last in target.days:
            inside = [
                first <= c.metadata.last.toordinal() and c.metadata.first.toordinal() <= last for c in chunks
            ]
            total += _DATE * np.array(inside)
        return total


def _cosines(target: Vectors, chunks: Sequence[Chunk]) -> Doubles:
    """(n,) the mean, over the target, of a chunk's best quarter's cosine; 0 without vectors."""
    means = np.zeros(len(chunks))
    embedded = [row for row, chunk in enumerate(chunks) if len(chunk.metadata.vectors)]
    if embedded and len(target):
        vectors = [chunks[row].metadata.vectors for row in embedded]
        starts = np.cumsum([0, *map(len, vectors[:-1])])
        rows = np.concatenate(vectors)
        best = [np.maximum.reduceat(products(rows, vector), starts) for vector in target]
        means[embedded] = np.mean(best, axis=0)
    return means
