"""What data sets and systems agree on: examples, contexts, and the two contracts between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from zibaldone.core import Message
from zibaldone.models.base import ChatModel, Embedder, Tokenizer


@dataclass(frozen=True, slots=True)
class Example:
    """One question about one user's conversation, and what a good context for it holds."""

    id: str
    user: str  # whose messages answer it: `DataSet.messages(user)`
    question: str
    answer: str | None  # the gold answer; None when there is none to cover
    category: str
    evidence: tuple[str, ...] = ()  # the texts of the turns that answer it
    evidence_sessions: tuple[str, ...] = ()  # the sessions that answer it, where a data set names them
    unknown: bool = False  # memory does not hold it: the right answer says so
    answerable: bool = True  # False: it is left out of every figure of recall
    faulted: bool = False  # a public audit says that its gold answer or its evidence is wrong
    now: datetime | None = None  # when it is asked
    nuggets: tuple[str, ...] = ()  # what a rubric wants an answer to say, where a data set has one
    evidence_seqs: tuple[int, ...] = ()  # of the messages that hold the evidence, where they are known by it


class DataSet(Protocol):
    """Conversations and questions."""

    name: str
    categories: tuple[str, ...]  # in the order in which a table shows them
    has_faults: bool  # whether an audit file says which questions are faulted
    examples: list[Example]  # in the order of the file; those of one user stand together

    def messages(self, user: str) -> tuple[Message, ...]:
        """The user's conversation in its order, every message with a session and a time."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a chat model was used for."""

    calls: int = 0
    tokens: int = 0  # of prompts and answers


@dataclass(frozen=True, slots=True)
class ContextUnit:
    """One intact piece of a recalled text."""

    text: str
    session: str
    rank: int  # from 1, best first, among the units of its context


@dataclass(frozen=True, slots=True)
class RecalledContext:
    """What a system gives a reader for one question."""

    text: str
    units: tuple[ContextUnit, ...]  # in the order of the text
    tokens: int  # of the text
    cost: Cost = Cost()


class System(Protocol):
    """Something that recalls: the engine, or a baseline beside it.

    An instance is made for a run and closed after it. `load` does all work that can be done before a
    question is known, so that a timed `recall` is warm.
    """

    name: str
    budgeted: bool  # False: it ignores the budget and is asked once per question

    def load(self, user: str, messages: Sequence[Message]) -> Cost | None:
        """Take in the whole conversation of a user; what that cost, when a model can be asked."""

    def recall(
        self, user: str, question: str, budget_tokens: int, now: datetime | None = None
    ) -> RecalledContext:
        """The context for the question in at most `budget_tokens` tokens."""

    def close(self) -> None:
        """Give everything back."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """What every system of a run shares, so that vectors and token counts compare."""

    embedder: Embedder
    tokenizer: Tokenizer
    folder: Path  # for a system that keeps files; removed after the run
    floor: float | None = None  # the engine's confidence floor; None: its default
    chat: ChatModel | None = None  # what views may ask; None: they work offline
    key: bytes | None = None  # of folders that it makes, where what it reads is encrypted

    def count_tokens(self, text: str) -> int:
        return self.tokenizer.count([text])[0]
