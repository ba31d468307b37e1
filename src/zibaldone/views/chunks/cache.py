"""What recall has in memory of a user's chunks: their table, and vectors of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.models.base import Vectors, WordEmbedder
from zibaldone.views.base import Generation
from zibaldone.views.chunks import table
from zibaldone.views.chunks.chunk import Chunk
from zibaldone.views.user_cache import UserCache

MOST_TEXTS = 30_000  # of 1 KB each


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """`T` of Algorithm 1 as recall needs it: one generation's metadata; never changed once made."""

    version: int
    generation: int
    chunks: tuple[Chunk, ...]  # live, in their order
    covered: dict[int, tuple[int, ...]]  # by seq, the chunks that have read the message


def table_of(
    cache: UserCache[ChunkTable], connection: Connection, generation: Generation, dimension: int
) -> ChunkTable:
    """As of the connection's snapshot."""
    state = log.state(connection, generation.user)
    held = cache.get(generation.user)
    if held is not None and (held.version, held.generation) == (state.version, generation.number):
        return held
    chunks = table.load(connection, generation, dimension)
    covered: dict[int, tuple[int, ...]] = {}
    for seq, chunk in table.sources(connection, generation):
        covered[seq] = (*covered.get(seq, ()), chunk)
    live = tuple(chunk for chunk in chunks.values() if chunk.items)
    made = ChunkTable(state.version, generation.number, live, covered)
    cache.put(generation.user, made, state)
    return made


class TextVectors:
    """An embedder in front of another: a user's words and items come again from recall to recall."""

    def __init__(self, embedder: WordEmbedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    def __len__(self) -> int:
        """Texts whose vectors are here."""
        return len(self._vectors)

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(self) > MOST_TEXTS:
            self._vectors = {}
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._embedder.embed(missing), strict=True))
        return np.array([self._vectors[text] for text in texts], dtype=np.float32).reshape(-1, self.dimension)

    def count(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count(texts)
