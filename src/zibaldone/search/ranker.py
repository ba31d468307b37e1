"""The one ranker: the score of every unit for a question is a weighted sum of few features.

There are two kinds of talk, and a session says itself which it is: among people, where turns are short, lean
on their neighbours and say who they are of; and with an assistant, where the user's turns stand for
themselves and what the assistant says is many times as much and seldom what is looked for. Each kind has its
weights, fitted on conversations of that kind and judged on others (docs/log.md has the tables: what each
feature is worth, and what did not help). What a person says to an assistant has two sets, of short turns and
of long ones, and is ranked by a mean of both. All are log-odds, so that units of all compare. Where the
English words for what is asked for (when, where, how many), times and numbers do not occur, the
language-neutral parts are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import partial, reduce
from itertools import chain
from typing import Literal

import numpy as np
import numpy.typing as npt

from zibaldone.models.base import Vectors
from zibaldone.search.confidence import Signs
from zibaldone.search.dense import Matrix
from zibaldone.search.fusion import standardised
from zibaldone.search.lexical import Doubles, Floats, Ints, inverse_frequency, saturated
from zibaldone.search.question import Acquaintance, Question, is_foreign, narrowed, take_apart
from zibaldone.search.request import Request
from zibaldone.search.telling import rows_telling
from zibaldone.search.unit_index import AFTER_DAYS, RADII, UnitIndex
from zibaldone.text.codes import has_code
from zibaldone.text.kinds import kind_named
from zibaldone.text.spellings import terms_alike
from zibaldone.text.words import is_unspaced, terms

SYNONYM = 0.5  # least cosine at which a word of the memory stands for a word of the question
SILENT = 50  # units about nothing, for confidence: a few that all agree are not the whole world
NAME = 0.9  # the cosine that a name has to the word for who it is
_USUAL = 0.1  # the share of units that name something of a kind, from which on to name it tells nothing
_CERTAIN = (
    3.0  # that many times less, in natural logarithms, it tells as much as a time where one is asked for
)
_OF_KIND = 0.6  # the likeness of a thing to the name of its kind, for confidence
_LOOKED_AT = 32  # units by which a memory's language is told
_OF_EACH = 200  # characters of each
_FEW_TERMS = 2  # so few words are a day's own
_FEW_KNOWN = 0.5  # of the words of a question in another language: names, numbers, cognates
UNTOLD = 0.5  # the confidence of a question that cannot be compared with what memory has
SYNONYM_POWER = 3  # it counts cosine ** 3 of the word itself
Mask = npt.NDArray[np.bool_]

_MOST_READ = 64  # units whose text is read for an identifier
_THEIRS = 2  # times the share of a question's words that assistants alone said, by which they are asked for
_LEAST_TOKENS = 3  # of a rendered unit: a speaker, a colon and a word
LONG_DAYS = 14  # a question that names a longer time asks for what was said in it


@dataclass(frozen=True, slots=True)
class Weights:
    """Per feature, for one kind of talk; windows are units up to 2 or 5 before and behind in the session.

    "It" is the unit, with the passages around it where a person's message was cut. Windows and proper nouns
    count as much as turns are short.
    """

    lexical: float = 0.12  # BM25 (natural logarithm) of the question's words and their synonyms in it
    lexical_2: float = 0.15  # in its window of 2
    lexical_5: float = 0.22  # in its window of 5
    dense: float = 0.5  # its cosine with the question, from the mean of what people say, standardised
    dense_2: float = 0.5  # of question and the mean of the window of 2
    speaker: float = 2.75  # the question names who said it
    answers: float = 0.75  # among people: the unit before it asks something
    asks: float = -0.7  # among people: it ends with a question
    proper_nouns: float = 0.9  # log(1 + proper nouns and quotations in it, up to three)
    tells: float = 2.5  # the question asks for a time, place, number or thing of a kind, and the unit has one
    date: float = 4.0  # it was said in the time that the question names, or soon after
    same_day: float = 2.0  # it was said on the very day, or it names that day
    # an assistant says it, by how much assistants say; 0 when that is asked for, less where it has words of
    # the question that nobody else said
    by_assistant: float = 0.0


FEATURES = tuple(field.name for field in fields(Weights))


@dataclass(frozen=True, slots=True)
class TalkWeights:
    """The weights of the two kinds of talk; of a person's turns with an assistant also those of long ones."""

    among_people: Weights
    with_assistant: Weights  # an assistant's turns, and people's short ones
    long_turns: Weights  # people's: so much of these as their turns do not lean on their neighbours

    @staticmethod
    def alike(weights: Weights) -> TalkWeights:
        """The same ones for all talk."""
        return TalkWeights(weights, weights, weights)

    def table(self, leaning: float) -> Floats:
        """(d, 3) of the features, by `UnitIndex.kinds`; `leaning` is the index's.

        An assistant's turns are cut into passages, which lean on each other however much people say.
        """
        people, short, long = (
            np.array([getattr(kind, name) for name in FEATURES])
            for kind in (self.among_people, self.with_assistant, self.long_turns)
        )
        of_person = leaning * short + (1 - leaning) * long
        return np.stack([people, of_person, short], axis=1).astype(np.float32)


