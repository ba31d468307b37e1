"""The memory manager's turn: Algorithm 2, driven when the view has read all there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from zibaldone import log
from zibaldone.fork_safety import ForkSafeLock
from zibaldone.log import UserState
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder
from zibaldone.storage.database import Database
from zibaldone.views.base import Generation
from zibaldone.views.chunks import metadata, table
from zibaldone.views.chunks.chunk import Chunk, from_record
from zibaldone.views.chunks.forgetting import owner_of
from zibaldone.views.chunks.storage.placement import Moved, Placement, arrange
from zibaldone.views.chunks.storage.planning import Matrix, associated
from zibaldone.views.chunks.storage.records import RecordStore, read_again
from zibaldone.views.chunks.tasks import Colocate, ColocationGroups, ReadTogether, shown_chunk
from zibaldone.views.user_cache import UserCache

_MOST_GROUPED = 96  # chunks that a model is shown at a time: a prompt does not grow with the history
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

    def users(self) -> set[str]:
        """Of whom anything waits to be taken."""
        return self._sets.users()

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
    """Note what was read together, write blocks of what belongs together, collect blocks: Algorithm 2.

    Raises StorageCorrupt when a block cannot be read.
    """
    owner = owner_of(generation)
    with database.write(generation.user) as connection:
        for chunks, times in sorted(read_sets.items()):
            if times:
                store.note_together(connection, owner, chunks, times)

    def moved() -> Moved:  # again, when another process tends to the same blocks
        affinity = _Affinity(database, store, generation, asker, embedder, patient=patient)
        return arrange(database, store, placement, owner, affinity.of)

    return read_again(moved)


class _Affinity:
    """LLMCOLOCATE and LLMGROUP: which chunks belong into one block."""

    def __init__(
        self,
        database: Database,
        store: RecordStore,
        generation: Generation,
        asker: Asker,
        embedder: Embedder,
        *,
        patient: bool,
    ) -> None:
        self._database, self._store, self._generation = database, store, generation
        self._asker, self._embedder, self._patient = asker, embedder, patient

    def of(self, numbers: Sequence[int]) -> Matrix:
        """(n, n) how much each two belong together, from 0 to 1; 1 more where a model says so."""
        with self._database.read(self._generation.user) as connection:
            pairs = self._store.pairs(connection, owner_of(self._generation), numbers)
            chunks = table.load(connection, self._generation, self._embedder.dimension, only=numbers)
        live = {number: chunk for number, chunk in chunks.items() if chunk.items}
        association = associated(numbers, pairs, _similarity(numbers, live))
        known = [number for number in numbers if number in live]
        if not self._asker.has_model or not 2 <= len(known) <= _MOST_GROUPED:
            return association
        answer = self._asker.ask(
            Colocate(
                chunks=tuple(shown_chunk(live[number]) for number in known),
                read_together=tuple(ReadTogether(a, b, n) for (a, b), n in sorted(pairs.items()) if a != b),
                offline=lambda: ColocationGroups(groups=[]),
            ),
            user=self._generation.user,
            patient=self._patient,
        )
        row_of = {number: row for row, number in enumerate(numbers)}
        for group in answer.result.groups:
            rows = [row_of[number] for number in group]
            association[np.ix_(rows, rows)] += 1
        return association


def _similarity(numbers: Sequence[int], chunks: Mapping[int, Chunk]) -> Matrix:
    """(n, n) cosines of the chunks' mean vectors; 0 without one."""
    alike = np.zeros((len(numbers), len(numbers)), dtype=np.float32)
    abouts = [chunks[n].metadata if n in chunks else None for n in numbers]
    rows = [row for row, about in enumerate(abouts) if about is not None and len(about.vectors)]
    if rows:
        means = np.stack([about.mean_vector for about in abouts if about is not None and len(about.vectors)])
        alike[np.ix_(rows, rows)] = means @ means.T
    return alike


def embed_anew(database: Database, store: RecordStore, generation: Generation, embedder: Embedder) -> None:
    """Vectors for chunks that lost them when something was forgotten.

    Raises ModelFailed, and StorageCorrupt when a block cannot be read.
    """

    def read() -> tuple[list[Chunk], dict[int, bytes]]:
        with database.read(generation.user) as connection:
            numbers = table.bare(connection, generation)
            bare = list(table.load(connection, generation, embedder.dimension, only=numbers).values())
            return bare, store.fetch(connection, owner_of(generation), [chunk.id for chunk in bare]).data

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
