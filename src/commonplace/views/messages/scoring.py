"""The score of every unit for a question: a weighted sum of few features.

The weights were fitted on five conversations, each judged by the weights of the other four
(docs/log.md has the table: what each feature is worth, and what did not help).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from commonplace.models.base import Vectors
from commonplace.search.lexical import Floats, saturate
from commonplace.views.messages.index import UserIndex
from commonplace.views.messages.question import Question

_NEAR = 2  # units before and behind that count as the same exchange
_AROUND = 5  # ... as the same stretch of talk
_SYNONYM = 0.5  # least cosine at which a word of the memory stands for a word of the question
_SYNONYM_POWER = 3  # a synonym counts cosine ** 3 of the word itself
_AFTER_DAYS = 10  # what happened on a day is often told some days later


@dataclass(frozen=True, slots=True)
class Weights:
    """Per feature. Lexical and dense features are in standard deviations over the user's units."""

    lexical: float = 0.13  # the question's words and their synonyms in the unit itself (BM25)
    lexical_near: float = 0.30  # in the unit and two on each side
    lexical_around: float = 0.48  # in the unit and five on each side
    lexical_session: float = 0.18  # in its whole session
    dense: float = 0.19  # cosine of question and unit
    dense_near: float = 0.38  # mean cosine of the unit and two on each side
    speaker: float = 2.62  # the question names who said it
    answers: float = 0.74  # the unit before it asks something
    proper_nouns: float = 0.49  # each proper noun or quotation inside it, up to three
    tells_when: float = 2.55  # the question asks for a time, and the unit has a word of time
    asks: float = -0.67  # it ends with a question
    day: float = 2.5  # it was said on a day that the question names, or names that day
    days_after: float = 3.1  # it was said at most ten days after
    month: float = 3.8  # the question names a longer time, and it was said in it


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class Scores:
    """(n,) each: what the channels gave every unit, and the weighted sum of all."""

    total: Floats
    lexical: Floats  # BM25 in the unit itself
    dense: Floats  # cosine
    context: Floats  # the weighted features that look at the neighbours
    clues: Floats  # the weighted features of speaker, time and form
    relevance: float  # how much of the question the best unit knows of; see `_relevance`


def score(
    index: UserIndex, question: Question, vector: Vectors, weights: Weights = DEFAULT_WEIGHTS
) -> Scores:
    """Score all units of a user; `vector` is the question's, (d,), zero when there is none."""
    features, lexical, covered = _lexical(index, question)
    cosines = index.vectors.rows @ vector
    features["dense"] = standardised(cosines)
    features["dense_near"] = standardised(Window(index, _NEAR).mean(cosines))
    features |= _clues(index, question)
    weighted = {f.name: np.float32(getattr(weights, f.name)) * features[f.name] for f in fields(weights)}
    context = sum(v for k, v in weighted.items() if k.endswith(("_near", "_around", "_session")))
    own = weighted["lexical"] + weighted["dense"]
    clues = sum(v for k, v in weighted.items() if k in _CLUES)
    return Scores(
        total=np.asarray(own + context + clues, dtype=np.float32),
        lexical=lexical,
        dense=cosines,
        context=np.asarray(context, dtype=np.float32),
        clues=np.asarray(clues, dtype=np.float32),
        relevance=_relevance(question, covered, cosines),
    )


_CLUES = {"speaker", "answers", "proper_nouns", "tells_when", "asks", "day", "days_after", "month"}


