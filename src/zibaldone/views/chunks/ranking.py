"""Which items of the chosen chunks come first, and which are cut when the budget is spent.

The paper concatenates whole chunks and is silent on what its budget cuts; we keep the items that answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.models.base import Embedder, Vectors
from zibaldone.search.fusion import standardised
from zibaldone.search.lexical import K1, B, Doubles, LexicalIndex
from zibaldone.text.dates import find_days
from zibaldone.text.words import terms, words
from zibaldone.views.chunks.chunk import Item
from zibaldone.views.chunks.metadata import said

_NEIGHBOURS = 0.75  # what the items around one say, beside what it says itself
_DENSE = 0.5
_SPEAKER = 0.7
_DATE = 1.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, taken apart: BUILDQUERY of Algorithm 1, line 15."""

    text: str
    words: tuple[str, ...]  # content words in order, less names of speakers
    speakers: frozenset[str]  # words of the names that it mentions
    days: tuple[tuple[int, int], ...]  # ordinals, inclusive

    @property
    def subject(self) -> str:
        """What is embedded."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class Ranking:
    """How each of n items stands to the query."""

    total: Doubles  # (n,)
    lexical: Doubles
    cosines: Doubles
    covered: Doubles  # share of the query's words that the item has, by their weight


def take_apart(text: str, speakers: Iterable[str], days: tuple[tuple[int, int], ...]) -> Asked:
    """`speakers` are those whose names may be in the query."""
    of_names = {word for name in speakers for word in words(name)}
    all_words = said(text)
    content = tuple(word for word in all_words if word not in of_names) or tuple(all_words)
    return Asked(text, content, frozenset(of_names & set(words(text))), days)


def rank(asked: Asked, items: Sequence[Item], vector: Vectors, embedder: Embedder) -> Ranking:
    """Score items, which stand in their order of time; `vector` is the query's in the embedder's space."""
    index = LexicalIndex()
    for item in items:
        index.append(terms(item.text))
    n = len(items)
    lengths = index.lengths().astype(np.float64)
    relative = lengths / max(float(lengths.mean()), 1e-9)
    lexical, covered, whole = np.zeros(n), np.zeros(n), 0.0
    for term in dict.fromkeys(term for word in asked.words for term in terms(word)):
        rows, counts = index.postings(term)
        idf = index.idf(term)
        whole += idf
        covered[rows] += idf
        lexical[rows] += idf * (K1 + 1) * counts / (counts + K1 * (1 - B + B * relative[rows]))
    vectors = embedder.embed([" ".join(said(item.text)) for item in items])
    cosines = (vectors @ vector).astype(np.float64)
    total = standardised(lexical + _NEIGHBOURS * _around(lexical, items)) + _DENSE * standardised(cosines)
    for row, item in enumerate(items):
        if item.speaker and not asked.speakers.isdisjoint(words(item.speaker)):
            total[row] += _SPEAKER
        if asked.days and _named(item, asked.days):
            total[row] += _DATE
    return Ranking(total, lexical, cosines, covered / max(whole, 1e-9))


def _around(values: Doubles, items: Sequence[Item]) -> Doubles:
    """(n,) the larger of the two neighbours in the same session."""
    found = np.zeros_like(values)
    for row in range(len(items)):
        for other in (row - 1, row + 1):
            if 0 <= other < len(items) and items[other].session == items[row].session:
                found[row] = max(found[row], values[other])
    return found


def _named(item: Item, days: tuple[tuple[int, int], ...]) -> bool:
    day = item.time.date()
    spoken = day.toordinal()
    named = [(d.first.toordinal(), d.last.toordinal()) for d in find_days(item.text, day)]
    return any(
        first <= spoken <= last or any(first <= a and b <= last for a, b in named) for first, last in days
    )
