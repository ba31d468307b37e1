"""Forgetting in chunks, and vectors for chunks that it left without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.log import to_us
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.storage.database import Database
from zibaldone.views.base import Generation
from zibaldone.views.chunks import metadata, table
from zibaldone.views.chunks.chunk import Chunk, Item, from_record, to_record
from zibaldone.views.chunks.storage.records import Record, RecordStore, read_again


def embed_anew(database: Database, store: RecordStore, generation: Generation, embedder: Embedder) -> None:
    """Embed chunks that lost their vectors when something was forgotten.

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


@dataclass(frozen=True, slots=True)
class ChunkLoss:
    """Effect of forgetting on one generation."""

    counts: tuple[int, int, int]  # of chunks, items and entries of the history: fewer than before
    rewritten: dict[int, list[Item]]  # by chunk, what it holds afterwards
    removed: tuple[int, ...]  # chunks that cover no message any more
    past: tuple[int, ...]  # entries of the history that go


def loss(
    connection: Connection, store: RecordStore, generation: Generation, seqs: Sequence[int]
) -> ChunkLoss:
    """Compute what goes; changes nothing. An item goes with any of its sources."""
    gone = set(seqs)
    present = table.load(connection, generation, 0)
    touched = {chunk for _, chunk in table.sources(connection, generation, sorted(gone)) if chunk in present}
    entries = table.history(connection, generation)
    past = [number for number, entry in entries if gone & {*entry.item.sources, *entry.by_sources}]
    restored = [
        entry for _, entry in entries if gone & set(entry.by_sources) and not gone & set(entry.item.sources)
    ]
    touched |= {entry.chunk for entry in restored if entry.chunk in present}
    left_in = {chunk for seq, chunk in table.sources(connection, generation) if seq not in gone}
    # What can be read is kept: to forget must always be possible.
    full = [number for number in sorted(touched) if present[number].items]
    data = store.fetch_readable(connection, generation, full)[0]
    held = {number: from_record(record) for number, record in data.items()}
    rewritten: dict[int, list[Item]] = {}
    before = after = 0
    for number in sorted(touched):
        old = held.get(number, [])
        kept = {item.id: item for item in old if not gone & set(item.sources)}
        for entry in reversed(restored):  # of several, the oldest is what it was at first
            if entry.chunk == number:
                kept[entry.item.id] = entry.item
        before += len(old)
        if number in left_in:
            rewritten[number] = [kept[i] for i in sorted(kept)]
            after += len(kept)
    removed = tuple(number for number in sorted(touched) if number not in left_in)
    return ChunkLoss((len(removed), before - after, len(past)), rewritten, removed, tuple(past))


def forget(
    connection: Connection,
    store: RecordStore,
    generation: Generation,
    seqs: Sequence[int],
    tokenizer: Tokenizer,
    keywords: int,
) -> ChunkLoss:
    """Remove the messages from chunks, metadata, history and blocks.

    A block that held any of it is written anew without it. Vectors are made anew afterwards: no model is
    waited for inside a transaction.
    """
    lost = loss(connection, store, generation, seqs)
    present = table.load(connection, generation, 0)
    store.expel(connection, generation, [*lost.rewritten, *lost.removed])
    table.remove(connection, generation, lost.removed)
    table.remove_history(connection, generation, lost.past)
    table.remove_sources(connection, generation, seqs)
    none = np.zeros((0, 1), dtype=np.float32)
    chunks = [
        metadata.renewed(present[number], items, {}, 0, keywords, none, tokenizer)
        for number, items in lost.rewritten.items()
    ]
    table.write(connection, generation, chunks)
    table.forget_reasons(connection, generation)
    records = [record_of(chunk, lost.rewritten[chunk.id]) for chunk in chunks if chunk.items]
    store.stage(connection, generation, records)
    return lost


def record_of(chunk: Chunk, items: Sequence[Item]) -> Record:
    """Record of a chunk's items in a block."""
    return Record(chunk.id, chunk.namespace, to_us(chunk.metadata.first), to_record(items))