def _lexical(index: UserIndex, question: Question) -> tuple[dict[str, Floats], Floats, Floats]:
    """BM25 at four widths; a question's word is matched by itself and by words of like meaning."""
    names = ("lexical", "lexical_near", "lexical_around", "lexical_session")
    n = len(index)
    if not question.terms:
        nothing = np.zeros(n, dtype=np.float32)
        return dict.fromkeys(names, nothing), nothing, nothing
    synonyms = index.thesaurus.near([form for form, _ in question.terms], _SYNONYM)
    weight = np.array([index.lexical.idf(term) for _, term in question.terms], dtype=np.float32)
    frequencies = np.zeros((len(question.terms), n), dtype=np.float32)
    covered = np.zeros(n, dtype=np.float32)
    for row, (_, term) in enumerate(question.terms):
        index.lexical.add_frequencies(term, 1.0, frequencies[row])
        covered += weight[row] * (frequencies[row] > 0)
        for other, cosine in synonyms[row]:
            if other != term:
                relative = cosine**_SYNONYM_POWER * index.lexical.idf(other) / float(weight[row])
                index.lexical.add_frequencies(other, relative, frequencies[row])
    lengths = index.lexical.lengths()
    raw = {}
    for name, radius in zip(names, (0, _NEAR, _AROUND, n), strict=True):
        window = Window(index, radius)
        inside = window.sum(frequencies)
        raw[name] = weight @ saturate(inside, window.sum(lengths))
    standard = {name: standardised(values) for name, values in raw.items()}
    return standard, raw["lexical"], covered / max(float(weight.sum()), 1e-9)


def _relevance(question: Question, covered: Floats, cosines: Floats) -> float:
    """The question's words that the best unit has, by their weight, plus the best cosine above the mean one.

    About 0 for what memory knows nothing of, above 1 for a question in memory's own words. 1 for a question
    that gives nothing to go by: fewer than two words, or the name of a day or a person.
    """
    if len(question.terms) < 2 or question.days:
        return 1.0
    return float(covered.max() + cosines.max() - cosines.mean())


def _clues(index: UserIndex, question: Question) -> dict[str, Floats]:
    """What speaker, time and form say, whatever the words."""
    n = len(index)
    speaker, day, after, month = (np.zeros(n, dtype=np.float32) for _ in range(4))
    for name in question.speakers:
        speaker[index.speakers[name]] = 1
    for first, last in question.days:
        said = (index.days >= first) & (index.days <= last)
        if last - first > _AFTER_DAYS:
            month[said] = 1
        else:
            day[said] = 1
            after[(index.days > last) & (index.days <= last + _AFTER_DAYS)] = 1
        for row, first_named, last_named in index.named_days:
            if first_named >= first and last_named <= last:
                day[row] = 1
    before = np.concatenate([[0], index.asks[index.order][:-1]])
    before[index.starts == np.arange(n)] = 0
    answers = np.empty(n, dtype=np.float32)
    answers[index.order] = before
    return {
        "speaker": speaker,
        "answers": answers,
        "proper_nouns": index.proper_nouns,
        "tells_when": index.time_words * question.asks_when,
        "asks": index.ends_asking,
        "day": day,
        "days_after": after,
        "month": month,
    }


class Window:
    """The units up to `radius` before and behind each unit, inside its session."""

    def __init__(self, index: UserIndex, radius: int) -> None:
        place = np.arange(len(index))
        self._order = index.order
        self._radius = radius
        self._low = np.maximum(index.starts, place - radius)
        self._high = np.minimum(index.ends, place + radius + 1)

    def sum(self, values: Floats) -> Floats:
        """Sum over each unit's window: (n,) or (k, n) in the order of rows, and so the result."""
        if self._radius == 0:
            return values
        sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1), dtype=np.float64)
        np.cumsum(values[..., self._order], axis=-1, out=sums[..., 1:])
        result = np.empty_like(values)
        result[..., self._order] = sums[..., self._high] - sums[..., self._low]
        return result

    def mean(self, values: Floats) -> Floats:
        """Mean over each unit's window, (n,)."""
        sizes = np.empty(len(values), dtype=np.float32)
        sizes[self._order] = self._high - self._low
        return self.sum(values) / sizes


def standardised(values: Floats) -> Floats:
    """In standard deviations from the mean; all zero when nothing differs."""
    deviation = float(values.std())
    if deviation < 1e-9:
        return np.zeros_like(values)
    return np.asarray((values - values.mean()) / np.float32(deviation), dtype=np.float32)
