"""What recall has in memory of a user's chunks: their table."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.views.base import Generation
from zibaldone.views.chunks import table
from zibaldone.views.chunks.chunk import Chunk
from zibaldone.views.user_cache import UserCache


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
