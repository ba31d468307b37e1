"""Scores of every entry for a question: its unit's by the common ranker, plus BM25 of its heading's block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zibaldone.core import ChannelScore
from zibaldone.models.base import Vectors
from zibaldone.search.lexical import Doubles, Ints
from zibaldone.search.question import Mask, Question
from zibaldone.search.ranker import SYNONYM_POWER, Explanation, Scores, score
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.keywords import inverse_frequency
from zibaldone.views.topics.entry_units import sources_of
from zibaldone.views.topics.read.index import EntryPlace, ReadingIndex, bm25


@dataclass(frozen=True, slots=True)
class EntryHit:
    """One entry, and why it was found."""

    place: EntryPlace
    score: float  # falls along a reading's list; comparable inside one reading only
    why: str  # such as "picked", "searched", "followed", "selected", "seen", "fallback"
    superseded: bool  # by what was written later: to be shown with a mark, or not at all
    channels: tuple[ChannelScore, ...] = ()
    later: int | None = None  # seq of an entry that says otherwise, seen at this question; no one marked it

    @property
    def sources(self) -> tuple[int, ...]:
        return self.place.entry.sources


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """Entries found for one question."""

    hits: tuple[EntryHit, ...]  # best first, each entry once
    considered: int  # entries that were scored
    model_calls: int = 0
    note: str = ""  # in words, when something was degraded or cut


def ordered(tiers: Iterable[Sequence[EntryHit]]) -> tuple[EntryHit, ...]:
    """Merge several lists, better ones first; each entry stands where it is named first."""
    kept: dict[tuple[str, int], EntryHit] = {}
    for tier in tiers:
        for hit in tier:
            kept.setdefault((hit.place.document, hit.place.start), hit)
    return tuple(kept.values())


def falling(hits: Sequence[EntryHit]) -> tuple[EntryHit, ...]:
    """Current entries first, with scores that never rise along the list, so that it can be fused by score."""
    order = sorted(hits, key=lambda hit: hit.later is not None)
    least = float("inf")
    kept = []
    for hit in order:
        least = min(least, hit.score)
        kept.append(hit if hit.score == least else replace(hit, score=least))
    return tuple(kept)


PARTITION = 0.1  # weight of BM25 of an entry's heading partition (k1 = 1.5, b = 0.75)
_OLD = 1.0  # what a superseded entry loses
_MOST_TERMS = 64  # of a question, that partitions are searched for
_NOWHERE = (
    -100.0
)  # of an entry that is no unit (it was forgotten, or is not stored yet), or may not be recalled

Embed = Callable[[Sequence[str]], Vectors]  # texts -> (n, d), rows of unit length


@dataclass(frozen=True, slots=True)
class ScoredUnits:
    """The common ranker's scores for a question, copied out of a shared index."""

    question: Question
    units: tuple[Unit, ...]
    scores: Scores
    explanation: Explanation
    near: Sequence[Sequence[tuple[str, float]]]  # per word, terms of like meaning with their cosines
    inside: Mask | None  # which units may be recalled; None: all

    @staticmethod
    def of(index: UnitIndex, question: Question, inside: Mask | None = None) -> ScoredUnits:
        """Score all units of a non-empty index; `inside` masks those that may be recalled."""
        scores = score(index, question, inside=inside)
        near = [index.synonyms(form) for form, _ in question.terms]
        explanation = Explanation.of(index, scores)
        return ScoredUnits(question, tuple(index.units), scores, explanation, near, inside)


@dataclass(frozen=True, slots=True)
class RankedEntries:
    """A question, and every entry's scores, (n,) each, in the index's order."""

    index: ReadingIndex
    embed: Embed  # for what the question's names lead to; raises ModelFailed
    scored: ScoredUnits
    total: Doubles
    unit: Ints  # (n,) row of each entry's unit; -1 for none
    covered: Doubles  # (m, n) how far each of the question's m words, or one like it, is in each entry
    weights: Doubles  # (m,) of the words, in the question's order

    @property
    def question(self) -> Question:
        """The question."""
        return self.scored.question

    def hits(self, rows: Sequence[int], why: str) -> list[EntryHit]:
        units = self.unit[list(rows)]
        channels = iter(self.scored.explanation.of_rows(units[units >= 0].tolist()))
        return [
            EntryHit(
                self.index.places[row],
                float(self.total[row]),
                why,
                bool(self.index.superseded[row]),
                next(channels) if unit >= 0 else (),
            )
            for row, unit in zip(rows, units.tolist(), strict=True)
        ]

    def best(self, rows: Sequence[int] | None = None) -> list[int]:
        """Rows by score, best first; of equals the later message, and within a message its own order."""
        rows = range(len(self.total)) if rows is None else rows
        chosen = np.array(list(rows), dtype=np.int64)
        order = np.lexsort((chosen, -self.index.seqs[chosen], -np.round(self.total[chosen], 6)))
        return [int(row) for row in chosen[order]]


def rank(index: ReadingIndex, scored: ScoredUnits, embed: Embed) -> RankedEntries:
    """Score all entries of a non-empty index for a question."""
    row_of = {(unit.sources, unit.text): row for row, unit in enumerate(scored.units)}
    keys = [(sources_of(place.entry), place.entry.text) for place in index.places]
    unit = np.array([row_of.get(key, -1) for key in keys], dtype=np.int64)
    of_units = np.append(scored.scores.total, np.float32(_NOWHERE)).astype(np.float64)
    if scored.inside is not None:
        of_units[:-1][~scored.inside] = _NOWHERE
    parts = [one.partitions for one in index.documents.values()]
    partition = index.spread(bm25(parts, scored.question.stems[:_MOST_TERMS]))
    total = of_units[unit] + PARTITION * partition - _OLD * index.superseded
    covered, weights = _covered(index, scored)
    return RankedEntries(index, embed, scored, total, unit, covered, weights)


def _covered(index: ReadingIndex, scored: ScoredUnits) -> tuple[Doubles, Doubles]:
    """(m, n) how far each entry has each word of the question, itself or a synonym; and (m,) word weights."""
    covered, weights = np.zeros((len(scored.near), len(index))), np.zeros(len(scored.near))
    for number, ((_, term), like) in enumerate(zip(scored.question.terms, scored.near, strict=True)):
        rows, _ = index.postings(term)
        weights[number] = inverse_frequency(len(rows), len(index))
        covered[number, rows] = 1
        for other, cosine in like:
            where, _ = index.postings(other)
            covered[number, where] = np.maximum(covered[number, where], cosine**SYNONYM_POWER)
    return covered, weights