DEFAULT_WEIGHTS = TalkWeights(
    Weights(),
    Weights(
        lexical=0.16,
        lexical_2=0.115,
        lexical_5=0.11,
        dense=0.65,
        dense_2=0.275,
        speaker=1.9,
        answers=0.0,
        asks=0.0,
        proper_nouns=0.55,
        tells=1.5,
        date=2.5,
        same_day=1.5,
        by_assistant=-2.5,
    ),
    Weights(
        lexical=0.2,
        lexical_2=0.11,
        lexical_5=-0.035,
        dense=0.725,
        dense_2=0.16,
        speaker=1.9,
        answers=0.0,
        asks=0.0,
        proper_nouns=-0.17,
        tells=0.17,
        date=1.28,
        same_day=1.43,
        by_assistant=0.0,
    ),
)
_FIRST = 10  # units that a list is begun with: what is like them may be on it too
_LIKENESS = 0.5  # of the weight of `dense`
_STEP = 1e-4  # between two passages of one message that score alike: less than any feature tells
_WINDOWED = ("lexical_2", "lexical_5", "dense_2")
_LEANING = (*_WINDOWED, "proper_nouns")  # a turn of many words says itself what it is about
_CLUES = ("speaker", "answers", "asks", "proper_nouns", "tells", "date", "same_day", "by_assistant")


@dataclass(frozen=True, slots=True)
class AssistantShare:
    """How much of a context may be an assistant's words, where people's words could fill it."""

    share: float  # of the tokens behind the first ones
    first_tokens: int  # which are the people's

    def of(self, tokens: float) -> float:
        """Tokens that an assistant may have of so many."""
        return self.share * max(0.0, tokens - self.first_tokens)


# A question is answered by what its asker said; when that leaves room, by what was answered.
_BESIDE = AssistantShare(0.2, 1000)
_SAID = AssistantShare(1.0, 0)


@dataclass(frozen=True, slots=True)
class Scores:
    """(n,) float32 each, in the order of rows."""

    total: Floats
    lexical: Floats  # BM25 in what is said in one breath
    dense: Floats  # cosine, in standard deviations from the mean
    context: Floats  # the weighted features of the windows
    clues: Floats  # the weighted features of speaker, time and form
    confidence: float  # see _confidence
    assistant: AssistantShare = _BESIDE

    @staticmethod
    def of_nothing() -> Scores:
        """Of no rows."""
        nothing = np.zeros(0, dtype=np.float32)
        return Scores(nothing, nothing, nothing, nothing, nothing, 0.0)


def read_question(
    text: str,
    today: date,
    index: UnitIndex,
    people: Sequence[Acquaintance] = (),
    request: Request | None = None,
) -> Question:
    """Take a question apart against what an index knows: its speakers, its days, its words."""
    newest = date.fromordinal(int(index.days.max())) if len(index) else today
    foreign = bool(len(index)) and is_foreign(text, _sample(index), index.has)
    question = take_apart(
        text,
        index.speakers,
        today,
        index.knows_of,
        newest,
        index.spelled,
        people,
        request,
        foreign=foreign,
    )
    return narrowed(question, index.lexical)


