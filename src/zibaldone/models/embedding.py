"""Vectors from any embedder, checked: what comes from outside may be of a wrong shape, or not come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zibaldone.errors import ModelFailed
from zibaldone.models.base import Embedder, Vectors


def embed(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """(n, d) float32, rows of unit length or zero. Raises ModelFailed, whatever the embedder raised."""
    expected = (len(texts), embedder.dimension)
    if not texts:
        return np.zeros(expected, dtype=np.float32)
    name = embedder.name
    try:
        vectors = np.array(embedder.embed(texts), dtype=np.float32)
    except ModelFailed:
        raise
    except Exception as error:  # somebody else's code: whatever it raises means that there are no vectors
        raise ModelFailed(f"embedder {name!r} failed: {error!r}") from error
    if vectors.shape != expected or not np.isfinite(vectors).all():
        raise ModelFailed(
            f"embedder {name!r} gave vectors of shape {vectors.shape};"
            f" {expected} finite numbers were expected"
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, norms, out=vectors, where=norms > 0)
    return vectors
