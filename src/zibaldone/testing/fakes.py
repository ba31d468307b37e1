"""A clock that stands still, an embedder without a model, a chat model that says what it was told to."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from zibaldone.errors import ModelFailed
from zibaldone.models.base import ChatReply, ChatRequest, Vectors


class FrozenClock:
    """A clock that only moves when it is told to: `Config(clock=FrozenClock())`."""

    def __init__(self, now: datetime = datetime(2024, 3, 1, 12, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now

    def tick(self, by: timedelta) -> None:
        """Move on, or back with a negative step."""
        self.now += by


class HashEmbedder:
    """Hashes words into a few dimensions: needs no file, knows no synonyms, always gives the same."""

    def __init__(self, dimension: int = 64, name: str = "hash") -> None:
        self.name = f"{name}-{dimension}"
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, rows of unit length; a zero row for a text without words."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split():
                digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
                vectors[row, (digest >> 1) % self.dimension] += 1 if digest & 1 else -1
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, norms, out=vectors, where=norms > 0)
        return vectors


Scripted = str | Mapping[str, object] | ChatReply | Exception


class ScriptedModel:
    """A chat model that gives prepared answers: a text, an object (as JSON), a reply, or an error to raise.

    They are taken one by one, or made by a function of the request.
    """

    def __init__(
        self, answers: Sequence[Scripted] | Callable[[ChatRequest], Scripted], name: str = "scripted"
    ) -> None:
        self.name = name
        self.requests: list[ChatRequest] = []  # in the order in which they came
        self.unanswered = 0  # requests for which there was no answer left
        self._answers = answers
        self._lock = threading.Lock()

    def chat(self, request: ChatRequest) -> ChatReply:
        """The next answer. Raises ModelFailed when none is left."""
        with self._lock:
            self.requests.append(request)
            if callable(self._answers):
                answer = self._answers(request)
            elif len(self.requests) > len(self._answers):
                self.unanswered += 1
                raise ModelFailed(f"the script has only {len(self._answers)} answers")
            else:
                answer = self._answers[len(self.requests) - 1]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ChatReply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return ChatReply(text, prompt_tokens=10, completion_tokens=5)