def score(
    index: UnitIndex,
    question: Question,
    vector: Vectors,
    weights: TalkWeights = DEFAULT_WEIGHTS,
    inside: Mask | None = None,
) -> Scores:
    """Score all units of a user; `vector` is the question's, (d,), zero when there is none.

    `inside` (n,) says which units may be recalled; the confidence is of those.
    """
    values, confidence = features(index, question, vector, inside)
    # A row per feature: of each unit, or, where all units are of one kind, of that kind.
    kinds = index.kinds if index.kinds.any() else index.kinds[:1]
    of_units = weights.table(index.leaning)[:, kinds]
    weighted = {name: of_unit * values[name] for name, of_unit in zip(FEATURES, of_units, strict=True)}
    context = _sum(weighted[name] for name in _WINDOWED)
    clues = _sum(weighted[name] for name in _CLUES)
    total = _sum((weighted["lexical"], weighted["dense"], context, clues))
    if question.asks_list:
        look_again(index, total, of_units[FEATURES.index("dense")], inside)
    _tell_passages_apart(index, question, vector, total)
    share = _SAID if question.asks_assistant else _BESIDE
    return Scores(total, values["lexical"], values["dense"], context, clues, confidence, share)


def look_again(index: UnitIndex, total: Floats, dense_weights: Floats, inside: Mask | None = None) -> None:
    """Raise, in talk among people, what is like the units that a list is begun with; these stay first.

    What is on one list is said in like words, and one item leads to the others. `dense_weights` are (n,), or
    (1,) for all.
    """
    among_people = index.kinds == 0
    rows = np.flatnonzero(among_people if inside is None else among_people & inside)
    if len(rows) <= _FIRST:
        return
    first = _highest(total, rows, _FIRST)
    likeness = standardised(index.likeness(first), among_people)
    before = total[first]
    total += np.where(among_people, np.float32(_LIKENESS) * dense_weights * likeness, np.float32(0))
    others = np.setdiff1d(rows, first, assume_unique=True)
    total[first] = before + max(np.float32(0), total[others].max() - before.min() + np.float32(_STEP))


def _highest(scores: Floats, rows: Ints, most: int) -> Ints:
    """Of the rows those that score highest, best first, ties in their order."""
    # Rounded, so that a last bit, which depends on how the product was blocked, decides nothing.
    falling = -np.round(scores[rows], 4)
    if most < len(rows):  # sort the best only, with all that tie with the last of them
        best = falling <= np.partition(falling, most)[most]
        rows, falling = rows[best], falling[best]
    return rows[np.argsort(falling, kind="stable")][:most]


def _tell_passages_apart(index: UnitIndex, question: Question, vector: Vectors, total: Floats) -> None:
    """Of a message that was cut, the passage that says most itself gets the best of its passages' totals."""
    rows = np.flatnonzero(index.windows[0].sizes > 1)
    if not len(rows):
        return
    idfs = np.zeros(len(index), dtype=np.float32)
    for _, term in question.terms:
        where, _ = _postings(index, terms_alike(term))
        idfs[where] += inverse_frequency(len(where), len(index))
    own = idfs[rows] + index.vectors.products(vector, rows)
    seqs = index.seqs[rows]
    totals = total[rows[np.lexsort((-total[rows], seqs))]]
    counts = np.unique(seqs, return_counts=True)[1]
    in_message = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    total[rows[np.lexsort((-own, seqs))]] = totals - np.float32(_STEP) * in_message


