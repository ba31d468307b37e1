"""What a question about order, progress or a summary is about, and which lines are about it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date

import numpy as np

from zibaldone.search.lexical import Doubles, Floats
from zibaldone.search.question import Question
from zibaldone.search.ranker import Mask
from zibaldone.text.dates import find_days
from zibaldone.text.words import words

_MOST = 0.5  # of the words, by their idf
_OF_A_NORMAL = 1.4826  # standard deviations in a median deviation
_FEW = 50  # lines: the median of fewer says little


def of_subject(question: Question, text: str, today: date) -> Question:
    """The question with the terms of its subject; with none where it asks for the order of everything.

    The words of the times that it names are none of it: what was said then seldom says when.
    """
    dated = {word for days in find_days(text, today) for word in words(text[days.start : days.end])}
    kept = () if question.asks_everything else (pair for pair in question.terms if pair[0] not in dated)
    return replace(question, terms=tuple(kept))


def about(scores: Floats, covered: Doubles) -> Mask:
    """(n,) which lines are about the subject; all arrays are of the lines that may be chosen.

    Either a line has most of the subject's words (`covered`), or its score stands out: it is above what the
    best of as many lines about nothing would have, sqrt(2 ln n) standard deviations (Donoho and Johnstone's
    universal threshold), these taken from the median, which the lines on the subject hardly move, and from
    the half above it, whose tail is the longer one.
    """
    if not len(scores):
        return np.zeros(0, dtype=bool)
    middle = float(np.median(scores))
    deviation = _OF_A_NORMAL * float(np.median(scores[scores >= middle] - middle))
    stands_out = middle + deviation * math.sqrt(2 * math.log(max(len(scores), _FEW)))
    return np.asarray((covered >= _MOST) | (scores > stands_out), dtype=bool)
