"""Memory Manager of Akashic: section 4.2, Eq. 2 and Algorithm 2, with a stage of our own before it.

A record is staged in the database until there is good company for it, and is written into a block with that.
So a place is chosen once, when the record is written anyway, and again when its block is collected (lines 11
to 24). Moving what was read together (lines 3 to 10) is for the paper's preset: what that costs is shown by
`python -m benchmarks.akashic`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, and_, select, update

from zibaldone.search.clustering import agglomerate
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.bucket_blocks import must_be_current
from zibaldone.storage.database import Database
from zibaldone.storage.schema import blocks, records
from zibaldone.views.base import Generation
from zibaldone.views.chunks.config import Placement
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

Matrix = npt.NDArray[np.float32]
Affinity = Callable[[Sequence[int]], Matrix]  # of n records, (n, n): symmetric, from 0


def colocated(
    records: Sequence[RecordPlace],
    together: Sequence[Sequence[int]],
    placement: Placement,
    affinity: Affinity,
) -> list[list[RecordPlace]]:
    """Lines 3 to 5: new blocks for what each joint inference `S` of `together` read, the newest first.

    `G` is the groups of `S` whose mean affinity reaches tau_assoc, less those that already lie in as few
    blocks. A record moves once, and no block mixes namespaces.
    """
    place_of = {record.id: record for record in records}
    planned: list[list[RecordPlace]] = []
    for read in reversed(together):
        names = {place_of[number].namespace for number in read if number in place_of}
        for name in sorted(names):
            those = [n for n in read if n in place_of and place_of[n].namespace == name]
            for group in _groups([place_of[n] for n in those], affinity, placement, placement.tau_assoc):
                if len({record.block or record.id for record in group}) > 1:
                    planned.append(group)
                    for record in group:
                        del place_of[record.id]
    return planned


def collected(
    records: Sequence[RecordPlace], due: Collection[str], placement: Placement, affinity: Affinity
) -> list[list[RecordPlace]]:
    """Lines 11 to 17: new blocks for what lives in the blocks that are `due`, and for what is staged.

    They are grouped by affinity inside each namespace; in the paper what is staged is not. What came out of a
    block is written. Of the others, when more than `staged_blocks` blocks' worth of a namespace waits, the
    fullest groups are written until no more than that is left.
    """
    partitions: dict[
        str, list[RecordPlace]
    ] = {}  # PARTITIONBYUSERSESSION, line 13; a generation is one user's
    for record in records:
        if record.block is None or record.block in due:
            partitions.setdefault(record.namespace, []).append(record)
    planned: list[list[RecordPlace]] = []
    for _, partition in sorted(partitions.items()):
        excess = _staged_bytes(partition) - placement.staged_blocks * placement.block_bytes
        if excess <= 0 and not any(record.block for record in partition):
            continue
        if placement.staged_by_affinity:
            groups = _groups(partition, affinity, placement)
        else:
            groups = _groups([r for r in partition if r.block], affinity, placement)  # LLMGROUP
            groups += _groups([r for r in partition if not r.block], _no_affinity, placement)
        groups.sort(key=lambda group: (not any(r.block for r in group), -sum(r.bytes for r in group)))
        for group in groups:
            if excess > 0 or any(record.block for record in group):
                planned.append(group)
                excess -= _staged_bytes(group)
    return planned


def _no_affinity(ids: Sequence[int]) -> Matrix:
    return np.zeros((len(ids), len(ids)), dtype=np.float32)


def _staged_bytes(records: Sequence[RecordPlace]) -> int:
    return sum(record.bytes for record in records if record.block is None)


def _groups(
    records: Sequence[RecordPlace], affinity: Affinity, placement: Placement, least: float = -np.inf
) -> list[list[RecordPlace]]:
    """Groups by affinity (line 15), each packed into one block (lines 5, 17); one record may exceed it."""
    packed = []
    each, room = overhead(1) - overhead(0), placement.block_bytes - overhead(0)
    ordered = sorted(records, key=lambda record: (record.time_us, record.id))
    for part in in_chunks(ordered, _MOST_GROUPED):
        alike = affinity([record.id for record in part])
        sizes = [record.bytes + each for record in part]
        groups = agglomerate(alike, linkage="mean", least=least, sizes=sizes, most=room)
        packed += [[part[row] for row in rows] for rows in groups]
    return packed


@dataclass(frozen=True, slots=True)
class Moved:
    records: int = 0
    bytes: int = 0  # written, headers included
    blocks_written: int = 0
    blocks_released: int = 0

    def __add__(self, other: Moved) -> Moved:
        return Moved(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def arrange(
    database: Database,
    store: RecordStore,
    placement: Placement,
    generation: Generation,
    affinity: Affinity,
    together: Sequence[Sequence[int]] = (),
) -> Moved:
    """Algorithm 2: move what was read `together`, write what has waited, and rewrite blocks that are due."""

    def places() -> tuple[list[RecordPlace], set[str]]:
        with database.read(generation.user) as connection:
            due = store.due(connection, generation, placement.gc_invalid_ratio)
            return store.places(connection, generation), due

    moved = Moved()
    if together:
        planned = colocated(places()[0], together, placement, affinity)
        moved = move(database, store, generation, planned)
    return moved + move(database, store, generation, collected(*places(), placement, affinity))


def move(
    database: Database, store: RecordStore, generation: Generation, planned: Sequence[Sequence[RecordPlace]]
) -> Moved:
    """Publish new blocks, then switch the directory in one transaction: lines 6 to 9 and 18 to 23.

    A new block is taken into use whole or not at all. When one of its records was changed or removed since it
    was read, it may have been forgotten, and the block has its bytes: the block is released at once, and its
    records stay where they are.
    """
    with database.read(generation.user) as connection:
        must_be_current(database, connection)
        read = [store.fetch(connection, generation, [record.id for record in group]) for group in planned]
    new: dict[str, tuple[list[RecordPlace], Mapping[int, bytes], int]] = {}
    for group, data in zip(planned, read, strict=True):
        if contents := [record for record in group if record.id in data]:
            block = encode([(record.id, data[record.id]) for record in contents])
            key = new_key(generation.user)
            store.blocks.put(key, block)
            new[key] = contents, data, len(block)
    if not new:
        return Moved()
    with database.write(generation.user) as connection:
        must_be_current(database, connection)
        moved = sum(_switch(connection, store, generation, key, *new[key]) for key in new)
        touched = {record.block for contents, _, _ in new.values() for record in contents} | new.keys()
        query = select(blocks.c.block).where(of(blocks, generation), blocks.c.released == 1)
        released = len(touched & set(connection.execute(query).scalars()))
    return Moved(moved, sum(size for _, _, size in new.values()), len(new), released)


def _switch(
    connection: Connection,
    store: RecordStore,
    generation: Generation,
    key: str,
    contents: Sequence[RecordPlace],
    data: Mapping[int, bytes],
    size: int,
) -> int:
    """UPDATEDIR and MARKINVALID of all that is in one new block; returns how many records it holds."""
    try:
        store.blocks.get(key)
    except KeyError:  # taken for an orphan: the move was too slow, and is done again some day
        return 0
    there = [_is_where_it_was(generation, record, data[record.id]) for record in contents]
    unchanged = all(connection.execute(select(records.c.id).where(same)).first() for same in there)
    if unchanged:
        for slot, same in enumerate(there):
            connection.execute(update(records).where(same).values(block=key, slot=slot, data=None))
        invalidate(connection, generation, [record.block for record in contents])
    invalid = 0 if unchanged else len(contents)
    row = {"block": key, "namespace": contents[0].namespace, "records": len(contents), "bytes": size}
    row |= {"invalid": invalid, "released": int(not unchanged)}
    connection.execute(blocks.insert().values(**key_of(generation), **row))
    return len(contents) - invalid


def _is_where_it_was(generation: Generation, record: RecordPlace, data: bytes) -> ColumnElement[bool]:
    c = records.c
    same = (c.block == record.block) & (c.slot == record.slot)
    if record.block is None:
        same = c.block.is_(None) & (c.data == data)
    return and_(of(records, generation), c.id == record.id, same)
