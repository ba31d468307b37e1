"""The one relevance function of maintenance and retrieval: LLMSELECT of Algorithm 1, lines 7 and 17."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.fusion import standardised
from zibaldone.search.lexical import Doubles, inverse_frequency
from zibaldone.views.chunks.chunk import Chunk, terms_of

_DENSE = 1.0  # weight of the cosine beside the words, both in standard deviations
_DATE = 1.0  # a chunk of the days that a query names


@dataclass(frozen=True, slots=True)
class Target:
    """What is looked for: the metadata of a new chunk, or a query."""

    keywords: tuple[str, ...]
    vectors: Vectors  # (s, d); one row for a query
    days: tuple[tuple[int, int], ...] = ()  # ordinals, inclusive


def scores(target: Target, candidates: Sequence[Chunk], *, dense_only: bool = False) -> Doubles:
    """(n,) how related each candidate is, by its metadata alone: words, cosine, time span."""
    cosines = _cosines(target.vectors, candidates)
    if dense_only:
        return cosines
    sought = sorted(terms_of(target.keywords))
    df = Counter(term for chunk in candidates for term in chunk.metadata.terms.intersection(sought))
    weights = [(term, inverse_frequency(df[term], len(candidates))) for term in sought]
    lexical = np.array(
        [sum(w for t, w in weights if t in c.metadata.terms) for c in candidates], dtype=np.float64
    )
    total = standardised(lexical) + _DENSE * standardised(cosines)
    for first, last in target.days:
        inside = [
            first <= c.metadata.last.toordinal() and c.metadata.first.toordinal() <= last for c in candidates
        ]
        total += _DATE * np.array(inside)
    return total


def best(scored: Doubles, candidates: Sequence[Chunk], most: int) -> list[Chunk]:
    """The highest, best first; of equals the newer."""
    order = sorted(range(len(candidates)), key=lambda i: (-round(float(scored[i]), 4), -candidates[i].id))
    return [candidates[i] for i in order[:most]]


def _cosines(target: Vectors, candidates: Sequence[Chunk]) -> Doubles:
    """(n,) per candidate the mean, over the target, of the best quarter's cosine; 0 without vectors."""
    best_mean = np.zeros(len(candidates))
    embedded = [i for i, chunk in enumerate(candidates) if len(chunk.metadata.vectors)]
    if embedded and len(target):
        of_each = [candidates[i].metadata.vectors for i in embedded]
        starts = np.cumsum([0, *(len(vectors) for vectors in of_each[:-1])])
        cosines = np.concatenate(of_each) @ target.T
        best_mean[embedded] = np.maximum.reduceat(cosines, starts, axis=0).mean(axis=1)
    return best_mean
