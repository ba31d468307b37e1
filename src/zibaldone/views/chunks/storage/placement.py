"""Placement of records: similar ones together. Akashic, section 4.2 and Algorithm 2.

A record is staged in the database until there is good company for it, and is written into a block with that.
So a place is chosen once, when the record is written anyway, and again when its block is collected. Nothing
is moved only because it was read together (lines 3 to 10): docs/decisions.md has what that cost and did not
save.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, and_, select, update

from zibaldone.search.clustering import agglomerate
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.bucket_blocks import must_be_current
from zibaldone.storage.database import Database
from zibaldone.storage.schema import blocks, records
from zibaldone.views.base import Generation
from zibaldone.views.checked_settings import Count, Positive, settings
from zibaldone.views.chunks.storage.records import (
    RecordPlace,
    RecordStore,
    encode,
    invalidate,
    key_of,
    new_key,
    of,
    overhead,
)

_MOST_GROUPED = 500  # records at a time: what a forgetting has staged again may be all of them
_FULL = 0.75  # of a block, from which it is worth writing

Matrix = npt.NDArray[np.float32]
Similarity = Callable[[Sequence[int]], Matrix]  # of n records, (n, n): symmetric, from 0


def plan(
    records: Sequence[RecordPlace],
    due: Collection[str],
    block_bytes: int,
    staged_blocks: float,
    similarity: Similarity,
) -> list[list[RecordPlace]]:
    """Records of each new block, in the order of time; no block mixes namespaces.

    Staged records and those of blocks that are due (lines 11 to 13) are grouped by similarity, into groups
    that fit into a block (lines 15 to 17). What came out of a block is written. Of the others, when more than
    `staged_blocks` blocks' worth of a namespace waits, groups are written until no more than that is left:
    those that fill a block, what is most alike first.
    """
    loose: dict[str, list[RecordPlace]] = {}
    for record in records:
        if record.block is None or record.block in due:
            loose.setdefault(record.namespace, []).append(record)
    planned: list[list[RecordPlace]] = []
    for _, those in sorted(loose.items()):
        waiting = sum(record.bytes for record in those if record.block is None)
        excess = waiting - staged_blocks * block_bytes
        if excess > 0 or any(record.block for record in those):
            ordered = sorted(those, key=lambda record: (record.time_us, record.id))
            parts = in_chunks(ordered, _MOST_GROUPED)
            groups = [group for part in parts for group in _groups(part, block_bytes, similarity)]
            planned += _written(groups, excess, block_bytes)
    return planned


@dataclass(frozen=True, slots=True)
class _Group:
    records: list[RecordPlace]  # in the order of time
    cohesion: float  # mean similarity of two of them

    @property
    def bytes(self) -> int:
        return overhead(len(self.records)) + sum(record.bytes for record in self.records)


def _groups(ordered: Sequence[RecordPlace], block_bytes: int, similarity: Similarity) -> list[_Group]:
    """All records, in groups that fit into a block unless a single record does not."""
    alike = similarity([record.id for record in ordered])
    each = overhead(1) - overhead(0)
    sizes = [record.bytes + each for record in ordered]
    groups = agglomerate(alike, linkage="mean", sizes=sizes, most=block_bytes - overhead(0))
    return [_Group([ordered[row] for row in rows], _cohesion(alike, rows)) for rows in groups]


def _cohesion(alike: Matrix, rows: Sequence[int]) -> float:
    """Mean similarity of two of the rows; 1 for a single one."""
    n = len(rows)
    of_rows = alike[np.ix_(rows, rows)]
    return float((of_rows.sum() - np.trace(of_rows)) / (n * (n - 1))) if n > 1 else 1.0


def _written(groups: Sequence[_Group], excess: float, block_bytes: int) -> list[list[RecordPlace]]:
    """Groups with records from blocks; then others until at most `excess` bytes are staged."""
    out_of_blocks = [group for group in groups if any(record.block for record in group.records)]
    staged = [group for group in groups if all(record.block is None for record in group.records)]
    full = [group for group in staged if group.bytes >= _FULL * block_bytes]
    ordered = sorted(full, key=lambda group: -group.cohesion)
    ordered += sorted((group for group in staged if group not in full), key=lambda group: -group.bytes)
    written = []
    for group in out_of_blocks + ordered:
        if excess <= 0 and group not in out_of_blocks:
            break
        written.append(group.records)
        excess -= sum(record.bytes for record in group.records if record.block is None)
    return written


@settings
class Placement:
    """Parameters of the memory manager; docs/decisions.md has the sweeps."""

    block_bytes: Count = 64 * 1024  # the paper names none
    gc_invalid_ratio: Positive = 0.3  # phi from which a block is written anew: 0.75 in section 4, 0.3 in 5.5
    staged_blocks: Positive = 4  # ours: blocks' worth of a namespace's records that may wait for company


@dataclass(frozen=True, slots=True)
class Moved:
    records: int = 0
    bytes: int = 0  # written, headers included
    blocks_written: int = 0
    blocks_released: int = 0


def arrange(
    database: Database,
    store: RecordStore,
    placement: Placement,
    generation: Generation,
    similarity: Similarity,
) -> Moved:
    """Algorithm 2: write staged records that have waited, and rewrite blocks that are due."""
    with database.read(generation.user) as connection:
        places = store.places(connection, generation)
        due = store.due(connection, generation, placement.gc_invalid_ratio)
    planned = plan(places, due, placement.block_bytes, placement.staged_blocks, similarity)
    return move(database, store, generation, planned)


def move(
    database: Database, store: RecordStore, generation: Generation, planned: Sequence[Sequence[RecordPlace]]
) -> Moved:
    """Publish new blocks, then switch the directory in one transaction.

    A new block is taken into use whole or not at all. When one of its records was changed or removed since it
    was read, it may have been forgotten, and the block has its bytes: the block is released at once, and its
    records stay where they are.
    """
    with database.read(generation.user) as connection:
        read = [store.fetch(connection, generation, [record.id for record in group]) for group in planned]
    published: list[tuple[str, list[RecordPlace], dict[int, bytes]]] = []
    written = 0
    for group, data in zip(planned, read, strict=True):
        if contents := [record for record in group if record.id in data]:
            published.append((new_key(generation.user), contents, data))
            block = encode([(record.id, data[record.id]) for record in contents])
            store.blocks.put(published[-1][0], block)
            written += len(block)
    if not published:
        return Moved()
    released = 0
    moved = 0
    with database.write(generation.user) as connection:
        must_be_current(database, connection)
        for key, contents, data in published:
            switched = _switch(connection, store, generation, key, contents, data)
            moved += switched
            released += switched == 0
        before = {record.block for _, contents, _ in published for record in contents if record.block}
        query = select(blocks.c.block).where(of(blocks, generation), blocks.c.released == 1)
        released += len(before & set(connection.execute(query).scalars()))
    return Moved(moved, written, len(published), released)


def _switch(
    connection: Connection,
    store: RecordStore,
    generation: Generation,
    key: str,
    contents: Sequence[RecordPlace],
    data: Mapping[int, bytes],
) -> int:
    """Point the directory to the new block; returns the number of records that it holds."""
    try:
        size = len(store.blocks.get(key))
    except KeyError:  # taken for an orphan: the move was too slow, and is done again some day
        return 0
    there = [_is_where_it_was(generation, record, data[record.id]) for record in contents]
    unchanged = all(connection.execute(select(records.c.id).where(same)).first() for same in there)
    for slot, (record, same) in enumerate(zip(contents, there, strict=True) if unchanged else ()):
        connection.execute(update(records).where(same).values(block=key, slot=slot, data=None))
        invalidate(connection, generation, [record.block])
    connection.execute(
        blocks.insert().values(
            **key_of(generation),
            block=key,
            namespace=contents[0].namespace,
            records=len(contents),
            invalid=0 if unchanged else len(contents),
            bytes=size,
            released=int(not unchanged),
        )
    )
    return len(contents) if unchanged else 0


def _is_where_it_was(generation: Generation, record: RecordPlace, data: bytes) -> ColumnElement[bool]:
    c = records.c
    same = (c.block == record.block) & (c.slot == record.slot)
    if record.block is None:
        same = c.block.is_(None) & (c.data == data)
    return and_(of(records, generation), c.id == record.id, same)
