"""How well every entry fits a question, by its own words, those around it, and its document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from zibaldone.core import ChannelScore
from zibaldone.search.fusion import standardised
from zibaldone.search.lexical import Doubles
from zibaldone.text.dates import find_days
from zibaldone.text.words import STOP_WORDS, term_of, words
from zibaldone.views.topics.read.document_index import K1, B, bm25, inverse_frequency
from zibaldone.views.topics.read.reading_index import Ints, ReadingIndex
from zibaldone.views.topics.read.reading_result import Found

SYNONYM = 0.5  # least cosine at which a word of the memory stands for a word of the question
SYNONYM_POWER = 3  # it counts cosine ** 3 of the word itself
RADII = (0, 2, 5)  # entries before and behind, in the order in which they were said
_MOST_TERMS = 64
_OLD = 1.0  # what a superseded entry loses at least


@dataclass(frozen=True, slots=True)
class Weights:
    """Per feature."""

    lexical: float = 0.12  # BM25 in the entry, with words of like meaning
    lexical_2: float = 0.15  # in the two entries before and behind
    lexical_5: float = 0.22
    dense: float = 0.5  # cosine, in standard deviations
    dense_2: float = 0.5
    partition: float = 0.1  # BM25 of the heading partition (k1 = 1.5, b = 0.75)
    speaker: float = 2.0  # the question names who said it
    date: float = 3.0  # the entry's time is in the days that the question names


@dataclass(frozen=True, slots=True)
class Ranked:
    """Every entry's scores, (n,) each, in the index's order; (m, n) how far each of m words is covered."""

    total: Doubles
    lexical: Doubles
    dense: Doubles
    partition: Doubles
    covered: Doubles
    weights: Doubles  # (m,) of the words
    terms: tuple[tuple[str, str], ...]  # (form, term) of the m words, in the question's order
    remark: Ints  # of each entry

    def found(self, index: ReadingIndex, rows: Sequence[int], why: str) -> list[Found]:
        """These entries, in this order."""
        kinds = (("lexical", self.lexical), ("dense", self.dense), ("partition", self.partition))
        ranks = {name: _ranks(values, rows) for name, values in kinds}
        return [
            Found(
                index.places[row],
                float(self.total[row]),
                why,
                bool(index.superseded[row]),
                tuple(ChannelScore(name, ranks[name][i], float(values[row])) for name, values in kinds),
            )
            for i, row in enumerate(rows)
        ]

    def best(self, rows: Sequence[int] | None = None) -> list[int]:
        """Rows by score, best first; of equals the later remark, and a remark in its own order."""
        rows = range(len(self.total)) if rows is None else rows
        chosen = np.array(list(rows), dtype=np.int64)
        order = np.lexsort((chosen, -self.remark[chosen], -np.round(self.total[chosen], 6)))
        return [int(row) for row in chosen[order]]


def rank(index: ReadingIndex, question: str, today: date, weights: Weights = Weights()) -> Ranked:
    """All entries of an index, which has some, for a question."""
    terms = question_terms(question)
    lexical, covered, idfs = _lexical(index, terms)
    vector = index.embed([" ".join(form for form, _ in terms) or question])[0]
    dense = (index.vectors @ vector).astype(np.float64)
    partition = index.spread(
        bm25([one.partitions for one in index.documents.values()], dict.fromkeys((t for _, t in terms), 1.0))
    )
    of_remark = (
        weights.lexical * lexical[0]
        + weights.lexical_2 * lexical[1]
        + weights.lexical_5 * lexical[2]
        + weights.dense * standardised(dense)
        + weights.dense_2 * standardised(_window(dense, RADII[1], mean=True))
    )
    total = of_remark[index.remark] + weights.partition * partition + _clues(index, question, today, weights)
    total -= _OLD * index.superseded
    return Ranked(
        total, lexical[0][index.remark], dense[index.remark], partition, covered, idfs, terms, index.remark
    )


def question_terms(question: str) -> tuple[tuple[str, str], ...]:
    """(form, term) of its content words, each once."""
    pairs = (pair for word in words(question) if word not in STOP_WORDS for pair in term_of(word))
    return tuple({term: (form, term) for form, term in pairs}.values())[:_MOST_TERMS]


def _lexical(index: ReadingIndex, terms: Sequence[tuple[str, str]]) -> tuple[list[Doubles], Doubles, Doubles]:
    """BM25 of remarks, (u,), and of windows of them; (m, n) how far an entry has each word or one like it."""
    n, remarks = len(index), len(index.starts)
    totals = [np.zeros(remarks) for _ in RADII]
    covered, idfs = np.zeros((len(terms), n)), np.zeros(len(terms))
    norms = []
    for radius in RADII:
        lengths = _window(index.lengths, radius)
        norms.append(K1 * (1 - B + B * lengths / max(float(lengths.sum()) / max(remarks, 1), 1e-9)))
    near = index.thesaurus.near([form for form, _ in terms], SYNONYM)
    for number, ((_, term), like) in enumerate(zip(terms, near, strict=True)):
        rows, counts = index.postings(term)
        idf = idfs[number] = inverse_frequency(len(rows), n)
        often = np.zeros(remarks) + np.bincount(index.remark[rows], counts, remarks)
        covered[number, rows] = 1
        for other, cosine in like:
            if other == term:
                continue
            where, counts = index.postings(other)
            share = cosine**SYNONYM_POWER
            covered[number, where] = np.maximum(covered[number, where], share)
            share *= inverse_frequency(len(where), n) / max(idf, 1e-9)
            often += np.bincount(index.remark[where], counts * share, remarks)
        for total, radius, norm in zip(totals, RADII, norms, strict=True):
            inside = _window(often, radius)
            total += idf * (K1 + 1) * inside / (inside + norm)
    return totals, covered, idfs


def _window(values: Doubles, radius: int, *, mean: bool = False) -> Doubles:
    """(n,) sums, or means, over the entries up to so far before and behind."""
    n = len(values)
    if not n or not radius:
        return values
    sums = np.concatenate([np.zeros(1), np.cumsum(values)])
    at = np.arange(n)
    low, high = np.maximum(at - radius, 0), np.minimum(at + radius + 1, n)
    found = sums[high] - sums[low]
    return np.asarray(found / (high - low) if mean else found)


def _clues(index: ReadingIndex, question: str, today: date, weights: Weights) -> Doubles:
    """What the question says of speaker and time."""
    clues = np.zeros(len(index))
    asked = set(words(question))
    for speaker, rows in index.speakers.items():
        if not asked.isdisjoint(words(speaker)):
            clues[rows] += weights.speaker
    for days in find_days(question, today):
        inside = (index.days[:, 0] <= days.last.toordinal()) & (index.days[:, 1] >= days.first.toordinal())
        clues[inside] += weights.date
    return clues


def _ranks(values: Doubles, rows: Sequence[int]) -> list[int]:
    """From 1; 0 where the value is no find."""
    mine = values[list(rows)]
    ranks = len(values) - np.searchsorted(np.sort(values), mine, side="right") + 1
    return [int(rank) if value > 0 else 0 for rank, value in zip(ranks, mine, strict=True)]
