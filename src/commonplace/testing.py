"""Fakes for tests of what stands on a memory: a clock that stands still, embedders without a model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from commonplace.errors import ModelFailed
from commonplace.models.base import Embedder, Vectors

__all__ = ["FailingEmbedder", "FrozenClock", "HashEmbedder"]


class FrozenClock:
    """A clock that only moves when it is told to: `Memory(path, clock=FrozenClock())`."""

    def __init__(self, now: datetime = datetime(2024, 3, 1, 12, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """What time it is."""
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


class FailingEmbedder:
    """Another embedder, under its own name, that does not answer while `failing` is true."""

    def __init__(self, embedder: Embedder, *, failing: bool = True) -> None:
        self.embedder = embedder
        self.failing = failing
        self.calls = 0  # how often it was asked, in vain or not

    @property
    def name(self) -> str:
        """Of the embedder behind it: vectors from before and after a failure go together."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """Of the embedder behind it."""
        return self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The other embedder's vectors. Raises ModelFailed while `failing`."""
        self.calls += 1
        if self.failing:
            raise ModelFailed("this embedder was told to fail: set failing = False")
        return self.embedder.embed(texts)
