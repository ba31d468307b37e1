"""The one relevance function of maintenance and retrieval: LLMSELECT of Algorithm 1, lines 7 and 17."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from commonplace.models.base import Vectors
from commonplace.search.lexical import Doubles
from commonplace.text.keywords import idf
from commonplace.text.words import term_of, words
from commonplace.views.chunks.chunk import Chunk

_DENSE = 1.0  # weight of the cosine beside the words, both in standard deviations
_DATE = 1.0  # a chunk of the days that a query names


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: the metadata of a new chunk, or a query."""

    keywords: tuple[str, ...]
    vectors: Vectors  # (s, d); one row for a query
    days: tuple[tuple[int, int], ...] = ()  # ordinals, inclusive


def keyword_terms(chunk: Chunk) -> set[str]:
    """The terms of a chunk's keywords."""
    return _terms(chunk.metadata.keywords)


def scores(wanted: Wanted, candidates: Sequence[Chunk], *, dense_only: bool = False) -> Doubles:
    """(n,) how related each candidate is, by its metadata alone: words, cosine, time span."""
    cosines = np.array([_cosine(chunk.metadata.vectors, wanted.vectors) for chunk in candidates])
    if dense_only:
        return cosines
    sought = _terms(wanted.keywords)
    of_each = [_terms((*c.metadata.keywords, *c.metadata.entities)) for c in candidates]
    df = Counter(term for terms in of_each for term in terms & sought)
    weights = {term: idf(df[term], len(candidates)) for term in sorted(sought)}
    lexical = np.array([sum(weights[t] for t in sorted(sought & terms)) for terms in of_each])
    total = _standardised(lexical) + _DENSE * _standardised(cosines)
    for first, last in wanted.days:
        inside = [
            first <= c.metadata.last.toordinal() and c.metadata.first.toordinal() <= last for c in candidates
        ]
        total += _DATE * np.array(inside)
    return total


def best(scored: Doubles, candidates: Sequence[Chunk], most: int) -> list[Chunk]:
    """The highest, best first; of equals the newer."""
    order = sorted(range(len(candidates)), key=lambda i: (-round(float(scored[i]), 4), -candidates[i].id))
    return [candidates[i] for i in order[:most]]


def _cosine(chunk: Vectors, wanted: Vectors) -> float:
    """The mean over what is wanted of the best quarter's cosine."""
    return float((wanted @ chunk.T).max(axis=1).mean()) if len(chunk) and len(wanted) else 0.0


def _terms(forms: Collection[str]) -> set[str]:
    return {term for form in forms for word in words(form) for _, term in term_of(word)}


def _standardised(values: Doubles) -> Doubles:
    deviation = float(values.std())
    return np.zeros_like(values) if deviation < 1e-9 else (values - values.mean()) / deviation
