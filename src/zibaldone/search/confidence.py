"""How likely it is that memory can answer a question, before anybody has read what it recalls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import regex

from zibaldone.search.lexical import Floats
from zibaldone.search.question import Question
from zibaldone.search.request import Aim
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.words import is_unspaced, words

# Logistic regression on questions about LoCoMo's, BEAM's, LongMemEval's and the bundled conversations, beside
# questions about other conversations and about what was never said (docs/decisions.md), judged with each data
# set left out. The number of units itself was a sign too, until ten million tokens showed that it
# does not carry over. As many of both kinds: where more can be answered, more can than this says.
_CONSTANT = -7.30
_COVERED = 4.87
_NEARNESS = 13.87
_UNSEEN = -3.18
# In a memory of a few messages an answer has fewer neighbours that share its words, and words that nobody
# used yet say little. Chosen on 6 to 400 messages of the same conversations, the weights above as they are,
# a little below what fits best: then what is about nothing stays below the default floor.
_FEW = 50.0  # passages of people with which half of what follows counts
_SMALL = 1.4
_UNSEEN_SMALL = 2.4
# Of what is as near as can be one in twenty cannot be answered all the same: it asks something else of what
# memory speaks of most, and no sign tells that. From here on a probability rises to this one, and no further.
_SURE, _SUREST = 0.8, 0.955
# Of a day that memory knows, and of a speaker and one word more, the signs tell less, and a day itself speaks
# for an answer. The log-odds are a constant, and a share of those by the signs. Fitted on LoCoMo and BEAM,
# each chat left out: log loss .61 for days and .71 for speakers, where a constant of 1 has 2 and 2.8.
_BESIDE: dict[Literal["day", "speaker"], tuple[float, float]] = {"day": (1.80, 0.37), "speaker": (0.24, 0.19)}
SILENT = 50  # units about nothing: a few that all agree are not the whole world
UNTOLD = 0.5  # the confidence of a question that cannot be compared with what memory has
_FEW_TERMS = 2  # so few words are a day's own
# A question of several words, function words included, of which memory knows few is in another language; a
# memory of few words knows few of any.
_SEVERAL, _FEW_KNOWN, _MANY_WORDS = 4, 0.3, 100
_LOOKED_AT, _OF_EACH = 32, 200  # units by which a memory's script is told, and characters of each
_LATIN = regex.compile(r"\p{Latin}+")
_FURTHEST = 9.2  # log-odds of a hundredth of a percent


@dataclass(frozen=True, slots=True)
class WordsFound:
    """Of the question's words, by their idf."""

    # (n,) the share in those units that attest, or their neighbours; a synonym by its cosine squared
    covered_nearby: Floats
    unseen: float  # the share that no unit has


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for and against."""

    # 0 to 1: the best share, by idf, of the question's words in a unit and its neighbours, of people's alone
    # where somebody asks about themselves
    covered: float
    nearness: float  # the best cosine, less the mean one
    unseen: float  # 0 to 1: the share, by idf, of the question's words that no unit has
    # how many units are of people, of anybody where none is; infinite where that tells nothing
    by_people: float
    beside: Literal["day", "speaker"] | None = None  # what it asks about that memory knows

    def probability(self) -> float:
        """A probability."""
        small = _FEW / (_FEW + self.by_people)
        unseen = (_UNSEEN + _UNSEEN_SMALL * small) * self.unseen
        log_odds = _CONSTANT + _SMALL * small + _COVERED * self.covered + _NEARNESS * self.nearness + unseen
        if self.beside is None:
            return _calibrated(1 / (1 + math.exp(-log_odds)))
        constant, share = _BESIDE[self.beside]
        log_odds = min(max(log_odds, -_FURTHEST), _FURTHEST)
        return min(1 / (1 + math.exp(-constant - share * log_odds)), _SUREST)


def _calibrated(probability: float) -> float:
    return min(probability, _SURE + (probability - _SURE) * (_SUREST - _SURE) / (1 - _SURE))


def confidence(
    index: UnitIndex,
    question: Question,
    of_words: WordsFound,
    cosines: Floats,
    inside: npt.NDArray[np.bool_] | None,
) -> float:
    """How likely memory is to answer. `cosines` (n,) are the units' with the question.

    A day or month that memory knows of and hardly a word besides its own is reason enough (1), and so are a
    speaker and no word, and all that was ever spoken of; with words besides they are signs. A question about
    no word at all is none (0). Of one in another language than memory neither words nor vectors say anything
    for or against: UNTOLD.
    """
    if inside is not None and not inside.any():
        return 0.0
    of_day = any(last - first < 31 and index.knows_of(first, last) for first, last in question.days)
    overview = question.aim is Aim.OVERVIEW
    if (of_day or overview) and len(question.terms) <= _FEW_TERMS:
        return 1.0
    if not question.terms:
        return 1.0 if question.speakers else 0.0
    if _is_foreign(index, question):
        return UNTOLD
    mean = float(cosines.sum()) / (len(cosines) + SILENT)
    nearby = of_words.covered_nearby
    if inside is not None:
        nearby, cosines = nearby[inside], cosines[inside]
    by_people: float = int(np.count_nonzero(index.by_assistant == 0)) or len(index)
    if is_unspaced(question.subject):  # bigrams are near each other however few they are
        by_people = math.inf
    of_speaker = bool(question.speakers) and len(question.terms) == 1
    beside: Literal["day", "speaker"] | None = "day" if of_day else "speaker" if of_speaker else None
    nearness = float(cosines.max()) - mean
    return Signs(float(nearby.max()), nearness, of_words.unseen, by_people, beside).probability()


def _is_foreign(index: UnitIndex, question: Question) -> bool:
    """True if it is in another script than memory, or memory knows many words and few of its."""
    some = np.linspace(0, len(index) - 1, num=min(len(index), _LOOKED_AT)).astype(int).tolist()
    if _is_latin(question.text) != _is_latin("".join(index.units[row].text[:_OF_EACH] for row in some)):
        return True
    spoken = words(question.text)
    if len(spoken) < _SEVERAL or sum(map(index.has, spoken)) >= _FEW_KNOWN * len(spoken):
        return False
    return index.has_words(_MANY_WORDS)


def _is_latin(text: str) -> bool:
    """True if most letters are Latin ones, or there are none."""
    if 2 * len(text.encode("ascii", "ignore")) >= len(text):  # spaces are a fifth of any text
        return True
    return 2 * sum(map(len, _LATIN.findall(text))) >= sum(map(str.isalpha, text))
