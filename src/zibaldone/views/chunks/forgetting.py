"""What goes from chunks with a message, and what comes back that the message had superseded."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from zibaldone.errors import BlockMissing, StorageCorrupt
from zibaldone.log import to_us
from zibaldone.models.base import Tokenizer
from zibaldone.rendering import line, line_tokens
from zibaldone.views.base import Generation
from zibaldone.views.chunks import metadata, table
from zibaldone.views.chunks.chunk import Chunk, Item, from_record, to_record
from zibaldone.views.chunks.storage.records import Owner, Record, RecordStore


@dataclass(frozen=True, slots=True)
class Loss:
    """What forgetting does to one generation."""

    items: int  # fewer than before
    chunks: int
    history: int
    rewritten: dict[int, list[Item]]  # by chunk, what it holds afterwards
    removed: tuple[int, ...]  # chunks that cover no message any more
    past: tuple[int, ...]  # entries of the history that go


def loss(connection: Connection, store: RecordStore, generation: Generation, seqs: Sequence[int]) -> Loss:
    """Work out what goes; changes nothing. An item goes with any of its sources."""
    gone = set(seqs)
    touched = {chunk for _, chunk in table.sources(connection, generation, sorted(gone))}
    entries = table.history(connection, generation)
    past = [number for number, one in entries if gone & {*one.item.sources, *one.by_sources}]
    restored = [one for _, one in entries if gone & set(one.by_sources) and not gone & set(one.item.sources)]
    present = table.load(connection, generation, 0)
    touched |= {one.chunk for one in restored if one.chunk in present}
    left_in = {chunk for seq, chunk in table.sources(connection, generation) if seq not in gone}
    held = _items(connection, store, generation, [n for n in sorted(touched) if present[n].items])
    rewritten: dict[int, list[Item]] = {}
    before = after = 0
    for number in sorted(touched):
        old = held.get(number, [])
        kept = {item.id: item for item in old if not gone & set(item.sources)}
        for one in reversed(restored):  # of several, the oldest is what it was at first
            if one.chunk == number:
                kept[one.item.id] = one.item
        before += len(old)
        if number in left_in:
            rewritten[number] = [kept[i] for i in sorted(kept)]
            after += len(kept)
    removed = tuple(number for number in sorted(touched) if number not in left_in)
    return Loss(before - after, len(removed), len(past), rewritten, removed, tuple(past))


def forget(
    connection: Connection,
    store: RecordStore,
    generation: Generation,
    seqs: Sequence[int],
    tokenizer: Tokenizer,
    keywords: int,
) -> Loss:
    """Take the messages out of chunks, metadata, history and blocks.

    A block that held any of it is written anew without it. Vectors are made anew afterwards: no model is
    waited for inside a transaction.
    """
    found = loss(connection, store, generation, seqs)
    owner = owner_of(generation)
    present = table.load(connection, generation, 0)
    store.expel(connection, owner, [*found.rewritten, *found.removed])
    table.remove(connection, generation, found.removed)
    table.remove_history(connection, generation, found.past)
    table.remove_sources(connection, generation, seqs)
    chunks = [
        _without(present[number], items, tokenizer, keywords) for number, items in found.rewritten.items()
    ]
    table.write(connection, generation, chunks)
    store.stage(
        connection,
        owner,
        [
            Record(
                chunk.id, chunk.namespace, to_us(chunk.metadata.first), to_record(found.rewritten[chunk.id])
            )
            for chunk in chunks
            if chunk.items
        ],
    )
    table.remove_empty_namespaces(connection, generation)
    return found


def owner_of(generation: Generation) -> Owner:
    """Whose records a generation's chunks are."""
    return Owner(generation.user, "chunks", generation.number)


def _without(chunk: Chunk, items: list[Item], tokenizer: Tokenizer, keywords: int) -> Chunk:
    """The chunk's next version; its metadata is made from what is left, without vectors."""
    none = np.zeros((0, 1), dtype=np.float32)
    about = replace(chunk.metadata, keywords=(), entities=(), summary="", vectors=none)
    if items:
        about = metadata.build(items, {}, 0, keywords, none)
    tokens = sum(line_tokens([line(item.speaker, item.text) for item in items], tokenizer.count))
    return replace(chunk, version=chunk.version + 1, items=len(items), tokens=tokens, metadata=about)


def _items(
    connection: Connection, store: RecordStore, generation: Generation, numbers: Sequence[int]
) -> dict[int, list[Item]]:
    owner = owner_of(generation)
    try:
        data = store.fetch(connection, owner, numbers).data
    except (BlockMissing, StorageCorrupt):  # what can be read is kept: to forget must always be possible
        data = {}
        for number in numbers:
            with suppress(BlockMissing, StorageCorrupt):
                data |= store.fetch(connection, owner, [number]).data
    return {number: from_record(one) for number, one in data.items()}
