"""The one ranker: the score of every unit for a question is a weighted sum of eleven features of structure.

There are two kinds of talk, and a session says itself which it is: among people, where turns are short, lean
on their neighbours and say who they are of; and with an assistant, where the user's turns stand for
themselves and what the assistant says is many times as much and seldom what is looked for. Each kind has its
weights (`python -m benchmarks.fit` fits them, and judges them on data that they were not fitted on). All are
log-odds, so that units of all compare; BM25 and cosines are in standard deviations from the mean of what
people say, so that they hold for a question of three words or of a page, and for any embedder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from zibaldone.core import ChannelScore
from zibaldone.models.base import Vectors
from zibaldone.search.confidence import SILENT, Coverage, confidence
from zibaldone.search.dense import Matrix
from zibaldone.search.lexical import Doubles, Floats, Ints, damping, saturated
from zibaldone.search.question import LONG_DAYS, Aim, Mask, Question
from zibaldone.search.unit_index import AFTER_DAYS, RADII, UnitIndex
from zibaldone.text.keywords import inverse_frequency
from zibaldone.text.words import words

SYNONYM_POWER = 3  # a synonym counts cosine ** 3 of the word itself
_MOST_DEVIATIONS = 10  # of BM25: where people say nothing of a question, an assistant's is far off
_COVERED_POWER = 3  # of the share of the question's words: half of them say little
_NAMES_A_DAY = 0.4  # `date` of what names a day, where the question asks when
_OF_ITS_TIME = 3.0  # times as much `date` counts where an overview of a time is asked for
_LEAST_TOKENS = 3  # of a rendered unit: a speaker, a colon and a word
_STEP = 1e-4  # between two passages of one message that score alike: less than any feature tells


@dataclass(frozen=True, slots=True)
class Weights:
    """Per feature, for one kind of talk; windows are units up to 2 or 5 before and behind in the session.

    "It" is the unit, with the passages around it where a person's message was cut.
    """

    lexical: float = 0.0  # BM25 of the question's words and their synonyms in it, standardised
    lexical_2: float = 0.0  # in its window of 2
    lexical_5: float = 0.0  # in its window of 5
    dense: float = 0.0  # its cosine with the question, from the mean of what people say, standardised
    speaker: float = 0.0  # the question names who said it
    replies: float = 0.0  # 1: it follows a question; -1: it ends with one
    date: float = 0.0  # 1: said in the time that the question names, or soon after; 1.5: that very day
    length: float = 0.0  # logarithm of its words that are no stop words, and 1
    session: float = 0.0  # the best of its session, of `lexical` and `dense` in standard deviations
    covers: float = 0.0  # 0 to 1: how much of the question it has, see _of_people_first
    by_assistant: float = 0.0  # an assistant says it, by how much assistants say, less where it `covers`; 0
    # when that is asked for


FEATURES = tuple(field.name for field in fields(Weights))


@dataclass(frozen=True, slots=True)
class TalkWeights:
    """The weights of the two kinds of talk."""

    among_people: Weights
    with_assistant: Weights

    @staticmethod
    def alike(weights: Weights) -> TalkWeights:
        """The same ones for all talk."""
        return TalkWeights(weights, weights)

    def of_units(self, index: UnitIndex) -> Floats:
        """(n, d) of each unit, in the order of FEATURES."""
        kinds = (self.among_people, self.with_assistant)
        rows = [[getattr(kind, name) for name in FEATURES] for kind in kinds]
        return np.array(rows, dtype=np.float32)[index.with_assistant.astype(np.int64)]


DEFAULT_WEIGHTS = TalkWeights(
    Weights(
        lexical=0.1,
        lexical_2=0.45,
        lexical_5=0.5,
        dense=0.45,
        speaker=2.5,
        replies=0.6,
        date=4.0,
        session=0.07,
    ),
    Weights(
        lexical=0.2,
        lexical_5=0.2,
        dense=0.45,
        speaker=2.0,
        date=1.0,
        session=0.25,
        covers=4.0,
        length=-0.4,
        by_assistant=-1.5,
    ),
)
_WINDOWED = ("lexical_2", "lexical_5", "session")
_CLUES = ("speaker", "replies", "date", "covers", "length", "by_assistant")


@dataclass(frozen=True, slots=True)
class Scores:
    """(n,) float32 each, in the order of rows."""

    total: Floats
    lexical: Floats  # BM25, natural logarithm, in what is said in one breath
    dense: Floats  # cosine, in standard deviations from the mean
    context: Floats  # the weighted features of windows and session
    clues: Floats  # the weighted features of speaker, turn, time, length and of all that is asked together
    confidence: float  # see confidence.confidence

    @staticmethod
    def of_nothing() -> Scores:
        """Scores of no rows."""
        nothing = np.zeros(0, dtype=np.float32)
        return Scores(nothing, nothing, nothing, nothing, nothing, 0.0)


_CHANNELS = ("lexical", "dense", "context", "clues")  # parts of a total, told one by one


class Explanation:
    """The rank of any message, told after the recall. It keeps some 36 bytes a unit, and no text."""

    def __init__(self, rows: Ints, seqs: Ints, scores: Scores) -> None:
        """`rows` and `seqs` say which rows have which message among their sources, pair by pair."""
        self._rows, self._seqs = rows, seqs
        self._channels = {"score": scores.total, **{name: getattr(scores, name) for name in _CHANNELS}}

    @staticmethod
    def of_nothing() -> Explanation:
        """An explanation for a memory without units."""
        nobody = np.zeros(0, dtype=np.int64)
        return Explanation(nobody, nobody, Scores.of_nothing())

    @staticmethod
    def of(index: UnitIndex, scores: Scores) -> Explanation:
        """Explain all rows of an index as they were scored; outlives what happens to the index."""
        return Explanation(index.source_rows, index.source_seqs, scores)

    def __call__(self, seq: int) -> tuple[ChannelScore, ...] | None:
        """The channels of the message's best unit; None when it had no unit."""
        rows = self._rows[self._seqs == seq].tolist()
        return min(self.of_rows(rows), key=lambda channels: channels[0].rank) if rows else None

    def of_rows(self, rows: Sequence[int]) -> list[tuple[ChannelScore, ...]]:
        """Each row's rank and score in every channel; a lexical or dense score of zero has no rank."""
        columns = []
        for name, values in self._channels.items():
            mine = values[rows]
            above = np.sort(values[values > mine.min(initial=np.inf)])  # a few of all, as a rule
            ranks = len(above) - np.searchsorted(above, mine, side="right") + 1
            if name in ("lexical", "dense"):
                ranks[mine <= 0] = 0
            columns.append(
                [ChannelScore(name, *pair) for pair in zip(ranks.tolist(), mine.tolist(), strict=True)]
            )
        return list(zip(*columns, strict=True))


