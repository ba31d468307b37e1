"""Estimate the cost of a rebuild by a dry run on the user's newest messages.

The view prepares them as in a rebuild, and the result is dropped. Its model calls are counted and answered
offline, so the prompts are the real ones. Not included: repairs of malformed answers, prompts that grow with
longer answers than the offline ones, and calls of housekeeping, such as which topics to merge.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pydantic import BaseModel

from zibaldone import log
from zibaldone.log.filters import Narrowing
from zibaldone.models.asker import OFFLINE, Asker, TaskAnswer
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.meter import Meter, Prices
from zibaldone.models.task import Task
from zibaldone.storage.database import Database
from zibaldone.views.base import PrepareContext, View

R = TypeVar("R", bound=BaseModel)
REHEARSED_MESSAGES = 512


@dataclass(frozen=True, slots=True)
class RebuildEstimate:
    """Expected use of models by a rebuild."""

    user: str
    view: str
    messages: int  # to be read
    rehearsed: int  # messages measured; the figures are scaled from them to all
    calls: int  # of a chat model; 0 without one
    prompt_tokens: int
    completion_tokens: int
    embedded_texts: int
    embedded_tokens: int
    money: float | None  # None without prices


class CountingAsker(Asker):
    """An asker that answers offline and counts the tokens that a model would have been sent."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(None, Meter(None), tokenizer)
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self.calls = self.prompt_tokens = self.completion_tokens = 0

    @property
    def has_model(self) -> bool:
        """True, so that views ask what they would ask a model."""
        return True

    def ask(self, task: Task[R], **_: object) -> TaskAnswer[R]:
        """Return the offline answer."""
        answer = task.offline()
        prompt = sum(self._tokenizer.count([turn.content for turn in task.turns()]))
        (completion,) = self._tokenizer.count([answer.model_dump_json()])
        with self._lock:
            self.calls += 1
            self.prompt_tokens += prompt
            self.completion_tokens += completion
        return TaskAnswer(answer, "", OFFLINE, 1, prompt, completion)


class CountingEmbedder:
    """An embedder that passes on to a free one and counts the texts."""

    def __init__(self, embedder: Embedder, tokenizer: Tokenizer) -> None:
        self._embedder, self._tokenizer = embedder, tokenizer
        self.name, self.dimension = embedder.name, embedder.dimension
        self._lock = threading.Lock()
        self.texts = self.tokens = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32."""
        with self._lock:
            self.texts += len(texts)
            self.tokens += sum(self._tokenizer.count(list(texts)))
        return self._embedder.embed(texts)


def estimate(
    database: Database,
    user: str,
    make: Callable[[Embedder, Asker], View],
    free: Embedder,
    tokenizer: Tokenizer,
    *,
    asks_model: bool,
    prices: Prices | None = None,
) -> RebuildEstimate:
    """Run the view of `make(embedder, asker)` with counting models; `free` stands in for the embedder."""
    asker = CountingAsker(tokenizer) if asks_model else Asker(None, Meter(None), tokenizer)
    embedder = CountingEmbedder(free, tokenizer)
    view = make(embedder, asker)
    embedder.texts = embedder.tokens = 0
    with database.read(user) as connection:
        total = log.count(connection, user)
        last = log.select_messages(connection, user, Narrowing(), limit=REHEARSED_MESSAGES, newest=True)
    spoken = [message for message in last if not message.is_noise]
    if spoken:
        view.prepare(spoken, PrepareContext(user, None, partial(database.read, user)))
    share = total / len(last) if last else 0.0
    chat = [getattr(asker, name, 0) for name in ("calls", "prompt_tokens", "completion_tokens")]
    calls, prompt, completion, texts, embedded = (
        math.ceil(count * share) for count in (*chat, embedder.texts, embedder.tokens)
    )
    money = None if prices is None else prices.of_tokens(prompt, completion, embedded)
    return RebuildEstimate(
        user, view.name, total, len(last), calls, prompt, completion, texts, embedded, money
    )
