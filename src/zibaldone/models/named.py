"""Embedders that run on this machine, by the name of their library and of the model.

    fastembed:BAAI/bge-small-en-v1.5                    (extra `fastembed`)
    sentence-transformers:all-MiniLM-L6-v2              (extra `sentence-transformers`)

The library loads the model when the embedder is made, and fetches it first where this machine has not got it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from zibaldone.errors import MissingExtra, ModelFailed
from zibaldone.fork_safety import ForkSafeLock
from zibaldone.models.base import Vectors

Encode = Callable[[list[str]], Any]  # rows of numbers, one for each text


class LibraryEmbedder:
    """A model of one of these libraries. Safe to share among threads, which take turns."""

    def __init__(self, library: str, model: str) -> None:
        """Raises MissingExtra, and ModelFailed for a model that cannot be loaded."""
        self._called = f"{library}:{model}"
        try:
            self._encode = _LIBRARIES[library](model)
        except ImportError as error:
            raise MissingExtra(
                f"no module {error.name or library!r}: pip install 'zibaldone[{library}]'"
            ) from error
        except Exception as error:  # whatever a library raises for a model that it has not got
            raise ModelFailed(f"{self._called!r} cannot be loaded: {error}") from error
        self._lock = ForkSafeLock()  # their tokenizers are no two threads' at once
        self._dimension = int(self._rows(["dimension"]).shape[1])

    @property
    def name(self) -> str:
        """The library, the model and the length of its vectors."""
        return f"{self._called}-{self._dimension}"

    @property
    def dimension(self) -> int:
        """As the model gives them."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, rows of unit length; a zero row for a text of white space."""
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        if not rows:
            return vectors
        raw = self._rows([texts[row] for row in rows])
        norms = np.linalg.norm(raw, axis=1, keepdims=True)
        if raw.shape != (len(rows), self._dimension) or not np.isfinite(norms).all():
            expected = (len(rows), self._dimension)
            raise ModelFailed(f"{self._called!r} gave vectors of shape {raw.shape}; {expected} was expected")
        vectors[rows] = np.divide(raw, norms, out=np.zeros_like(raw), where=norms > 0)
        return vectors

    def _rows(self, texts: list[str]) -> Vectors:
        try:
            with self._lock:
                raw = np.array([np.asarray(row) for row in self._encode(texts)], dtype=np.float32)
        except Exception as error:  # a library's own code
            raise ModelFailed(f"{self._called!r} cannot embed: {error}") from error
        if raw.ndim != 2 or not raw.shape[1]:
            raise ModelFailed(f"{self._called!r} gave no vectors, but an array of shape {raw.shape}")
        return raw


def _fastembed(model: str) -> Encode:
    loaded = import_module("fastembed").TextEmbedding(model_name=model)
    return lambda texts: list(loaded.embed(texts))


def _sentence_transformers(model: str) -> Encode:
    loaded = import_module("sentence_transformers").SentenceTransformer(model)
    return lambda texts: loaded.encode(texts, convert_to_numpy=True, show_progress_bar=False)


_LIBRARIES: Final[dict[str, Callable[[str], Encode]]] = {
    "fastembed": _fastembed,
    "sentence-transformers": _sentence_transformers,
}
LIBRARIES: Final = tuple(_LIBRARIES)
