"""A user's chunk table in memory, kept in step with the database by the user's version counter."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.fork_safety import start_anew_in_children
from zibaldone.models.base import Vectors, WordEmbedder
from zibaldone.views.base import Generation
from zibaldone.views.chunks import table
from zibaldone.views.chunks.chunk import Chunk

_MOST_USERS = 200
_MOST_TEXTS = 30_000  # of 1 KB each


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """`T` of Algorithm 1 as recall needs it: one generation's metadata; never changed once made."""

    version: int
    generation: int
    chunks: tuple[Chunk, ...]  # live, in their order
    covered: dict[int, tuple[int, ...]]  # by seq, the chunks that have read the message


class TableCache:
    """Tables of the users who asked last."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._users: OrderedDict[str, ChunkTable] = OrderedDict()
        self._lock = threading.Lock()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """In a forked child: the parent's threads may have held the lock."""
        self._users = OrderedDict()
        self._lock = threading.Lock()

    def get(self, connection: Connection, generation: Generation) -> ChunkTable:
        """As of the connection's snapshot."""
        version = log.state(connection, generation.user).version
        with self._lock:
            held = self._users.get(generation.user)
        if held is None or (held.version, held.generation) != (version, generation.number):
            chunks = table.load(connection, generation, self._dimension)
            covered: dict[int, tuple[int, ...]] = {}
            for seq, chunk in table.sources(connection, generation):
                covered[seq] = (*covered.get(seq, ()), chunk)
            live = tuple(chunk for chunk in chunks.values() if chunk.items)
            held = ChunkTable(version, generation.number, live, covered)
        with self._lock:
            self._users[generation.user] = held
            self._users.move_to_end(generation.user)
            while len(self._users) > _MOST_USERS:
                self._users.popitem(last=False)
        return held

    def drop(self, user: str) -> None:
        with self._lock:
            self._users.pop(user, None)


class TextVectors:
    """An embedder in front of another: words and items come again from recall to recall."""

    def __init__(self, embedder: WordEmbedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = self._vectors  # another thread may begin a new one meanwhile
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if len(vectors) + len(missing) > _MOST_TEXTS:
            self._vectors = vectors = {}
            missing = list(dict.fromkeys(texts))
        if missing:
            vectors.update(zip(missing, self._embedder.embed(missing), strict=True))
        return np.array([vectors[text] for text in texts], dtype=np.float32).reshape(-1, self.dimension)

    def count(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count(texts)

    def drop(self) -> None:
        self._vectors = {}
