"""The contracts of embedders, tokenizers, rerankers and chat models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    The same text gives the same vector, whatever else is in the call. Does not change the texts.
    """

    @property
    def name(self) -> str:
        """Identifies model and version: vectors of different names are never compared."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, rows of unit length; a zero row for a text that says nothing.

        Raises ModelFailed when the model does not answer.
        """


class Tokenizer(Protocol):
    """Counts tokens; budgets and figures are in its tokens."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without any that mark beginning or end."""


@runtime_checkable
class WordEmbedder(Embedder, Tokenizer, Protocol):
    """An embedder and tokenizer that is fast enough to be asked for single words."""

    def like(self, word: str) -> list[tuple[str, float]]:
        """Words that mean about the same, in lower case, with their cosines; the word itself may be one."""


@runtime_checkable
class Reranker(Protocol):
    """Scores how well texts answer a question. Called without any lock or transaction."""

    @property
    def name(self) -> str:
        """The name shown in a trace."""

    @property
    def batch(self) -> int:
        """Texts per call. The deadline is checked between calls."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one finite number per text, higher is better, comparable among calls of one question.

        Raises ModelFailed when the model does not answer. One that waits for a server ends by itself.
        """


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a prompt."""

    role: str  # "system", "user" or "assistant"
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a chat model."""

    task: str  # "<view>.<prompt>", such as "chunks.compress": what meters and recordings call it
    turns: tuple[Turn, ...]
    schema: Mapping[str, Any] | None = field(default=None, hash=False)  # the answer's JSON schema; None: text
    max_tokens: int | None = None  # of the answer
    temperature: float = 0.0
    logprobs: int | None = None  # log-probabilities wanted, with so many alternatives per token
    timeout_s: float | None = None  # for one attempt, where that is shorter than the model's own
    max_attempts: int | None = None  # 1: who asks cannot wait for another try; None: the model's own
    # In all, those included that are sent again without a part that the server does not take.
    max_requests: int | None = None


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One token of an answer, with its natural-log probability."""

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()  # (token, logprob), the likeliest first


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The answer of a chat model, usable or not."""

    text: str
    finish: str = "stop"  # "stop"; "length": cut off; "refusal": the text says why
    prompt_tokens: int | None = None  # as the server counted; None: it did not say
    completion_tokens: int | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None  # None: not asked for, or the server has none
    attempts: int = 1  # requests that were sent, retries included


@runtime_checkable
class ChatModel(Protocol):
    """Answers questions. Safe to share among threads."""

    @property
    def name(self) -> str:
        """Identifies the model: kept with whatever it produced."""

    def chat(self, request: ChatRequest) -> ChatReply:
        """One answer; a bad one (cut off, refused, not JSON) comes back as it is, for the asker to judge.

        Raises ModelUnavailable when no answer can be had now, after retries, and ModelFailed when the server
        will never answer this request; both say how many `requests` were sent.
        """


def storable(text: str) -> str:
    """Replace lone surrogates, which JSON can carry but no file or database accepts."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_number(value: object) -> int | None:
    """Return a count that a server sent; None if it is not one."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if good else None  # type: ignore[return-value] # it is an int
