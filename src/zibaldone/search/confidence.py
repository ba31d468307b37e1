"""How likely it is that memory can answer a question, before anybody has read what it recalls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

# Logistic regression on questions about LoCoMo's, BEAM's, LongMemEval's and the bundled conversations, beside
# questions about other conversations and about what was never said; docs/log.md has the table, judged with
# each data set left out. The number of units itself was a sign too, until ten million tokens showed that it
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
_FURTHEST = 9.2  # log-odds of a hundredth of a percent


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

    def confidence(self) -> float:
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
