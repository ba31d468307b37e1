"""The naive systems that stand beside the engine: BM25, dense, their sum, naive RAG, full context.

They rank on their own (nothing of the engine's ranking is used) but are rendered by the engine's rendering
and counted by its tokenizer, so that a token is the same token for everybody.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from zibaldone.bench.base import ContextUnit, Equipment, RecalledContext, System
from zibaldone.core import Evidence, Message
from zibaldone.models.base import Vectors
from zibaldone.rendering import OMISSION, header, in_order, line
from zibaldone.text.sentences import passages
from zibaldone.text.words import terms

Scores = NDArray[np.float64]  # (units,), higher is better

RAG_CHUNK_TOKENS = 128
RAG_TOP = 20
RAG_KEPT = 1 / 3  # LLMLingua-2's rate
_LINE_BREAK, _AROUND_HEADER, _FIRST_YEAR = 1, 2, 5  # tokens; the exact count has the last word
_K1, _B = 1.5, 0.75


class _Terms:
    """BM25 over stemmed words, whole collection at once (k1 = 1.5, b = 0.75)."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._postings: dict[str, list[tuple[int, int]]] = {}
        lengths = []
        for i, text in enumerate(texts):
            of_text = terms(text)
            lengths.append(len(of_text))
            for term, count in Counter(of_text).items():
                self._postings.setdefault(term, []).append((i, count))
        size = np.asarray(lengths, dtype=np.float64)
        self._norm = _K1 * (1 - _B + _B * size / max(size.mean(), 1.0)) if len(size) else size

    def scores(self, query: str) -> Scores:
        """0 without a common term."""
        total = np.zeros(len(self._norm))
        for term in set(terms(query)):
            if postings := self._postings.get(term):
                rows, counts = np.asarray(postings).T
                idf = np.log1p((len(total) - len(rows) + 0.5) / (len(rows) + 0.5))
                total[rows] += idf * counts * (_K1 + 1) / (counts + self._norm[rows])
        return total


@dataclass(frozen=True, slots=True)
class _Loaded:
    """One user's conversation in units, ready to be ranked."""

    units: tuple[Evidence, ...]  # in an order that settles ties
    headers: tuple[int, ...]  # tokens of each one's header, without its year
    terms: _Terms
    vectors: Vectors  # (units, d); empty where no vector is asked for

    def bm25(self, question: str, tools: Equipment) -> Scores:  # noqa: ARG002
        return self.terms.scores(question)

    def dense(self, question: str, tools: Equipment) -> Scores:
        """Cosine."""
        if not len(self.vectors):
            return np.zeros(len(self.units))
        return np.asarray(self.vectors @ tools.embedder.embed([question])[0], dtype=np.float64)

    def sum(self, question: str, tools: Equipment) -> Scores:
        """Each in standard deviations over the conversation."""
        return _z(self.bm25(question, tools)) + _z(self.dense(question, tools))


@dataclass(frozen=True, slots=True)
class BaselineRanking:
    """How a baseline cuts a conversation, scores the units and which of them may be taken."""

    score: Callable[[_Loaded, str, Equipment], Scores]
    cut: Callable[[Sequence[Message], Equipment], list[Evidence]]
    embeds: bool = True
    above: float = -np.inf  # the score
    top: int | None = None
    roles: frozenset[str] | None = None  # whose messages it knows; None: everybody's
    keeps: float = 1.0  # share of a unit's words that is left of it


class RankedBaseline:
    """Rank every unit of a user's conversation; take from the best down whatever still fits."""

    budgeted = True

    def __init__(self, name: str, ranking: BaselineRanking, tools: Equipment) -> None:
        self.name, self._ranking, self._tools = name, ranking, tools
        self._loaded: dict[str, _Loaded] = {}

    def load(self, user: str, messages: Sequence[Message]) -> None:
        roles = self._ranking.roles
        known = [message for message in messages if roles is None or message.role in roles]
        units = self._ranking.cut(known, self._tools)
        texts = [_line(unit) for unit in units]
        headers = [header(unit.time.date(), unit.time.date()) for unit in units]
        empty = np.zeros((0, 0), dtype=np.float32)
        vectors = self._tools.embedder.embed(texts) if self._ranking.embeds and texts else empty
        if self._ranking.keeps < 1:
            units = _pruned(units, self._ranking.keeps, self._tools)
        self._loaded[user] = _Loaded(
            units=tuple(units),
            headers=tuple(self._tools.tokenizer.count(headers)),
            terms=_Terms(texts),
            vectors=vectors,
        )

    def recall(
        self, user: str, question: str, budget_tokens: int, now: datetime | None = None
    ) -> RecalledContext:
        del now  # naive: time means nothing to it
        loaded = self._loaded[user]
        scores = self._ranking.score(loaded, question, self._tools)
        order = np.argsort(-scores, kind="stable")[: self._ranking.top]
        candidates = [int(i) for i in order if scores[i] > self._ranking.above]
        return _fill(loaded, candidates, budget_tokens, self._tools)

    def close(self) -> None:
        self._loaded.clear()


class FullContext:
    """Everything, never cut: the ceiling of recall and of cost."""

    name = "full"
    budgeted = False

    def __init__(self, tools: Equipment) -> None:
        self._tools = tools
        self._contexts: dict[str, RecalledContext] = {}

    def load(self, user: str, messages: Sequence[Message]) -> None:
        """Render once; it is the same for every question."""
        turns = in_order(_turns(messages, self._tools))
        text = _rendered(turns)
        units = tuple(ContextUnit(turn.text, turn.session, rank) for rank, turn in enumerate(turns, start=1))
        self._contexts[user] = RecalledContext(text, units, self._tools.count_tokens(text))

    def recall(
        self, user: str, question: str, budget_tokens: int, now: datetime | None = None
    ) -> RecalledContext:
        del question, budget_tokens, now
        return self._contexts[user]

    def close(self) -> None:
        self._contexts.clear()