def features(
    index: UnitIndex, question: Question, vector: Vectors, inside: Mask | None = None
) -> tuple[dict[str, Floats], float]:
    """Every feature that Weights names, (n,) each, unweighted, and the confidence of the question."""
    of_rows = index.vectors.products(vector)
    cosines = _cosines(index.vectors, of_rows)
    centred = index.centred_cosines(vector, of_rows)
    things = _things(index, question)
    telling_rows = rows_telling(index, question)
    values, words = _lexical(index, question, things, telling_rows)
    by_people = index.by_assistant == 0
    for name, radius in (("dense", 0), ("dense_2", 2)):
        window = index.windows[radius]
        values[name] = standardised(window.sum(centred) / window.sizes, by_people)
    values |= _clues(index, question)
    values["by_assistant"] *= np.maximum(0, 1 - _THEIRS * words.theirs)
    # A time, a place or a number of what the question is not about is none that it asks for; a thing of the
    # kind is itself what it is about.
    values["tells"] = values["tells"] * ((values["lexical_2"] > 0) | (values["dense"] > 0))
    if things:
        values["tells"][things.rows] = np.maximum(values["tells"][things.rows], np.float32(things.telling))
    values["tells"][telling_rows] = np.maximum(
        values["tells"][telling_rows], np.float32(_telling(index, telling_rows))
    )
    leaning = np.float32(index.leaning)
    values |= {name: values[name] * leaning for name in _LEANING}
    return values, _confidence(index, question, words, cosines, inside)


def _cosines(rows: Matrix, products: Floats) -> Floats:
    """(n,) of the rows; one that nobody has embedded yet stands at the mean of the others."""
    cosines = products.copy()
    none = np.flatnonzero(cosines == 0)
    bare = none[~rows.has(none)]
    if 0 < len(bare) < len(cosines):
        cosines[bare] = cosines.sum() / np.float32(len(cosines) - len(bare))
    return cosines


@dataclass(frozen=True, slots=True)
class _WordsFound:
    """Of the question's words, by their idf."""

    # (n,) the share in those units that attest, or their neighbours; a synonym by its cosine squared
    covered_nearby: Floats
    unseen: float  # the share that no unit has
    known: float  # how many of them some unit has, as a share, each the same
    theirs: Floats  # (n,) the share in those units that assistants alone ever said


@dataclass(frozen=True, slots=True)
class _Things:
    """The units that name something of the kind that a question asks for."""

    rows: Ints
    terms: frozenset[str]  # of the kind's own name
    telling: float  # 0 to 1: what a tenth of memory is of tells nothing


def _things(index: UnitIndex, question: Question) -> _Things | None:
    """None where no kind is asked for, or nothing of it was ever named."""
    kind = next((kind for name in question.kinds if (kind := kind_named(name))), None)
    if kind is None:
        return None
    known = index.lexical.known(kind.terms)
    having = [
        _with_all(index, terms) for terms in kind.names if terms[0] in known and known.issuperset(terms)
    ]
    rows = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *having]))
    if not len(rows):
        return None
    telling = _telling(index, rows)
    return _Things(rows, kind.own_terms, telling) if telling > 0 else None


def _telling(index: UnitIndex, rows: Ints) -> float:
    """0 to 1: how much it tells to be one of these rows; nothing, where a tenth of memory is."""
    share = max(len(rows), 1) / (len(index) + SILENT)
    return max(0.0, min(1.0, math.log(_USUAL / share) / _CERTAIN))


def _with_all(index: UnitIndex, terms: Sequence[str]) -> Ints:
    """The rows that have all of these terms."""
    rows, _ = index.lexical.postings(terms[0])
    for term in terms[1:]:
        rows = np.intersect1d(rows, index.lexical.postings(term)[0], assume_unique=True)
    return rows


@dataclass(frozen=True, slots=True)
class _Matched:
    """Where one word of the question stands, in all its spellings, and where words of like meaning do."""

    term: str
    exact: Ints  # rows of the word itself
    rows: Ints  # of all of them, a row more than once
    frequencies: Doubles  # of each of `rows`, as if all words were the question's
    likeness: Doubles  # 1, or the squared cosine
    idf: float
    weight: float  # its idf, where a few units are not the whole world
    form: str | None  # as the question has it; None: an identifier


