"""The one relevance function of maintenance and retrieval: LLMSELECT of Algorithm 1, lines 7 and 17."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from zibaldone.models.base import Vectors
from zibaldone.search.dense import products
from zibaldone.search.fusion import standardised
from zibaldone.search.lexical import Doubles, Ints, inverse_frequency
from zibaldone.views.chunks.chunk import Chunk, terms_of
from zibaldone.views.chunks.metadata import QUARTERS

Array = TypeVar("Array", bound=npt.NDArray[Any])
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
        self._chunks: list[Chunk] = []
        self._row_of: dict[int, int] = {}
        self._rows_with: dict[str, set[int]] = {}
        self._live = np.zeros(0, dtype=np.bool_)
        self._embedded = np.zeros(0, dtype=np.bool_)
        self._vectors: Vectors | None = None  # (rows, QUARTERS, d); missing parts are the first again
        for chunk in chunks:
            self.put(chunk)

    def __len__(self) -> int:
        """Live chunks."""
        return int(np.count_nonzero(self._live))

    def put(self, chunk: Chunk) -> None:
        """Add a chunk, or a new version of it; one that holds nothing any more is live no more."""
        row = self._row_of.setdefault(chunk.id, len(self._chunks))
        if row == len(self._chunks):
            self._chunks.append(chunk)
            self._live, self._embedded = (_with_room(of, row + 1) for of in (self._live, self._embedded))
        for term in self._chunks[row].metadata.terms:
            self._rows_with.get(term, set()).discard(row)
        self._chunks[row] = chunk
        self._live[row] = bool(chunk.items)
        self._embedded[row] = False
        if not chunk.items:
            return
        for term in chunk.metadata.terms:
            self._rows_with.setdefault(term, set()).add(row)
        vectors = chunk.metadata.vectors[:QUARTERS]
        if len(vectors):
            if self._vectors is None:
                self._vectors = np.zeros((0, QUARTERS, vectors.shape[1]), dtype=np.float32)
            self._vectors = _with_room(self._vectors, row + 1)
            self._vectors[row] = vectors[0]
            self._vectors[row, : len(vectors)] = vectors
            self._embedded[row] = True

    def ranked(self, target: Target, *, dense_only: bool = False) -> list[tuple[Chunk, float]]:
        """All live chunks with how related each is by its metadata; best first, of equals the newer."""
        rows = np.flatnonzero(self._live)
        chunks = [self._chunks[row] for row in rows]
        scored = self._scores(target, rows, chunks, dense_only=dense_only).tolist()
        rounded = np.array([round(value, 4) for value in scored])
        order = np.lexsort((-np.array([chunk.id for chunk in chunks]), -rounded))
        return [(chunks[i], scored[i]) for i in order]

    def _scores(self, target: Target, rows: Ints, chunks: Sequence[Chunk], *, dense_only: bool) -> Doubles:
        """(n,) of these rows: words, cosine, time span."""
        cosines = self._cosines(target.vectors)[rows]
        if dense_only:
            return cosines
        lexical = np.zeros(len(self._live))
        for term in sorted(terms_of(target.keywords)):
            having = self._rows_with.get(term, set())
            lexical[list(having)] += inverse_frequency(len(having), len(rows))
        total = standardised(lexical[rows]) + _DENSE * standardised(cosines)
        for first, last in target.days:
            inside = [
                first <= c.metadata.last.toordinal() and c.metadata.first.toordinal() <= last for c in chunks
            ]
            total += _DATE * np.array(inside)
        return total

    def _cosines(self, target: Vectors) -> Doubles:
        """(rows,) the mean, over the target, of the best quarter's cosine; 0 without vectors."""
        best_mean = np.zeros(len(self._live))
        embedded = np.flatnonzero(self._embedded)
        if len(embedded) and len(target) and self._vectors is not None:
            last = int(embedded[-1]) + 1
            rows = self._vectors[:last].reshape(last * QUARTERS, -1)
            best = [products(rows, vector).reshape(last, QUARTERS).max(axis=1) for vector in target]
            best_mean[embedded] = np.mean(best, axis=0)[embedded]
        return best_mean


def _with_room(rows: Array, needed: int) -> Array:
    """The same rows, and behind them zeros for at least as many as are needed; twice as many, if for any."""
    if len(rows) >= needed:
        return rows
    more = np.zeros((max(2 * len(rows), needed, 16), *rows.shape[1:]), dtype=rows.dtype)
    more[: len(rows)] = rows
    return cast("Array", more)
