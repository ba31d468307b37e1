"""Records: an identity that never changes, and a place that does. Akashic, section 4.2.

A new or changed record is *staged*: its bytes stand in its own row, so that they are committed together with
whatever made them. Outside of that, staged records are moved into immutable blocks, and blocks that hold too
much of the past are written anew (placement.py). A block never mixes two users, nor two namespaces of one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, select, update

from zibaldone.errors import BlockMissing, StorageCorrupt
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.objects import ObjectStore
from zibaldone.storage.schema import blocks, record_pairs, records
from zibaldone.views.chunks.storage.blocks import FIX, decode
from zibaldone.views.chunks.storage.planning import BlockUse, Layout, RecordPlace

_logger = logging.getLogger(__name__)
_PER_STATEMENT = 400
T = TypeVar("T")
_READS = 5


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose records: one generation of one view of one user."""

    user: str
    view: str
    generation: int


@dataclass(frozen=True, slots=True)
class Record:
    id: int
    namespace: str
    time_us: int  # records of a block stand in this order
    data: bytes


@dataclass(frozen=True, slots=True)
class RecordsRead:
    data: dict[int, bytes]
    blocks_read: int
    staged_read: int


class RecordStore:
    """Records of all owners. Every method works in the caller's transaction."""

    def __init__(self, store: ObjectStore) -> None:
        self.blocks = store

    def stage(self, connection: Connection, owner: Owner, staged: Sequence[Record]) -> None:
        """Insert records, or put new data in place of old; the old copy in a block becomes invalid."""
        self._remove(connection, owner, [record.id for record in staged])
        for batch in in_chunks(staged, _PER_STATEMENT):
            connection.execute(
                records.insert(),
                [
                    key_of(owner)
                    | {
                        "id": record.id,
                        "namespace": record.namespace,
                        "time_us": record.time_us,
                        "bytes": len(record.data),
                        "data": record.data,
                    }
                    for record in batch
                ],
            )

    def remove(self, connection: Connection, owner: Owner, ids: Sequence[int]) -> None:
        """Tombstone: the records are no more, their copies in blocks are invalid."""
        self._remove(connection, owner, ids)

    def _remove(self, connection: Connection, owner: Owner, ids: Sequence[int]) -> None:
        for batch in in_chunks(ids, _PER_STATEMENT):
            these = and_(of(records, owner), records.c.id.in_(batch))
            invalidate(
                connection, owner, [r.block for r in connection.execute(select(records.c.block).where(these))]
            )
            connection.execute(delete(records).where(these))

    def fetch(self, connection: Connection, owner: Owner, ids: Sequence[int]) -> RecordsRead:
        """The data of those of these records that exist; each block is read once.

        Raises BlockMissing when a block was moved after the connection's snapshot was taken, and
        StorageCorrupt when one is torn.
        """
        data: dict[int, bytes] = {}
        in_blocks: dict[str, list[tuple[int, int]]] = {}
        for batch in in_chunks(ids, _PER_STATEMENT):
            query = select(records).where(of(records, owner), records.c.id.in_(batch))
            for row in connection.execute(query):
                if row.block is None:
                    data[row.id] = row.data
                else:
                    in_blocks.setdefault(row.block, []).append((row.id, row.slot))
        staged = len(data)
        for key, wanted in in_blocks.items():
            slots = self.read(key)
            for number, slot in wanted:
                if slot >= len(slots) or slots[slot][0] != number:
                    raise StorageCorrupt(f"block {key} has no record {number} in slot {slot}; {FIX}")
                data[number] = slots[slot][1]
        return RecordsRead(data, len(in_blocks), staged)

    def fetch_readable(
        self, connection: Connection, owner: Owner, ids: Sequence[int]
    ) -> tuple[RecordsRead, str]:
        """As `fetch`, less the records that cannot be read, and why they cannot; "" when all can."""
        try:
            return self.fetch(connection, owner, ids), ""
        except (BlockMissing, StorageCorrupt) as error:
            if len(ids) < 2:
                return RecordsRead({}, 0, 0), str(error)
        data: dict[int, bytes] = {}
        blocks_read = staged = 0
        why: dict[str, None] = {}
        for number in ids:
            alone, fault = self.fetch_readable(connection, owner, [number])
            data |= alone.data
            blocks_read += alone.blocks_read
            staged += alone.staged_read
            why |= {fault: None} if fault else {}
        return RecordsRead(data, blocks_read, staged), "; ".join(why)

    def read(self, key: str) -> list[tuple[int, bytes]]:
        """A block's (id, data) by slot. Raises BlockMissing and StorageCorrupt."""
        try:
            block = self.blocks.get(key)
        except KeyError as error:
            raise BlockMissing(
                f"block {key} was moved while it was read, or is lost: if so, {FIX}"
            ) from error
        return decode(block, key)

    def note_together(self, connection: Connection, owner: Owner, ids: Sequence[int], times: int = 1) -> None:
        """These records were read in one go, so often."""
        distinct = sorted(set(ids))
        pairs = [*((number, number) for number in distinct), *combinations(distinct, 2)]
        known = self.pairs(connection, owner, distinct)
        c, key = record_pairs.c, key_of(owner)
        if again := [pair for pair in pairs if pair in known]:
            row = and_(of(record_pairs, owner), c.first == bindparam("a"), c.second == bindparam("b"))
            more = update(record_pairs).where(row).values(times=c.times + times)
            connection.execute(more, [{"a": first, "b": second} for first, second in again])
        if new := [pair for pair in pairs if pair not in known]:
            rows = [key | {"first": first, "second": second, "times": times} for first, second in new]
            connection.execute(record_pairs.insert(), rows)

    def pairs(self, connection: Connection, owner: Owner, ids: Sequence[int]) -> dict[tuple[int, int], int]:
        """How often two of these records were read in one go; (a, a) is how often a was read so at all."""
        c = record_pairs.c
        wanted = list(ids)
        query = select(c.first, c.second, c.times).where(
            of(record_pairs, owner), c.first.in_(wanted), c.second.in_(wanted)
        )
        return {(row.first, row.second): row.times for row in connection.execute(query)}

    def layout(self, connection: Connection, owner: Owner) -> Layout:
        """What lies where, for whoever plans to change it."""
        c = records.c
        query = select(c.id, c.namespace, c.time_us, c.bytes, c.block).where(of(records, owner))
        in_use = select(blocks).where(of(blocks, owner), blocks.c.released == 0)
        return Layout(
            [RecordPlace(*row) for row in connection.execute(query.order_by(c.id))],
            {row.block: BlockUse(row.records, row.invalid) for row in connection.execute(in_use)},
        )

    def places(self, connection: Connection, owner: Owner) -> dict[int, str | None]:
        """The directory: the block of each record, None for one that is staged."""
        query = select(records.c.id, records.c.block).where(of(records, owner))
        return {row.id: row.block for row in connection.execute(query)}

    def expel(self, connection: Connection, owner: Owner, ids: Sequence[int]) -> None:
        """Forget records: no block that ever held a copy of one is left.

        Blocks that did are released, and what else they hold is staged again. After the commit and
        `reclaim.release` no file has a byte of the records. A block that cannot be read may have held one: it
        goes too, and the records in it with it, since to forget must always be possible.
        """
        gone = set(ids)
        if not gone:
            return
        keys = connection.execute(select(blocks.c.block).where(of(blocks, owner), blocks.c.released == 0))
        for key in keys.scalars().all():
            try:
                slots = self.read(key)
            except (BlockMissing, StorageCorrupt) as error:
                _logger.warning("%s: what was in it is gone; rebuild the view", error)
                lost = and_(of(records, owner), records.c.block == key)
                connection.execute(delete(records).where(lost))
                slots = [(number, b"") for number in gone]
            if not gone.isdisjoint(number for number, _ in slots):
                self._stage_again(connection, owner, key, slots)
                connection.execute(
                    update(blocks)
                    .where(of(blocks, owner), blocks.c.block == key)
                    .values(released=1, invalid=blocks.c.records)
                )
        for batch in in_chunks(sorted(gone), _PER_STATEMENT):
            connection.execute(delete(records).where(of(records, owner), records.c.id.in_(batch)))
            pair = (record_pairs.c.first.in_(batch)) | (record_pairs.c.second.in_(batch))
            connection.execute(delete(record_pairs).where(of(record_pairs, owner), pair))

    def drop(self, connection: Connection, owner: Owner) -> None:
        """All records of an owner; its blocks are released."""
        connection.execute(delete(records).where(of(records, owner)))
        connection.execute(delete(record_pairs).where(of(record_pairs, owner)))
        connection.execute(
            update(blocks).where(of(blocks, owner)).values(released=1, invalid=blocks.c.records)
        )

    def faults(self, connection: Connection, owner: Owner) -> list[str]:
        """Where directory, blocks and tombstones disagree; empty when they agree."""
        faults = []
        c = records.c
        places: dict[str, list[Any]] = {}
        for row in connection.execute(select(records).where(of(records, owner)).order_by(c.id)):
            if (row.block is None) != (row.data is not None):
                faults.append(f"record {row.id} is both staged and in a block, or neither")
            elif row.block is not None:
                places.setdefault(row.block, []).append(row)
        known = {row.block: row for row in connection.execute(select(blocks).where(of(blocks, owner)))}
        faults += [f"block {key} has records and no row" for key in sorted(set(places) - set(known))]
        for key, row in sorted(known.items()):
            live = places.get(key, [])
            if row.released:
                if live:
                    faults.append(f"block {key} is released and has live records")
                continue
            if row.records - row.invalid != len(live):
                faults.append(
                    f"block {key} should have {row.records - row.invalid} live records, it has {len(live)}"
                )
            try:
                slots = self.read(key)
            except BlockMissing:
                faults.append(f"block {key} is missing")
                continue
            except StorageCorrupt as error:
                faults.append(str(error))
                continue
            for record in live:
                right = record.slot < len(slots) and slots[record.slot][0] == record.id
                if not right or len(slots[record.slot][1]) != record.bytes:
                    faults.append(f"record {record.id} is not in slot {record.slot} of block {key}")
                if record.namespace != row.namespace:
                    faults.append(f"record {record.id} is in a block of another namespace")
        return faults

    def _stage_again(
        self, connection: Connection, owner: Owner, key: str, slots: Sequence[tuple[int, bytes]]
    ) -> None:
        query = select(records.c.id, records.c.slot).where(of(records, owner), records.c.block == key)
        for row in connection.execute(query).all():
            connection.execute(
                update(records)
                .where(of(records, owner), records.c.id == row.id)
                .values(data=slots[row.slot][1], block=None, slot=None)
            )


