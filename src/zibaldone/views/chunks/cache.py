"""A user's chunk table in memory, kept in step with the database by the user's version counter."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.fork_safety import start_anew_in_children
from zibaldone.views.base import Generation
from zibaldone.views.chunks import table
from zibaldone.views.chunks.chunk import Chunk

_MOST_USERS = 200


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