def _fill(loaded: _Loaded, candidates: list[int], budget_tokens: int, tools: Equipment) -> RecalledContext:
    """Greedy by rank: what does not fit is passed over. The whole text is counted before it is given."""
    chosen: list[Evidence] = []
    left, days = budget_tokens - _FIRST_YEAR, set[tuple[str, date]]()
    for i in candidates:
        unit = loaded.units[i]
        day = (unit.session, unit.time.date())
        cost = unit.tokens + _LINE_BREAK + (0 if day in days else loaded.headers[i] + _AROUND_HEADER)
        if cost <= left:
            left -= cost
            chosen.append(unit)
            days.add(day)
    while True:
        text = _rendered(in_order(chosen))
        tokens = tools.count_tokens(text)
        if tokens <= budget_tokens or not chosen:
            break
        chosen.pop()
    ranks = {(unit.sources, unit.place): rank for rank, unit in enumerate(chosen, start=1)}
    units = (ContextUnit(u.text, u.session, ranks[u.sources, u.place]) for u in in_order(chosen))
    return RecalledContext(text, tuple(units), tokens)


def _rendered(units: Sequence[Evidence]) -> str:
    """As the engine renders, but for chunks: they are rendered lines already, and stay as they are."""
    text, before = "", None
    for unit in units:
        day, last_day = unit.time.date(), before.time.date() if before else None
        if before is None or before.session != unit.session or last_day != day:
            text += "\n" * bool(before) + header(day, last_day) + "\n"
        elif before.sources == unit.sources:
            text += " " if before.place + len(before.text) + 2 >= unit.place else f" {OMISSION} "
        else:
            text += "\n"
        text += _line(unit)
        before = unit
    return text


def _line(unit: Evidence) -> str:
    return line(unit.speaker, unit.text) if unit.speaker else unit.text


def _turns(messages: Sequence[Message], tools: Equipment) -> list[Evidence]:
    counts = tools.tokenizer.count([line(m.speaker, m.content) for m in messages])
    return [
        _evidence(message.content, [message], tokens, speaker=message.speaker)
        for message, tokens in zip(messages, counts, strict=True)
    ]


def _chunks(messages: Sequence[Message], tools: Equipment) -> list[Evidence]:
    """Chunks of 128 tokens, cut at sentence borders from each session's rendered text."""
    sessions: dict[str, list[Message]] = {}
    for message in messages:
        sessions.setdefault(message.session, []).append(message)
    chunks = []
    for session in sessions.values():
        lines = [line(message.speaker, message.content) for message in session]
        ends = list(itertools.accumulate(len(text) + 1 for text in lines))
        text = "\n".join(lines)
        spans = passages(text, RAG_CHUNK_TOKENS, tools.tokenizer.count)
        counts = tools.tokenizer.count([text[a:b] for a, b in spans])
        for (start, end), tokens in zip(spans, counts, strict=True):
            inside = session[bisect_right(ends, start) : bisect_right(ends, end - 1) + 1]
            chunks.append(_evidence(text[start:end], inside, tokens, place=start))
    return chunks


def _pruned(units: Sequence[Evidence], keeps: float, tools: Equipment) -> list[Evidence]:
    """Each with the rarest of its words, in their order: what pruning does to context, whatever is asked.

    xMemory prunes with LLMLingua-2, a model; here a word weighs as much as it is rare in the conversation.
    """
    df = Counter(term for unit in units for term in set(terms(unit.text)))
    texts = []
    for unit in units:
        spoken = unit.text.split()
        weights = [max((1 / df[term] for term in terms(word)), default=0.0) for word in spoken]
        order = sorted(range(len(spoken)), key=lambda place: -weights[place])
        left = sorted(order[: max(1, round(keeps * len(spoken)))])
        texts.append(" ".join(spoken[place] for place in left))
    counts = tools.tokenizer.count(texts)
    return [replace(unit, text=text, tokens=n) for unit, text, n in zip(units, texts, counts, strict=True)]


def _evidence(
    text: str, sources: Sequence[Message], tokens: int, *, speaker: str | None = None, place: int = 0
) -> Evidence:
    first = sources[0]
    assert first.time is not None, "the importers give every message of a benchmark a time"
    return Evidence(
        text=text,
        speaker=speaker,
        sources=tuple(message.seq for message in sources),
        time=first.time,
        session=first.session,
        view="baseline",
        kind="turn",
        score=0.0,  # ranks are kept beside it
        tokens=tokens,
        place=place,
    )


def _z(scores: Scores) -> Scores:
    spread = scores.std() if len(scores) else 0.0
    return (scores - scores.mean()) / spread if spread else scores * 0.0


_RANKINGS = {
    "bm25": BaselineRanking(_Loaded.bm25, _turns, embeds=False, above=0.0),  # a turn with a common word
    "dense": BaselineRanking(_Loaded.dense, _turns),
    "zsum": BaselineRanking(_Loaded.sum, _turns),
    "rag": BaselineRanking(_Loaded.dense, _chunks, top=RAG_TOP),
    "rag-pruned": BaselineRanking(_Loaded.dense, _chunks, top=RAG_TOP, keeps=RAG_KEPT),
    "bm25-user": BaselineRanking(_Loaded.bm25, _turns, embeds=False, above=0.0, roles=frozenset({"user"})),
}
BASELINES: Mapping[str, Callable[[Equipment], System]] = {
    **{name: partial(RankedBaseline, name, ranking) for name, ranking in _RANKINGS.items()},
    "full": FullContext,
}