def _matched(index: UnitIndex, question: Question) -> Iterator[_Matched]:
    """For every word of the question. A word is matched by itself and, less, by words of like meaning."""
    n = len(index)
    synonyms = index.thesaurus.near([form for form, _ in question.terms], SYNONYM)
    for (form, term), like in zip(question.terms, synonyms, strict=True):
        same = terms_alike(term)
        if like and index.lexical.df(term) and index.is_coined(form):
            like = []
        near = like + [(name, NAME) for of, name in question.names_of if of == term]
        exact, counts = _postings(index, same)
        idf = inverse_frequency(len(exact), n)
        rows, frequencies = [exact], [counts]
        likeness = [np.ones(len(exact))]
        for other, cosine in near:
            if other not in same:
                where, often = index.lexical.postings(other)
                rows.append(where)
                frequencies.append(often * (cosine**SYNONYM_POWER * index.lexical.idf(other) / idf))
                likeness.append(np.full(len(where), cosine**2))
        yield _Matched(
            term,
            exact,
            np.concatenate(rows),
            np.concatenate(frequencies),
            np.concatenate(likeness),
            idf,
            inverse_frequency(len(exact), n + SILENT),
            form,
        )


def _codes(index: UnitIndex, question: Question) -> Iterator[_Matched]:
    """For every identifier of the question that some unit has as it is written: as much as all its pieces.

    Whether a unit has it is read in its text. So one whose pieces stand together in many units is left out:
    it tells few from others, and its pieces do that already.
    """
    for code in question.codes:
        pieces = [_postings(index, (term,))[0] for term in set(terms(code))]
        if not pieces:
            continue
        likely = reduce(partial(np.intersect1d, assume_unique=True), sorted(pieces, key=len))
        if len(likely) > _MOST_READ:
            continue
        rows = np.array(
            [row for row in likely.tolist() if has_code(index.units[row].text, code)], dtype=np.int64
        )
        if len(rows):
            ones, n = np.ones(len(rows)), len(index)
            idf, weight = inverse_frequency(len(rows), n), inverse_frequency(len(rows), n + SILENT)
            yield _Matched(code, rows, rows, ones, ones, len(pieces) * idf, weight, None)


def covered(index: UnitIndex, question: Question) -> Doubles:
    """(n,) the share, by idf, of the question's words that each unit has; a synonym by its cosine squared.

    Words that no unit has tell none from another: they count only where none of the words is there.
    """
    shares, known, whole = np.zeros(len(index)), 0.0, 0.0
    for word in _matched(index, question):
        has = np.zeros(len(index))
        np.maximum.at(has, word.rows, word.likeness)
        shares += word.weight * has
        known += word.weight * bool(len(word.exact))
        whole += word.weight
    return np.minimum(shares / max(known or whole, 1e-9), 1)


def _lexical(
    index: UnitIndex, question: Question, things: _Things | None, telling_rows: Ints
) -> tuple[dict[str, Floats], _WordsFound]:
    """BM25 in the unit and in its two windows, and how many of the question's words are there at all.

    One frequency per word is summed over the word and those of like meaning, and saturates once. A kind is
    mostly there where something of it is, and the words for an attribute are where it is told.
    """
    n = len(index)
    totals = {radius: np.zeros(n) for radius in RADII}
    nearby, whole, unseen = np.zeros(n), 0.0, 0.0
    theirs, by_assistant = np.zeros(n), index.by_assistant > 0
    attests = _attests(index, question)
    of_question = list(_matched(index, question))
    for word in chain(of_question, _codes(index, question)):
        whole += word.weight
        if _coined_by(by_assistant, word, index):
            there, _ = index.windows[0].spread(word.exact, np.ones(len(word.exact)))
            theirs[np.unique(there)] += word.weight
        rows, frequencies, likeness, idf = word.rows, word.frequencies, word.likeness, word.idf
        if len(telling_rows) and word.term in question.attribute_terms:
            idf = inverse_frequency(len(np.union1d(word.exact, telling_rows)), n)
            rows = np.concatenate([rows, telling_rows])
            frequencies = np.concatenate([frequencies, np.ones(len(telling_rows))])
            likeness = np.concatenate([likeness, np.ones(len(telling_rows))])
        elif things and word.term in things.terms:
            rows = np.concatenate([rows, things.rows])
            frequencies = np.concatenate([frequencies, np.zeros(len(things.rows))])
            likeness = np.concatenate([likeness, np.full(len(things.rows), _OF_KIND)])
            unseen += 0.0 if len(word.exact) else word.weight * (1 - _OF_KIND)
        else:
            unseen += 0.0 if len(word.exact) else word.weight
        by_people = attests[rows]
        there, likeness = index.windows[2].spread(rows[by_people], likeness[by_people])
        nearby[there] += word.weight * np.minimum(likeness, 1)
        for radius in RADII:
            window = index.windows[radius]
            there, inside = window.spread(rows, frequencies)
            totals[radius][there] += idf * saturated(inside, window.relative_lengths[there])
    whole = max(whole, 1e-9)
    names = ("lexical", "lexical_2", "lexical_5")
    values = {name: totals[radius].astype(np.float32) for name, radius in zip(names, RADII, strict=True)}
    known = sum(bool(len(word.exact)) for word in of_question) / max(len(of_question), 1)
    return values, _WordsFound(
        (nearby / whole).astype(np.float32), unseen / whole, known, (theirs / whole).astype(np.float32)
    )


