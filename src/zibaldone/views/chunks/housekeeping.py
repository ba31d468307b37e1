"""The memory manager's turn: Algorithm 2, driven when the view has read all there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zibaldone import log
from zibaldone.models.base import Embedder
from zibaldone.storage.database import Database
from zibaldone.views.base import Generation
from zibaldone.views.chunks import metadata, table
from zibaldone.views.chunks.chunk import Chunk, from_record
from zibaldone.views.chunks.storage.placement import Moved, Placement, arrange
from zibaldone.views.chunks.storage.planning import Matrix
from zibaldone.views.chunks.storage.records import RecordStore, read_again


def tend(
    database: Database, store: RecordStore, placement: Placement, generation: Generation, dimension: int
) -> Moved:
    """Write blocks of chunks that are alike, and collect blocks: Algorithm 2.

    Raises StorageCorrupt when a block cannot be read.
    """

    def cosines(numbers: Sequence[int]) -> Matrix:
        with database.read(generation.user) as connection:
            chunks = table.load(connection, generation, dimension, only=numbers)
        nothing = np.zeros(dimension, dtype=np.float32)
        means = np.stack([chunks[n].metadata.mean_vector if n in chunks else nothing for n in numbers])
        return np.asarray(np.clip(means @ means.T, 0, 1))

    # Again, when another process tends to the same blocks.
    return read_again(lambda: arrange(database, store, placement, generation, cosines))


def embed_anew(database: Database, store: RecordStore, generation: Generation, embedder: Embedder) -> None:
    """Vectors for chunks that lost them when something was forgotten.

    Raises ModelFailed, and StorageCorrupt when a block cannot be read.
    """

    def read() -> tuple[list[Chunk], dict[int, bytes]]:
        with database.read(generation.user) as connection:
            numbers = table.bare(connection, generation)
            bare = list(table.load(connection, generation, embedder.dimension, only=numbers).values())
            return bare, store.fetch(connection, generation, [chunk.id for chunk in bare])

    bare, data = read_again(read)
    made = {
        chunk.id: metadata.embedded(from_record(data[chunk.id]), embedder)
        for chunk in bare
        if chunk.id in data
    }
    if not made:
        return
    with database.write(generation.user) as connection:
        now = table.load(connection, generation, embedder.dimension, only=list(made))
        embedded = [
            replace(chunk, metadata=replace(chunk.metadata, vectors=made[chunk.id]))
            for chunk in bare
            if chunk.id in made and chunk.id in now and now[chunk.id].version == chunk.version
        ]
        table.write(connection, generation, embedded)
        log.touch(connection, generation.user)
