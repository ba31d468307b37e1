"""Confidence: the probability that memory can answer a question, before anybody has read what it recalls."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import regex

from zibaldone.search.lexical import Floats
from zibaldone.search.question import Aim, Mask, Question
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.words import is_english, is_unspaced, words


# Log-odds, fitted by `python -m benchmarks.confidence DATA`, which judges them with each data set left out.
@dataclass(frozen=True, slots=True)
class Signs:
    """Signs for an answer and against it; as weights, the worth of each.

    All are times BESIDE where a day that memory knows is asked about, or a speaker and one word more.
    """

    constant: float  # 1
    match: float  # of the best unit: its share of the question's words, and NEAR * (its cosine - the mean)
    words: float  # logarithm of the number of the question's words
    small: float  # FEW / (FEW + n), of n units of people
    unseen: float  # 0 to 1: the share, by idf, of the question's words that no unit has

    def times(self, weights: Signs) -> float:
        """The log-odds."""
        return math.fsum(getattr(self, name) * getattr(weights, name) for name in SIGNS)


SIGNS = tuple(field.name for field in fields(Signs))
WEIGHTS = Signs(constant=-5.18, match=3.8, words=0.66, small=3.38, unseen=-1.88)
NEAR = 2.0
FEW = 50.0
BESIDE = 0.4  # of a day that memory knows, and of who speaks, there is much to tell whatever the words are
SUREST = 0.955  # what is as near as can be asks in one case of twenty for something else all the same
SILENT = 50  # units about nothing: a few that all agree are not the whole world
UNTOLD = 0.5  # the confidence of a question that cannot be compared with what memory has
_FEW_TERMS = 2  # so few words are a day's own
# Of a question in another language a memory of many words knows few, function words included.
_SEVERAL, _FEW_KNOWN, _MANY_WORDS = 4, 0.3, 100
_LATIN = regex.compile(r"\p{Latin}+")


@dataclass(frozen=True, slots=True)
class Coverage:
    """A question's words and vector in an index; shares are of the words, by their idf."""

    covered: Floats  # (n,) the share that each unit has; a synonym counts by its cosine squared
    unseen: float  # the share that no unit has which bears witness
    witnesses: Mask  # (n,) see ranker.witnesses
    cosines: Floats  # (n,) of units and question


def confidence(index: UnitIndex, question: Question, coverage: Coverage, inside: Mask | None) -> float:
    """Estimate the probability that memory can answer.

    A day or month that memory knows of and hardly a word besides its own is reason enough (1), and so are a
    speaker and no word, and all that was ever spoken of. A question about no word at all is none (0). Of one
    in another language than memory neither words nor vectors say anything for or against: UNTOLD.
    """
    if inside is not None and not inside.any():
        return 0.0
    of_all = question.aim is Aim.OVERVIEW or _is_of_day(index, question)
    if of_all and len(question.terms) <= _FEW_TERMS:
        return 1.0
    if not question.terms:
        return 1.0 if question.speakers else 0.0
    if _is_foreign(index, question):
        return UNTOLD
    return SUREST / (1 + math.exp(-signs(index, question, coverage, inside).times(WEIGHTS)))


def _is_of_day(index: UnitIndex, question: Question) -> bool:
    return any(last - first < 31 and index.overlaps_known_days(first, last) for first, last in question.days)


def signs(index: UnitIndex, question: Question, coverage: Coverage, inside: Mask | None) -> Signs:
    """Signs for an answer to a question that has words."""
    heard = coverage.witnesses if inside is None else coverage.witnesses & inside
    mean = float(coverage.cosines.sum()) / (len(index) + SILENT)
    matches = (coverage.covered + NEAR * (coverage.cosines - mean))[heard]
    by_people: float = int(np.count_nonzero(index.by_assistant == 0)) or len(index)
    if is_unspaced(question.subject):  # bigrams are near each other however few they are
        by_people = math.inf
    is_beside = _is_of_day(index, question) or (question.speakers and len(question.terms) == 1)
    share = BESIDE if is_beside else 1.0
    return Signs(
        constant=share,
        match=share * float(matches.max(initial=0)),
        words=share * math.log(len(question.terms)),
        small=share * FEW / (FEW + by_people),
        unseen=share * coverage.unseen,
    )


def _is_foreign(index: UnitIndex, question: Question) -> bool:
    """True if it is in another script than memory, or in another language by the words that both have."""
    sample = index.sample()
    if _is_latin(question.text) != _is_latin(sample):
        return True
    known = sum(map(index.has, question.words))
    if len(question.words) < _SEVERAL or known >= _FEW_KNOWN * len(question.words):
        return False
    return index.has_words(_MANY_WORDS) and not (is_english(question.words) and is_english(words(sample)))


def _is_latin(text: str) -> bool:
    """True if most letters are Latin ones, or there are none."""
    if 2 * len(text.encode("ascii", "ignore")) >= len(text):  # spaces are a fifth of any text
        return True
    return 2 * sum(map(len, _LATIN.findall(text))) >= sum(map(str.isalpha, text))
