"""Systems that recall: the engine with some of its views, and beside it naive systems that rank on their own.

All are rendered by the engine's rendering and counted by its tokenizer, so that a token is the same token for
everybody.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from zibaldone.api.config import Config
from zibaldone.api.memory import Memory
from zibaldone.core import MACHINES, Evidence, Message
from zibaldone.errors import UnknownName
from zibaldone.models.base import ChatModel, Embedder
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.result import Recall
from zibaldone.search.lexical import Doubles
from zibaldone.text.rendering import in_order, line, render
from zibaldone.text.words import terms

DEFAULT = "zibaldone"  # the engine as it recalls where nothing is chosen
VIEWS = ("messages", "chunks", "topics", "hierarchy")
_BASELINES = ("bm25", "bm25-user", "hybrid", "full")
USER = "me"  # whose memory it is, of every engine
_K1, _B = 1.5, 0.75
_NEIGHBOURS = 0.35  # of the scores of the turns before and after
_HEADER_TOKENS = 8  # more than a header needs


@dataclass(frozen=True, slots=True)
class Recalled:
    """A system's context for one question."""

    text: str
    units: tuple[str, ...]  # intact pieces of it
    tokens: int  # of the text


class System(Protocol):
    """The memory of one user."""

    name: str
    budgeted: bool  # False: it ignores the budget

    def take(self, messages: Sequence[Message]) -> None:
        """Take in the next messages, and do all work that can be done before a question is known."""

    def recall(self, question: str, budget_tokens: int, now: datetime | None = None) -> Recalled:
        """The context for the question in at most `budget_tokens` tokens."""

    def close(self) -> None:
        """Give everything back."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """Parts that the systems of a run share, so that vectors and token counts compare."""

    embedder: Embedder
    folder: Path  # for a system that keeps files
    floor: float | None = None  # the engine's confidence floor; None: its default
    chat: ChatModel | None = None  # what views may ask; None: they work offline
    reranker: str | None = None  # by its name
    key: bytes | None = None  # of folders that it makes, where what it reads is encrypted


def check_systems(names: Sequence[str]) -> tuple[str, ...]:
    """The names themselves; UnknownName when no system has one."""
    for name in names:
        if name not in (*_BASELINES, DEFAULT) and not set(name.split("+")) <= set(VIEWS):
            known = ", ".join((*_BASELINES, DEFAULT, *VIEWS))
            raise UnknownName(f"no system {name!r}: choose from {known}, or views joined by '+'")
    return tuple(names)


def make_system(name: str, tools: Equipment, **settings: Any) -> System:
    """A fresh instance of the named system; `settings` are further arguments of the engine's `Memory`."""
    check_systems([name])
    if name in _BASELINES:
        return Baseline(name, tools)
    return Engine(name, tools, **settings)


class Engine:
    """A memory in a temporary folder, asked for some of its views."""

    budgeted = True

    def __init__(self, name: str, tools: Equipment, **settings: Any) -> None:
        self.name, self._floor = name, tools.floor
        self._views = None if name == DEFAULT else tuple(name.split("+"))
        self._tools, self._config = tools, Config(**settings)
        self._folder = tempfile.mkdtemp(dir=tools.folder)
        self.memory = self.open(tools.chat)

    def open(self, chat: ChatModel | None) -> Memory:
        """Open the folder; `chat` is what views may ask."""
        tools = self._tools
        return Memory(
            self._folder,
            embedder=tools.embedder,
            chat=chat,
            reranker=tools.reranker,
            key=tools.key,
            config=self._config,
        )

    def take(self, messages: Sequence[Message]) -> None:
        self.memory.add([replace(message, seq=0) for message in messages], user=USER)
        if self._views != ("messages",):
            self.memory.maintain(user=USER, views=self._views)

    def recall(self, question: str, budget_tokens: int, now: datetime | None = None) -> Recalled:
        recall = self.memory.recall(
            question,
            user=USER,
            budget_tokens=budget_tokens,
            views=self._views,
            min_confidence=self._floor,
            now=now,
        )
        return Recalled(recall.text, units_of(recall), recall.tokens)

    def close(self) -> None:
        self.memory.close()


