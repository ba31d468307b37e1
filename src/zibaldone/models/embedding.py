"""Vectors from any embedder, checked: what comes from outside may be of a wrong shape, or not come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from zibaldone.errors import ModelFailed
from zibaldone.models.base import Embedder, Vectors

F = TypeVar("F", bound=np.floating[Any])


def unit(rows: npt.NDArray[F]) -> npt.NDArray[F]:
    """Rows (n, d) of length 1; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0))


def checked(rows: npt.NDArray[np.floating[Any]], shape: tuple[int, int], model: str) -> Vectors:
    """Rows of the wanted shape, of unit length or zero. Raises ModelFailed for any others."""
    with np.errstate(over="ignore"):
        good = rows.shape == shape and np.isfinite(np.linalg.norm(rows, axis=1)).all()
    if not good:
        raise ModelFailed(f"{model} gave vectors of shape {rows.shape}; {shape} finite numbers were expected")
    return unit(rows).astype(np.float32)


def embed(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """(n, d) float32, rows of unit length or zero. Raises ModelFailed, whatever the embedder raised."""
    expected = (len(texts), embedder.dimension)
    if not texts:
        return np.zeros(expected, dtype=np.float32)
    model = f"embedder {embedder.name!r}"
    try:
        vectors = np.array(embedder.embed(texts), dtype=np.float32)
    except ModelFailed:
        raise
    except Exception as error:  # somebody else's code: whatever it raises means that there are no vectors
        raise ModelFailed(f"{model} failed: {error!r}") from error
    return checked(vectors, expected, model)