def _coined_by(machines: Mask, word: _Matched, index: UnitIndex) -> bool:
    """Whether machines alone ever said an identifier, or a word that means nothing to the embedder."""
    if not len(word.exact) or not machines[word.exact].all():
        return False
    return word.form is None or index.is_coined(word.form)


def _attests(index: UnitIndex, question: Question) -> Mask:
    """(n,) which units bear witness to what was said: people's, where somebody asks about themselves.

    What an assistant goes on about, of blood types say, is no sign that the user has told his own. "Who is
    Sandra?" is answered though the assistant alone spoke of her.
    """
    people = index.by_assistant == 0
    theirs = question.asks_own and not question.asks_assistant and people.any()
    return people if theirs else np.ones(len(index), dtype=bool)


def _postings(index: UnitIndex, same: Sequence[str]) -> tuple[Ints, Doubles]:
    """The rows that have any of these terms, rising, and how often each has them."""
    if len(same) == 1:
        return index.lexical.postings(same[0])
    parts = [index.lexical.postings(term) for term in same]
    rows, places = np.unique(np.concatenate([rows for rows, _ in parts]), return_inverse=True)
    counts = np.zeros(len(rows))
    np.add.at(counts, places, np.concatenate([counts for _, counts in parts]))
    return rows, counts


def _clues(index: UnitIndex, question: Question) -> dict[str, Floats]:
    """What speaker, time and form say, whatever the words."""
    speaker, date, same_day = (np.zeros(len(index), dtype=np.float32) for _ in range(3))
    for name in question.speakers:
        speaker[index.speakers.get(name, [])] = 1  # who may have been forgotten since the question was read
    for first, last in question.days:
        then = (index.days >= first) & (index.days <= last)
        after = (index.days > last) & (index.days <= last + AFTER_DAYS)
        long = last - first >= LONG_DAYS
        date = np.maximum(date, then + after * np.float32(0.5 if long else 1.0))
        if not long:
            same_day[then] = 1
            for row, first_named, last_named in index.named_days:
                if first_named >= first and last_named <= last:
                    same_day[row] = 1
    tells = np.maximum.reduce(
        [
            index.time_words * np.float32(question.asks_when),
            index.place_names * np.float32(question.asks_where),
            index.numbers * np.float32(question.asks_how_many),
        ]
    )
    return {
        "speaker": speaker,
        "answers": index.answers,
        "asks": index.asks,
        "proper_nouns": index.proper_nouns,
        "tells": tells,
        "date": np.asarray(date, dtype=np.float32),
        "same_day": same_day,
        "by_assistant": index.by_assistant * np.float32(not question.asks_assistant),
    }