def units_of(recall: Recall) -> tuple[str, ...]:
    """Join the passages of each message: they stand in one line of the text."""
    shown: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for evidence in recall.evidence:
        shown.setdefault((evidence.view, evidence.sources), []).append(evidence.text)
    return tuple(map(" ".join, shown.values()))


class Baseline:
    """Ranks whole turns, and takes from the best down whatever still fits.

    `bm25`: stemmed words; `bm25-user`: the same over people's own turns; `full`: everything, never cut.
    `hybrid`, thirty lines that anybody would write: people's own turns by BM25 and cosine, each in standard
    deviations, with something of the turns before and after and a point for a speaker who is named.
    """

    def __init__(self, name: str, tools: Equipment) -> None:
        self.name, self.budgeted, self._embedder = name, name != "full", tools.embedder
        self._turns: list[Evidence] = []
        self._terms: list[Counter[str]] = []
        self._vectors = np.zeros((0, tools.embedder.dimension), dtype=np.float32)
        self._count = shared_static_embedder().count

    def take(self, messages: Sequence[Message]) -> None:
        if self.name in ("bm25-user", "hybrid"):
            messages = [message for message in messages if message.role not in MACHINES]
        counts = self._count([line(message.speaker, message.content) for message in messages])
        self._turns += map(_turn, messages, counts)
        self._terms += (Counter(terms(message.content)) for message in messages)
        if self.name == "hybrid" and messages:
            texts = [message.content for message in messages]
            self._vectors = np.concatenate([self._vectors, self._embedder.embed(texts)])

    def recall(self, question: str, budget_tokens: int, now: datetime | None = None) -> Recalled:
        del now  # naive: time means nothing to it
        if not self.budgeted:
            return self._rendered(self._turns)
        scores = self._hybrid(question) if self.name == "hybrid" else self._bm25(question)
        chosen: list[Evidence] = []
        left = budget_tokens
        for row in np.argsort(-scores, kind="stable"):
            turn = self._turns[row]
            is_new = all((turn.session, turn.time.date()) != (t.session, t.time.date()) for t in chosen)
            cost = turn.tokens + 1 + _HEADER_TOKENS * is_new
            if cost <= left and (scores[row] > 0 or self.name == "hybrid"):
                left -= cost
                chosen.append(turn)
        recalled = self._rendered(chosen)
        while recalled.tokens > budget_tokens and chosen:
            chosen.pop()
            recalled = self._rendered(chosen)
        return recalled

    def close(self) -> None:
        self._turns.clear()

    def _rendered(self, turns: Sequence[Evidence]) -> Recalled:
        text = render(in_order(turns))[0]
        return Recalled(text, tuple(turn.text for turn in turns), self._count([text])[0])

    def _bm25(self, question: str) -> Doubles:
        """0 without a common term."""
        lengths = np.array([turn.total() for turn in self._terms], dtype=np.float64)
        norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0)) if len(lengths) else lengths
        total = np.zeros(len(lengths))
        for term in set(terms(question)):
            counts = np.array([turn[term] for turn in self._terms], dtype=np.float64)
            holding = np.count_nonzero(counts)
            idf = np.log1p((len(counts) - holding + 0.5) / (holding + 0.5))
            total += idf * counts * (_K1 + 1) / (counts + norm)
        return total

    def _hybrid(self, question: str) -> Doubles:
        cosines = np.asarray(self._vectors @ self._embedder.embed([question])[0], dtype=np.float64)
        own = _z(self._bm25(question)) + _z(cosines)
        sessions = np.array([turn.session for turn in self._turns])
        named = [turn.speaker and turn.speaker.lower() in question.lower() for turn in self._turns]
        score = own + np.array(named, dtype=np.float64)
        together = sessions[1:] == sessions[:-1]
        score[1:] += _NEIGHBOURS * own[:-1] * together
        score[:-1] += _NEIGHBOURS * own[1:] * together
        return score


def _turn(message: Message, tokens: int) -> Evidence:
    return Evidence(
        text=message.content,
        speaker=message.speaker,
        sources=(message.seq,),
        time=message.time or datetime(1970, 1, 1, tzinfo=UTC),
        session=message.session,
        view="baseline",
        kind="turn",
        score=0.0,
        tokens=tokens,
    )


def _z(scores: Doubles) -> Doubles:
    spread = scores.std() if len(scores) else 0.0
    return (scores - scores.mean()) / spread if spread else scores * 0.0
