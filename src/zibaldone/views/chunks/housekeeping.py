"""The memory manager's turn: Algorithm 2, driven when the view has read all there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zibaldone import log
from zibaldone.fork_safety import ForkSafeLock
from zibaldone.log import UserState
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Vectors
from zibaldone.storage.database import Database
from zibaldone.views.base import Generation
from zibaldone.views.chunks import metadata, table
from zibaldone.views.chunks.chunk import Chunk, from_record
from zibaldone.views.chunks.forgetting import owner_of
from zibaldone.views.chunks.storage.placement import (
    MOST_GROUPED,
    Moved,
    Placement,
    colocate,
    flush,
    groups_above,
)
from zibaldone.views.chunks.storage.reclaim import collect
from zibaldone.views.chunks.storage.records import RecordStore, read_again
from zibaldone.views.chunks.tasks import Colocate, ColocationGroups, ReadTogether, shown_chunk
from zibaldone.views.user_cache import UserCache

_MOST_USERS = 1000
_MOST_SETS = 1000  # of a user, waiting to be written down: recalls are many, and each is worth little


Sets = Counter[tuple[int, ...]]


class ReadSets:
    """Which chunks were read in one go since the last tending; what a crash loses of it is no loss."""

    def __init__(self) -> None:
        self._sets: UserCache[Sets] = UserCache(_MOST_USERS)
        self._adding = ForkSafeLock()

    def add(self, generation: Generation, chunks: Sequence[int], as_of: UserState, times: int = 1) -> None:
        """These were read together; 0 times: which has been written down already."""
        with self._adding:
            sets = Counter(self._sets.get(generation.user, generation.number))
            if len(sets) < _MOST_SETS:
                sets[tuple(sorted(chunks))] += times
                self._sets.put(generation.user, sets, as_of, generation.number)

    def __contains__(self, user: str) -> bool:
        """Whether anything of the user's waits to be taken."""
        return user in self._sets

    def take(self, generation: Generation) -> Sets:
        """All of them; they are the caller's now."""
        return self._sets.take(generation.user, generation.number) or Counter()

    def drop(self, user: str, as_of: UserState) -> None:
        self._sets.drop(user, as_of)


def tend(
    database: Database,
    store: RecordStore,
    placement: Placement,
    generation: Generation,
    read_sets: Sets,
    asker: Asker,
    embedder: Embedder,
    *,
    patient: bool,
) -> Moved:
    """Fill blocks, co-locate what was read together (lines 3 to 10), collect blocks (lines 11 to 24).

    Raises StorageCorrupt when a block cannot be read.
    """
    owner = owner_of(generation)
    with database.write() as connection:
        for chunks, times in sorted(read_sets.items()):
            if times:
                store.note_together(connection, owner, chunks, times)

    def moved() -> Moved:  # again, when another process tends to the same blocks
        done = flush(database, store, placement, owner)
        with database.read() as connection:
            chunks = table.load(connection, generation, embedder.dimension)
        live = {number: chunk for number, chunk in chunks.items() if chunk.items}
        affinity = _Affinity(database, store, placement, generation, live, asker, patient=patient)
        done += colocate(database, store, placement, owner, sorted(read_sets), affinity.groups)
        return done + collect(database, store, placement, owner, affinity.groups)

    return read_again(moved)


class _Affinity:
    """LLMCOLOCATE and LLMGROUP: which chunks belong into one block."""

    def __init__(
        self,
        database: Database,
        store: RecordStore,
        placement: Placement,
        generation: Generation,
        chunks: dict[int, Chunk],
        asker: Asker,
        *,
        patient: bool,
    ) -> None:
        self._database, self._store, self._placement, self._generation = (
            database,
            store,
            placement,
            generation,
        )
        self._chunks, self._asker, self._patient = chunks, asker, patient

    def groups(self, numbers: Sequence[int]) -> list[list[int]]:
        """Groups of two and more; what is in none stays alone."""
        numbers = [number for number in numbers if number in self._chunks]
        owner, store = owner_of(self._generation), self._store
        with self._database.read() as connection:
            association = self._store.associations(connection, owner, numbers, self._similarity)
            pairs = self._store.pairs(connection, owner, numbers) if self._asker.has_model else {}
            sizes = [store.bytes_of(connection, owner, [number]) for number in numbers]
        plain = groups_above(
            numbers, association, self._placement.tau_assoc, sizes, self._placement.block_bytes
        )
        if not self._asker.has_model or not 2 <= len(numbers) <= MOST_GROUPED:
            return plain  # a prompt does not grow with the history
        answer = self._asker.ask(
            Colocate(
                chunks=tuple(shown_chunk(self._chunks[number]) for number in numbers),
                read_together=tuple(ReadTogether(a, b, n) for (a, b), n in sorted(pairs.items()) if a != b),
                offline=lambda: ColocationGroups(groups=plain),
            ),
            user=self._generation.user,
            patient=self._patient,
        )
        return [group for group in answer.result.groups if len(group) > 1]

    def _similarity(self, numbers: Sequence[int]) -> Vectors:
        """(n, n) cosines of the chunks' mean vectors."""
        rows = []
        for number in numbers:
            vectors = self._chunks[number].metadata.vectors
            mean = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1], dtype=np.float32)
            rows.append(mean / max(float(np.linalg.norm(mean)), 1e-9))
        matrix = np.stack(rows)
        return np.asarray(matrix @ matrix.T, dtype=np.float32)


def embed_anew(database: Database, store: RecordStore, generation: Generation, embedder: Embedder) -> None:
    """Vectors for chunks that lost them when something was forgotten.

    Raises ModelFailed, and StorageCorrupt when a block cannot be read.
    """

    def read() -> tuple[list[Chunk], dict[int, bytes]]:
        with database.read() as connection:
            chunks = table.load(connection, generation, embedder.dimension)
            bare = [c for c in chunks.values() if c.items and not len(c.metadata.vectors)]
            return bare, store.fetch(connection, owner_of(generation), [chunk.id for chunk in bare]).data

    bare, data = read_again(read)
    made = {
        chunk.id: metadata.embedded(from_record(data[chunk.id]), embedder)
        for chunk in bare
        if chunk.id in data
    }
    if not made:
        return
    with database.write() as connection:
        now = table.load(connection, generation, embedder.dimension)
        embedded = [
            replace(chunk, metadata=replace(chunk.metadata, vectors=made[chunk.id]))
            for chunk in bare
            if chunk.id in made and chunk.id in now and now[chunk.id].version == chunk.version
        ]
        table.write(connection, generation, embedded)
        log.touch(connection, generation.user)