def read_again(read: Callable[[], T]) -> T:
    """Do `read`, which takes a snapshot of its own, again when a block was moved after it was taken.

    Raises StorageCorrupt when the block is in no snapshot's reach.
    """
    for _ in range(_READS - 1):
        try:
            return read()
        except BlockMissing:
            continue
    try:
        return read()
    except BlockMissing as error:
        raise StorageCorrupt(str(error)) from error


def invalidate(connection: Connection, owner: Owner, keys: Sequence[str | None]) -> None:
    """One more record of each of these blocks is invalid; a block without a live one is released."""
    for key in keys:
        if key is not None:
            this = and_(of(blocks, owner), blocks.c.block == key)
            connection.execute(update(blocks).where(this).values(invalid=blocks.c.invalid + 1))
            empty = and_(this, blocks.c.invalid >= blocks.c.records)
            connection.execute(update(blocks).where(empty).values(released=1))


def sizes(connection: Connection, owner: Owner) -> Mapping[str, int]:
    """Blocks, records and bytes: of live data, and of all that is stored for it."""
    live = select(func.count(), func.coalesce(func.sum(records.c.bytes), 0)).where(of(records, owner))
    count, live_bytes = connection.execute(live).one()
    staged = select(func.coalesce(func.sum(records.c.bytes), 0)).where(
        of(records, owner), records.c.block.is_(None)
    )
    whole = select(func.count(), func.coalesce(func.sum(blocks.c.bytes), 0)).where(of(blocks, owner))
    number, block_bytes = connection.execute(whole).one()
    return {
        "records": count,
        "live_bytes": live_bytes,
        "staged_bytes": connection.execute(staged).scalar_one(),
        "blocks": number,
        "block_bytes": block_bytes,
    }


def key_of(owner: Owner) -> dict[str, Any]:
    return {"user": owner.user, "view": owner.view, "generation": owner.generation}


def of(table: Any, owner: Owner) -> ColumnElement[bool]:
    c = table.c
    return and_(c.user == owner.user, c.view == owner.view, c.generation == owner.generation)
