"""Conversations laid out for ranking with many weights: every question's features are worked out once.

From the ranking on, all is the engine's own when it asks the messages view alone: its order, the assistant's
share, choice, budget and floor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np

from zibaldone.choosing import choose
from zibaldone.comparing.evidence import is_found, share_found
from zibaldone.comparing.listwise import Contests, contests
from zibaldone.comparing.questions import OwnQuestion
from zibaldone.comparing.systems import units_of
from zibaldone.core import Evidence, Message, Scope, Trace
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.models.embedding import embed
from zibaldone.models.static import shared_static_embedder
from zibaldone.planning import plan
from zibaldone.recall import DEFAULT_FLOOR, in_period_first
from zibaldone.recalled import Recall
from zibaldone.search.lexical import Doubles, Floats, Ints
from zibaldone.search.ranker import (
    FEATURES,
    AssistantShare,
    TalkWeights,
    Weights,
    features,
    read_question,
    score,
)
from zibaldone.search.thesaurus import Thesaurus
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.base import Query
from zibaldone.views.messages import MessagesView
from zibaldone.views.toolkit import evidence_of, question_vector, rows_offered, to_units

MOST_OF_ASSISTANT = 2000  # units of an assistant in a contest; more are stood for by a sample
MOST_OF_PEOPLE = 20_000  # likewise
_SEED = 0  # of the sample


@dataclass(frozen=True, slots=True)
class Posed:
    """One question, its conversation's units already looked at."""

    question: OwnQuestion
    now: datetime
    relevant: tuple[int, ...]  # rows of units that answer it
    features: Floats  # (n, d), columns in the order of FEATURES
    confidence: float
    assistant: AssistantShare


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation: its units, its questions, and what is learnt from them."""

    with_assistant: bool  # whether an assistant takes part
    index: UnitIndex
    units: tuple[Evidence, ...]  # (n,), in the order of the index
    posed: tuple[Posed, ...]
    competing: Ints  # rows that compete with the relevant ones,
    stand_for: Floats  # and for how many units each of them stands
    contests: Contests
    of_people: Contests | None  # of what people say alone; None where nothing of it is relevant


def judge(
    talk: Talk, posed: Posed, weights: TalkWeights, budget_tokens: int, count: Callable[[str], int]
) -> float:
    """The share of what the question wants that the engine recalls when it ranks with these weights."""
    if posed.confidence < DEFAULT_FLOOR:
        return 0.0
    index = talk.index
    scores = np.sum(posed.features * weights.of_units(index), axis=1)
    query = Query(posed.question.text, Scope("me"), budget_tokens, posed.now)
    offered = [talk.units[row] for row in rows_offered(index, scores, posed.assistant, query)]
    planned = plan(query.text, budget_tokens)
    chosen = choose(in_period_first(offered, query, planned.aim), query, count, planned)
    trace = Trace((), (), posed.confidence, DEFAULT_FLOOR, 0.0)
    recall = Recall(query.text, "", chosen.tokens, tuple(chosen.evidence), (), trace)
    return share_found(posed.question.evidence, units_of(recall))


def to_vector(weights: Weights) -> Doubles:
    """(d,) in the order of FEATURES."""
    return np.array([getattr(weights, name) for name in FEATURES])


class LineCounter:
    """Counts the tokens of a text line by line and each line once: the same lines come again and again.

    Exact, because no token of the embedded tokenizer holds a line break.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._first = lru_cache(maxsize=1 << 16)(lambda line: self._count(f"{line}\n") - 1)
        self._other = lru_cache(maxsize=1 << 16)(
            lambda line: self._count(f"\n{line}") - self._count("\n") + 1
        )

    def __call__(self, text: str) -> int:
        first, *others = text.split("\n")
        return self._first(first) + sum(map(self._other, others)) if text else 0

    def _count(self, text: str) -> int:
        return self._tokenizer.count([text])[0]


def read_talk(
    messages: Sequence[Message],
    questions: Sequence[OwnQuestion],
    embedder: Embedder,
    *,
    synonyms: bool = True,
) -> Talk | None:
    """Of the questions that have evidence; None when there are none."""
    words = shared_static_embedder()
    cuts = MessagesView(embedder, words, words).prepare(messages).cuts
    units = to_units(messages, cuts)
    index = UnitIndex(embedder.dimension, words)
    index.extend(units, embed(embedder, [unit.text for unit in units]))
    if not synonyms:
        index.thesaurus = Thesaurus(words)  # an empty one
    posed = [
        _ask(index, question, rows, embedder)
        for question in questions
        if question.evidence and (rows := _relevant(index, question))
    ]
    if not posed:
        return None
    relevant = sorted({row for question in posed for row in question.relevant})
    competing, stand_for = _competing(index, relevant)
    people = np.flatnonzero(index.by_assistant == 0)
    return Talk(
        with_assistant=bool(index.with_assistant.any()),
        index=index,
        units=tuple(evidence_of(unit, MessagesView.name) for unit in units),  # only ranks matter from here on
        posed=tuple(posed),
        competing=competing,
        stand_for=stand_for,
        contests=contests_of(posed, competing, stand_for),
        of_people=None if set(relevant).isdisjoint(people.tolist()) else contests_of(posed, people),
    )


def contests_of(
    posed: Sequence[Posed],
    competing: Ints,
    stand_for: Floats | None = None,
    columns: Callable[[Posed], Floats] = lambda question: question.features,
) -> Contests:
    """Of the competing rows, for the questions of which some are relevant.

    `columns` gives (n, any) of all rows; as a rule the features.
    """
    place = {row: at for at, row in enumerate(competing.tolist())}
    rows = [[place[row] for row in question.relevant if row in place] for question in posed]
    return contests(
        [columns(question)[competing] for question, some in zip(posed, rows, strict=True) if some],
        [some for some in rows if some],
        stand_for,
    )


def _ask(index: UnitIndex, wanted: OwnQuestion, relevant: Sequence[int], embedder: Embedder) -> Posed:
    now = wanted.now or max(unit.time for unit in index.units)
    question = read_question(wanted.text, now.date(), index)
    vector, _ = question_vector(embedder, question)
    columns, confidence = features(index, question, vector)
    share = score(index, question, vector).assistant
    matrix = np.stack([columns[name] for name in FEATURES], axis=1)
    return Posed(wanted, now, tuple(relevant), matrix, confidence, share)


def _relevant(index: UnitIndex, wanted: OwnQuestion) -> list[int]:
    """The units of the evidence's messages, those that hold it whole where there are any."""
    rows = index.rows_of(set(wanted.seqs))
    holding = [
        row for row in rows if any(is_found(some, [index.units[row].text]) for some in wanted.evidence)
    ]
    return holding or list(rows)


def _competing(index: UnitIndex, relevant: Sequence[int]) -> tuple[Ints, Floats]:
    """Rows of a contest, and for how many units each stands: all but some of a long chat."""
    stand_for = np.ones(len(index), dtype=np.float32)
    always = np.zeros(len(index), dtype=bool)
    always[relevant] = True
    by_assistant = index.by_assistant > 0
    for others, most in (
        (np.flatnonzero(by_assistant & ~always), MOST_OF_ASSISTANT),
        (np.flatnonzero(~by_assistant & ~always), MOST_OF_PEOPLE),
    ):
        if len(others) > most:
            drawn = np.random.default_rng(_SEED).choice(others, most, replace=False)
            always[drawn] = True
            stand_for[drawn] = len(others) / most
        else:
            always[others] = True
    rows = np.flatnonzero(always)
    return rows, stand_for[rows]