def standardised(values: npt.NDArray[Any], among: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[Any]:
    """(n,) in standard deviations from the mean, so that scores of two kinds add up; 0 when all are equal.

    Mean and deviation are those of the values where `among` (n,) is true, if any is.
    """
    sample = values if among is None or not among.any() else values[among]
    deviation = values.dtype.type(sample.std())
    if deviation < 1e-9:
        return np.zeros_like(values)
    return np.asarray((values - sample.mean()) / deviation)


def score(
    index: UnitIndex,
    question: Question,
    weights: TalkWeights = DEFAULT_WEIGHTS,
    inside: Mask | None = None,
) -> Scores:
    """Score all units of a user. `inside` (n,) says which may be recalled; the confidence is of those."""
    values, coverage = features(index, question, inside)
    of_units = weights.of_units(index)
    weighted = {name: of_units[:, column] * values[name] for column, name in enumerate(FEATURES)}
    context, clues = (
        np.asarray(np.sum([weighted[name] for name in names], axis=0), dtype=np.float32)
        for names in (_WINDOWED, _CLUES)
    )
    total = weighted["lexical"] + weighted["dense"] + context + clues
    _tell_passages_apart(index, question, total)
    sure = confidence(index, question, coverage, inside)
    return Scores(total, values["bm25"], values["dense"], context, clues, sure)


def _vector(index: UnitIndex, question: Question) -> Vectors:
    """(d,) the question's; zero when there is none."""
    return np.zeros(index.vectors.dimension, dtype=np.float32) if question.vector is None else question.vector


def _tell_passages_apart(index: UnitIndex, question: Question, total: Floats) -> None:
    """Give the best total of a cut message's passages to the passage that says most itself."""
    rows = np.flatnonzero(index.windows[0].sizes > 1)
    if not len(rows):
        return
    idfs = np.zeros(len(index), dtype=np.float32)
    for _, term in question.terms:
        where, _ = index.lexical.postings(term)
        idfs[where] += inverse_frequency(len(where), len(index))
    own = idfs[rows] + index.vectors.products(_vector(index, question), rows)
    seqs = index.seqs[rows]
    best = _by_message(seqs, total[rows])
    totals = total[rows[best]]
    starts = np.flatnonzero(np.diff(seqs[best], prepend=-1))
    in_message = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
    total[rows[_by_message(seqs, own)]] = totals - np.float32(_STEP) * in_message


def _by_message(seqs: Ints, values: Floats) -> Ints:
    """(n,) places by message, and in it by falling value.

    One number stands for both: floats are in the order of their bits, read as whole numbers. Of messages in
    order that is ten times as quick as sorting twice.
    """
    bits = (-values).view(np.int32).astype(np.int64)
    falling = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    return np.argsort((seqs << 33) + falling, kind="stable")


def features(
    index: UnitIndex, question: Question, inside: Mask | None = None
) -> tuple[dict[str, Floats], Coverage]:
    """Every feature that Weights names, and `bm25`, (n,) each, unweighted, and what speaks for an answer."""
    vector = _vector(index, question)
    of_rows = index.vectors.products(vector)
    cosines = _cosines(index.vectors, of_rows)
    centred = index.centred_cosines(vector, of_rows)
    values, covered, unseen, heard = _lexical(index, question)
    people = index.by_people
    values["bm25"] = values["lexical"]
    for name in ("lexical", "lexical_2", "lexical_5"):
        values[name] = np.minimum(standardised(values[name], people), _MOST_DEVIATIONS)
    breath = index.windows[0]
    values["dense"] = standardised(breath.sum(centred) / breath.sizes, people)
    own = values["lexical"] + values["dense"]
    values["session"] = index.best_of_session(own, people if inside is None else people & inside)
    values["speaker"] = np.zeros(len(index), dtype=np.float32)
    for name in question.speakers:  # who may have been forgotten since the question was read
        values["speaker"][index.speakers.get(name, [])] = 1
    values["replies"] = index.replies()
    values["date"], names_day = _dates(index, question)
    if question.aim is Aim.OVERVIEW:
        values["date"] *= _OF_ITS_TIME
    values["length"] = np.log1p(index.lexical.lengths())
    covers = np.maximum(values["covers"] ** _COVERED_POWER, names_day)
    covers[(index.by_assistant > 0) & ~heard] = 0
    is_said = question.aim is Aim.SAID
    values["covers"] = covers if is_said else _of_people_first(index, covers, inside)
    values["by_assistant"] = index.by_assistant * (0 if is_said else 1 - values["covers"])
    return values, Coverage(covered, unseen, heard, cosines)


def witnesses(index: UnitIndex, question: Question) -> Mask:
    """(n,) which units can bear witness to an answer.

    People's, where somebody asks about themselves: what an assistant goes on about, of blood types say, is no
    sign that the user has told his own. Nor what only asks the same: it is such a question over again, or
    ends with a question and has fewer other content words than that has; unless another speaker, who is
    heard, speaks next, and may have answered.
    """
    theirs = question.asks_own and question.aim is not Aim.SAID
    people = index.by_people if theirs else np.ones(len(index), dtype=bool)
    shared = np.zeros(len(index))
    for _, term in question.terms:
        rows, counts = index.lexical.postings(term)
        shared[rows] += counts
    besides = index.lexical.lengths() - shared
    few = (besides < 1) | (index.ends_asking & (besides < len(question.terms)))
    asks = few & people & (shared > 0)
    for row in np.flatnonzero(asks & ~index.ends_asking).tolist():
        asks[row] = theirs and question.words == tuple(words(index.units[row].text))
    return np.where(asks, index.replied(people), people)


def _of_people_first(index: UnitIndex, covers: Floats, inside: Mask | None) -> Floats:
    """(n,) how much of the question each unit has; of an assistant's, what people's own words leave of it.

    Who has all of a question's words, or names the day that it names, most likely answers it. An assistant
    says again what people say; what nobody else said is its to tell.
    """
    people = index.by_people
    best = covers[people if inside is None else people & inside].max(initial=0)
    return np.where(people, covers, covers * (1 - best)).astype(np.float32)


def _cosines(rows: Matrix, products: Floats) -> Floats:
    """(n,) of the rows; one that nobody has embedded yet stands at the mean of the others."""
    cosines = products.copy()
    none = np.flatnonzero(cosines == 0)
    bare = none[~rows.has(none)]
    if 0 < len(bare) < len(cosines):
        cosines[bare] = cosines.sum() / np.float32(len(cosines) - len(bare))
    return cosines


def _dates(index: UnitIndex, question: Question) -> tuple[Floats, Mask]:
    """(n,) see Weights, and which units name a day of a short time that the question names.

    What is said long after a long time, or names a day of a short one, counts half.
    """
    dates, names_day = np.zeros(len(index), dtype=np.float32), np.zeros(len(index), dtype=bool)
    if question.asks_when:
        dates[index.named_days[:, 0]] = _NAMES_A_DAY
    for first, last in question.days:
        then = (index.days >= first) & (index.days <= last)
        after = (index.days > last) & (index.days <= last + AFTER_DAYS)
        if last - first >= LONG_DAYS:
            dates = np.maximum(dates, then + after * np.float32(0.5))
            continue
        dates = np.maximum(dates, then * np.float32(1.5) + after)
        naming = index.naming(first, last)
        names_day[naming] = True
        late = naming[~then[naming]]
        dates[late] = np.maximum(dates[late], 0.5 + after[late])
    return np.asarray(dates, dtype=np.float32), names_day


@dataclass(frozen=True, slots=True)
class _Matched:
    """The rows with one word of the question, and those with words of like meaning."""

    exact: Ints  # rows of the word itself
    rows: Ints  # of all of them, a row more than once
    frequencies: Doubles  # of each of `rows`, as if all words were the question's
    likeness: Doubles  # 1, or the squared cosine
    idf: float
    weight: float  # its idf, where a few units are not the whole world


def _matched(index: UnitIndex, question: Question) -> Iterator[_Matched]:
    """Match every word of the question: by itself and, less, by words of like meaning.

    It weighs as much as it is rare in what people say: an assistant says many times as much, of everything.
    """
    people = index.by_people
    n = int(np.count_nonzero(people))
    for form, term in question.terms:
        exact, counts = index.lexical.postings(term)
        df = int(np.count_nonzero(people[exact]))
        idf = inverse_frequency(df, n)
        rows, frequencies = [exact], [counts]
        likeness = [np.ones(len(exact))]
        for other, cosine in index.synonyms(form):
            if other != term:
                where, often = index.lexical.postings(other)
                rows.append(where)
                frequencies.append(often * (cosine**SYNONYM_POWER * index.lexical.idf(other) / idf))
                likeness.append(np.full(len(where), cosine**2))
        yield _Matched(
            exact,
            np.concatenate(rows),
            np.concatenate(frequencies),
            np.concatenate(likeness),
            idf,
            inverse_frequency(len(exact), len(index) + SILENT),
        )


def _lexical(index: UnitIndex, question: Question) -> tuple[dict[str, Floats], Floats, float, Mask]:
    """BM25 in the unit and in its two windows; and see Coverage.

    One frequency per word is summed over the word and those of like meaning, and saturates once.
    """
    n = len(index)
    totals = {radius: np.zeros(n) for radius in RADII}
    covered, whole, unseen = np.zeros(n), 1e-9, 0.0
    covers, all_idfs = np.zeros(n), 1e-9
    heard = witnesses(index, question)
    damped = {r: damping(_of_people(index.windows[r].relative_lengths, index)) for r in RADII}
    for word in _matched(index, question):
        whole += word.weight
        unseen += 0.0 if heard[word.exact].any() else word.weight
        there, likeness = index.windows[0].spread(word.rows, word.likeness)
        share = np.minimum(likeness, 1)
        covered[there] += word.weight * share
        covers[there] += word.idf * share
        all_idfs += word.idf
        for radius in RADII:
            window = index.windows[radius]
            there, inside = window.spread(word.rows, word.frequencies)
            totals[radius][there] += word.idf * saturated(inside, damped[radius][there])
    names = ("lexical", "lexical_2", "lexical_5")
    values = {name: totals[radius].astype(np.float32) for name, radius in zip(names, RADII, strict=True)}
    values["covers"] = (covers / all_idfs).astype(np.float32)
    return values, (covered / whole).astype(np.float32), unseen / whole, heard


def _of_people(lengths: Floats, index: UnitIndex) -> Floats:
    """(n,) lengths in multiples of the mean one of what people say."""
    return lengths / max(float(lengths[index.by_people].mean()), 1e-9)


def best_first(scores: Floats, room_tokens: float, index: UnitIndex, inside: Mask | None = None) -> list[int]:
    """Rows by falling score, ties in their order, until they fill the room; one at least."""
    rows = np.arange(len(scores)) if inside is None else np.flatnonzero(inside)
    taken: list[int] = []
    # Rounded, so that a last bit, which depends on how the product was blocked, decides nothing.
    falling, most = -np.round(scores[rows], 4), int(room_tokens) // _LEAST_TOKENS + 2
    if most < len(rows):  # sort the best only, with all that tie with the last of them
        best = falling <= np.partition(falling, most)[most]
        rows, falling = rows[best], falling[best]
    for row in rows[np.argsort(falling, kind="stable")][:most].tolist():
        taken.append(row)
        room_tokens -= index.units[row].tokens
        if room_tokens < 0:
            break
    return taken
