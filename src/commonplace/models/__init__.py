"""Models: what turns text into vectors and tokens (and, in a later release, answers questions)."""

from __future__ import annotations

from commonplace.models.base import Embedder
from commonplace.models.static import StaticEmbedder

__all__ = ["Embedder", "StaticEmbedder"]