def _confidence(
    index: UnitIndex, question: Question, words: _WordsFound, cosines: Floats, inside: Mask | None
) -> float:
    """How likely memory is to answer; see `confidence`.

    A day or month that memory knows of and hardly a word besides its own is reason enough (1), and so are a
    speaker and no word, and all that was ever spoken of; with words besides they are signs. A question about
    no word at all is none (0). Of one in another language than memory, which knows few of its words, neither
    words nor vectors say anything for or against: UNTOLD.
    """
    if inside is not None and not inside.any():
        return 0.0
    of_day = any(last - first < 31 and index.knows_of(first, last) for first, last in question.days)
    if of_day and len(question.terms) <= _FEW_TERMS:
        return 1.0
    if not question.terms:
        return 1.0 if question.speakers or question.asks_overview else 0.0
    mean = float(cosines.sum()) / (len(cosines) + SILENT)
    nearby = words.covered_nearby
    if inside is not None:
        nearby, cosines = nearby[inside], cosines[inside]
    nearness = float(cosines.max()) - mean
    if question.is_foreign and words.known <= _FEW_KNOWN:
        return UNTOLD
    by_people: float = int(np.count_nonzero(index.by_assistant == 0)) or len(index)
    if is_unspaced(question.subject):  # bigrams are near each other however few they are
        by_people = math.inf
    of_speaker = bool(question.speakers) and len(question.terms) == 1
    beside: Literal["day", "speaker"] | None = "day" if of_day else "speaker" if of_speaker else None
    return Signs(float(nearby.max()), nearness, words.unseen, by_people, beside).confidence()


def _sample(index: UnitIndex) -> str:
    """Some of what memory has, by which its language is told."""
    rows = np.linspace(0, len(index) - 1, num=min(len(index), _LOOKED_AT)).astype(int)
    return "\n".join(index.units[row].text[:_OF_EACH] for row in rows.tolist())


def _sum(parts: Iterable[Floats]) -> Floats:
    return np.asarray(sum(parts), dtype=np.float32)


def best_first(
    scores: Floats,
    room_tokens: float,
    index: UnitIndex,
    inside: Mask | None = None,
    assistant: AssistantShare | None = None,
) -> list[int]:
    """Rows by falling score, ties in their order, until they fill the room; one at least.

    With `assistant`, what people say and what assistants say are ranked apart, and take turns.
    """
    rows = np.arange(len(scores)) if inside is None else np.flatnonzero(inside)
    if assistant is None or not index.by_assistant[rows].any():
        return list(_falling(scores, room_tokens, index, rows))
    answers = index.by_assistant[rows] > 0
    people = _falling(scores, room_tokens, index, rows[~answers])
    assistants = _falling(scores, room_tokens, index, rows[answers])
    return _by_turns(people, assistants, scores, room_tokens, index, assistant)


def _falling(scores: Floats, room_tokens: float, index: UnitIndex, rows: Ints) -> list[int]:
    taken: list[int] = []
    for row in _highest(scores, rows, int(room_tokens) // _LEAST_TOKENS + 2).tolist():
        taken.append(row)
        room_tokens -= index.units[row].tokens
        if room_tokens < 0:
            break
    return taken


def _by_turns(
    people: Sequence[int],
    assistants: Sequence[int],
    scores: Floats,
    room_tokens: float,
    index: UnitIndex,
    share: AssistantShare,
) -> list[int]:
    """One ranking of two: an assistant's unit comes when it is the better one, or its share has room."""
    waiting = list(reversed(assistants))
    taken: list[int] = []
    tokens = answered = 0
    for row in people:
        while waiting and tokens <= room_tokens:
            answer, size = waiting[-1], index.units[waiting[-1]].tokens
            if scores[answer] <= scores[row] and answered + size > share.of(tokens):
                break
            taken.append(waiting.pop())
            answered += size
            tokens += size
        if tokens > room_tokens:
            return taken
        taken.append(row)
        tokens += index.units[row].tokens
    while waiting and tokens <= room_tokens:
        tokens += index.units[waiting[-1]].tokens
        taken.append(waiting.pop())
    return taken
