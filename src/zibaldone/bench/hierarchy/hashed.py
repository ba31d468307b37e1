"""A second embedder, unlike the embedded one: it knows letters and no meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.text.words import words

DIMENSION = 256
_LENGTHS = (3, 4)  # letters of an n-gram
_COORDINATES = 4  # that one n-gram is projected to


class HashedEmbedder:
    """Character n-grams of the words, each projected to a few signed coordinates that a hash names."""

    @property
    def name(self) -> str:
        """The lengths of the n-grams are in it."""
        return f"hashed-{'-'.join(map(str, _LENGTHS))}-grams-{DIMENSION}"

    @property
    def dimension(self) -> int:
        """256."""
        return DIMENSION

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 256) float32, rows of unit length; a zero row for a text without a word."""
        rows = np.zeros((len(texts), DIMENSION))
        for row, text in zip(rows, texts, strict=True):
            places = [place for word in words(text) for gram in _grams(word) for place in _projected(gram)]
            np.add.at(row, [at for at, _ in places], [sign for _, sign in places])
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, norms, out=rows, where=norms > 0)
        return rows.astype(np.float32)


def _grams(word: str) -> Iterator[str]:
    marked = f"<{word}>"
    for length in _LENGTHS:
        for start in range(max(1, len(marked) - length + 1)):
            yield marked[start : start + length]


@lru_cache(maxsize=1 << 16)
def _projected(gram: str) -> tuple[tuple[int, float], ...]:
    hashes = (crc32(f"{nth}{gram}".encode()) for nth in range(_COORDINATES))
    return tuple((number % DIMENSION, 1.0 if number >> 31 else -1.0) for number in hashes)
