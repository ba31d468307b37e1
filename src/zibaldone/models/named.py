"""Models that run on this machine by `fastembed`, under its own names (extra `neural`).

    fastembed:BAAI/bge-small-en-v1.5           an embedder
    fastembed:Xenova/ms-marco-MiniLM-L-6-v2    a reranker

The library loads a model when it is made. Where this machine has not got it, it fetches it first, and shows
how far it is; FASTEMBED_CACHE_PATH is where it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from zibaldone.core.fork_safety import ForkSafeLock
from zibaldone.core.validation import shown
from zibaldone.errors import InvalidInput, MissingExtra, ModelFailed
from zibaldone.models.base import Embedder, Reranker, Vectors
from zibaldone.models.embedding import checked

FASTEMBED: Final = "fastembed"
OPENAI: Final = "openai"
_PAIRS = 8  # that a cross-encoder reads between two looks at the time
# A text is not padded to its longest neighbour: on a processor that is three times as fast as 256 together,
# and what else is in the call cannot change its numbers.
_BATCH = 1


class FastEmbedder:
    """An encoder. Safe to share among threads, which take turns."""

    def __init__(self, model: str) -> None:
        """Raises MissingExtra, and ModelFailed for a model that cannot be loaded."""
        self._library = _LoadedModel("fastembed", "TextEmbedding", model)
        self.dimension = int(self._rows(["dimension"]).shape[1])
        self.name = f"{self._library.name}-{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, rows of unit length; a zero row for a text of white space."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        if not rows:
            return vectors
        raw = self._rows([texts[row] for row in rows])
        vectors[rows] = checked(raw, (len(rows), self.dimension), repr(self._library.name))
        return vectors

    def _rows(self, texts: list[str]) -> Vectors:
        rows = self._library.ask(lambda model: model.embed(texts, batch_size=_BATCH))
        raw = np.array(rows, dtype=np.float32)
        if raw.ndim != 2 or not raw.shape[1]:
            raise ModelFailed(f"{self._library.name!r} gave no vectors, but an array of shape {raw.shape}")
        return raw


class FastReranker:
    """A cross-encoder, which reads question and text together. Safe to share among threads."""

    batch = _PAIRS

    def __init__(self, model: str) -> None:
        """Raises MissingExtra, and ModelFailed for a model that cannot be loaded."""
        self._library = _LoadedModel("fastembed.rerank.cross_encoder", "TextCrossEncoder", model)
        self.name = self._library.name

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the model's scores: irrelevant texts are mostly below 0."""
        pairs = self._library.ask(lambda model: model.rerank(query, list(texts), batch_size=_BATCH))
        return [float(score) for score in pairs]


class _LoadedModel:
    """One loaded model."""

    def __init__(self, module: str, class_name: str, model: str) -> None:
        self.name = f"{FASTEMBED}:{model}"
        self._lock = ForkSafeLock()  # its tokenizers are not safe among threads
        try:
            self._model = getattr(import_module(module), class_name)(model_name=model)
        except ImportError as error:
            raise MissingExtra(
                f"no module {error.name or FASTEMBED!r}: pip install 'zibaldone[neural]'"
            ) from error
        except Exception as error:  # whatever the library raises for a model it does not know
            raise ModelFailed(
                f"{self.name!r} cannot be loaded: {error}. Weights come from a hub at first use: without a"
                " network, load the model once where there is one, and bring the folder that"
                " FASTEMBED_CACHE_PATH names"
            ) from error

    def ask(self, call: Callable[[Any], Iterable[Any]]) -> list[Any]:
        """Call the model and return its results as a list. Raises ModelFailed."""
        try:
            with self._lock:
                return list(call(self._model))
        except Exception as error:  # a library's own code
            raise ModelFailed(f"{self.name!r} failed: {error}") from error


def embedder_called(name: str) -> Embedder:
    """The embedder of a library by their names: "fastembed:BAAI/bge-small-en-v1.5".

    Raises InvalidInput, MissingExtra and ModelFailed.
    """
    library, _, model = name.partition(":")
    if library == FASTEMBED and model:
        return FastEmbedder(model)
    if library == OPENAI and model:
        raise InvalidInput(
            f"embedder {shown(name)} needs a key, which is in the environment: open with Memory.from_env(),"
            f" or give OpenAIEmbedder({shown(model)}, api_key=...)"
        )
    raise InvalidInput(
        f"no embedder is called {shown(name)}: give an Embedder, '{FASTEMBED}:MODEL' or '{OPENAI}:MODEL'"
    )


def reranker_called(name: str) -> Reranker:
    """The reranker of that name: "fastembed:MODEL".

    Raises InvalidInput, MissingExtra and ModelFailed.
    """
    library, _, model = name.partition(":")
    if library == FASTEMBED and model:
        return FastReranker(model)
    raise InvalidInput(f"no reranker is called {shown(name)}: give a Reranker, '{FASTEMBED}:MODEL' or 'chat'")
