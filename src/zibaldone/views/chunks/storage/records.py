"""Records in immutable blocks of bounded size (Akashic, section 4.2); `storage/objects` keeps the blocks.

A block: magic "CPB1" | number of records | per record: id, offset, length, crc32 | crc32 of all this | data.
It never mixes two users, nor two namespaces of one.

A new or changed record is *staged*: its bytes stand in its own row, so that they are committed together with
whatever made them. Later, staged records are moved into blocks, and blocks with too many invalid records are
written anew (placement.py).

A block is first published in the store; then in the table, with live records; then released, when the last of
them has moved on; then deleted from the store, and from the table. After a crash the next start goes on from
whichever state it is in. Only a block in the store that is in no table yet may belong to a move in progress:
it is an orphan when it is old, and is deleted inside a write transaction, when no move can commit.
"""

from __future__ import annotations

import logging
import struct
import uuid
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, and_, delete, select, text, update

from zibaldone.errors import BlockMissing, StorageCorrupt
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.bucket_blocks import must_be_current
from zibaldone.storage.database import Database
from zibaldone.storage.objects import ObjectStore, owner_of
from zibaldone.storage.schema import blocks, records
from zibaldone.views.base import Generation

_MAGIC = b"CPB1"
_COUNT = struct.Struct("<4sI")
_ENTRY = struct.Struct("<qIII")  # id, offset, length, crc32
_SUM = struct.Struct("<I")
FIX = "make the view anew from the log: memory.builds.rebuild(user=..., view='chunks')"


def new_key(user: str) -> str:
    """An unused key; blocks of one user share a prefix, and no file is named after a user."""
    return f"{owner_of(user)}/{uuid.uuid4().hex}"


def encode(records: Sequence[tuple[int, bytes]]) -> bytes:
    """Build a block of (id, data) records."""
    head = bytearray(_COUNT.pack(_MAGIC, len(records)))
    offset = _COUNT.size + _ENTRY.size * len(records) + _SUM.size
    for number, data in records:
        head += _ENTRY.pack(number, offset, len(data), zlib.crc32(data))
        offset += len(data)
    head += _SUM.pack(zlib.crc32(head))
    return bytes(head) + b"".join(data for _, data in records)


def overhead(records: int) -> int:
    """Bytes of a block besides its records' data."""
    return _COUNT.size + _ENTRY.size * records + _SUM.size


def decode(block: bytes, key: str) -> list[tuple[int, bytes]]:
    """(id, data) by slot. Raises StorageCorrupt, which names the block, the damage and the fix."""
    magic, count = _COUNT.unpack_from(block) if len(block) >= _COUNT.size else (b"", 0)
    end = _COUNT.size + _ENTRY.size * count
    if magic != _MAGIC or len(block) < end + _SUM.size:
        raise _torn(key, "its header is not whole")
    if _SUM.unpack_from(block, end)[0] != zlib.crc32(block[:end]):
        raise _torn(key, "the checksum of its header is wrong")
    records = []
    for slot in range(count):
        number, offset, length, crc = _ENTRY.unpack_from(block, _COUNT.size + slot * _ENTRY.size)
        data = block[offset : offset + length]
        if len(data) < length or zlib.crc32(data) != crc:
            raise _torn(key, f"the checksum of slot {slot} is wrong")
        records.append((number, data))
    return records


def _torn(key: str, how: str) -> StorageCorrupt:
    return StorageCorrupt(f"block {key} is torn: {how}; {FIX}")


_logger = logging.getLogger(__name__)
_PER_STATEMENT = 400
_VIEW = "chunks"
T = TypeVar("T")
_READS = 5


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Size of a record, and the block that it is in."""

    id: int
    namespace: str
    time_us: int
    bytes: int
    block: str | None  # None: it is staged
    slot: int | None = None  # in the block


@dataclass(frozen=True, slots=True)
class Record:
    id: int
    namespace: str
    time_us: int  # records of a block stand in this order
    data: bytes


class RecordStore:
    """Records of all generations; every method works in the caller's transaction."""

    def __init__(self, store: ObjectStore) -> None:
        self.blocks = store

    def stage(self, connection: Connection, generation: Generation, staged: Sequence[Record]) -> None:
        """Insert or replace records; old copies in blocks become invalid."""
        self.remove(connection, generation, [record.id for record in staged])
        for batch in in_chunks(staged, _PER_STATEMENT):
            rows = [
                key_of(generation)
                | {name: getattr(record, name) for name in ("id", "namespace", "time_us", "data")}
                | {"bytes": len(record.data)}
                for record in batch
            ]
            connection.execute(records.insert(), rows)

    def remove(self, connection: Connection, generation: Generation, ids: Sequence[int]) -> None:
        """Delete records; their copies in blocks become invalid."""
        for batch in in_chunks(ids, _PER_STATEMENT):
            these = and_(of(records, generation), records.c.id.in_(batch))
            held = connection.execute(select(records.c.block).where(these)).scalars().all()
            invalidate(connection, generation, held)
            connection.execute(delete(records).where(these))

    def fetch(self, connection: Connection, generation: Generation, ids: Sequence[int]) -> dict[int, bytes]:
        """Data of these records, as far as they exist; each block is read once.

        Raises BlockMissing when a block was moved after the connection's snapshot was taken, and
        StorageCorrupt when one is torn.
        """
        data: dict[int, bytes] = {}
        in_blocks: dict[str, list[tuple[int, int]]] = {}
        for batch in in_chunks(ids, _PER_STATEMENT):
            query = select(records).where(of(records, generation), records.c.id.in_(batch))
            for row in connection.execute(query):
                if row.block is None:
                    data[row.id] = row.data
                else:
                    in_blocks.setdefault(row.block, []).append((row.id, row.slot))
        for key, wanted in in_blocks.items():
            slots = self.read(key)
            for number, slot in wanted:
                if slot >= len(slots) or slots[slot][0] != number:
                    raise StorageCorrupt(f"block {key} has no record {number} in slot {slot}; {FIX}")
                data[number] = slots[slot][1]
        return data

    def fetch_readable(
        self, connection: Connection, generation: Generation, ids: Sequence[int]
    ) -> tuple[dict[int, bytes], str]:
        """Like `fetch`, without unreadable records, and why they are ("" if none is)."""
        data: dict[int, bytes] = {}
        why: dict[str, None] = {}
        for number in ids:
            try:
                data |= self.fetch(connection, generation, [number])
            except (BlockMissing, StorageCorrupt) as error:
                why[str(error)] = None
        return data, "; ".join(why)

    def read(self, key: str) -> list[tuple[int, bytes]]:
        """A block's (id, data) by slot. Raises BlockMissing and StorageCorrupt."""
        try:
            block = self.blocks.get(key)
        except KeyError as error:
            fault = f"block {key} was moved while it was read, or is lost: if so, {FIX}"
            raise BlockMissing(fault) from error
        return decode(block, key)

    def places(self, connection: Connection, generation: Generation) -> list[RecordPlace]:
        """The directory: every live record, by id."""
        c = records.c
        query = select(c.id, c.namespace, c.time_us, c.bytes, c.block, c.slot).where(of(records, generation))
        return [RecordPlace(*row) for row in connection.execute(query.order_by(c.id))]

    def due(self, connection: Connection, generation: Generation, gc_invalid_ratio: float) -> set[str]:
        """Blocks whose invalid ratio (Eq. 2) has reached the threshold."""
        holed = (blocks.c.released == 0) & (blocks.c.invalid > 0)
        rows = connection.execute(select(blocks).where(of(blocks, generation), holed))
        return {row.block for row in rows if row.invalid >= gc_invalid_ratio * row.records}

    def expel(self, connection: Connection, generation: Generation, ids: Sequence[int]) -> None:
        """Forget records, and release every block that ever held a copy of one.

        Blocks that did are released, and what else they hold is staged again. After the commit and
        `release` no file has a byte of the records. A block that cannot be read may have held one: it
        goes too, and the records in it with it, since to forget must always be possible.
        """
        gone = set(ids)
        if not gone:
            return
        in_use = select(blocks.c.block).where(of(blocks, generation), blocks.c.released == 0)
        for key in connection.execute(in_use).scalars().all():
            query = select(records).where(of(records, generation), records.c.block == key)
            here = connection.execute(query).all()
            try:
                slots = self.read(key)
            except (BlockMissing, StorageCorrupt) as error:
                _logger.warning("%s: what was in it is gone; rebuild the view", error)
                self.remove(connection, generation, [row.id for row in here])
                slots, here = [(number, b"") for number in gone], []
            if not gone.isdisjoint(number for number, _ in slots):
                again = [Record(row.id, row.namespace, row.time_us, slots[row.slot][1]) for row in here]
                self.stage(connection, generation, again)
                this = update(blocks).where(of(blocks, generation), blocks.c.block == key)
                connection.execute(this.values(released=1, invalid=blocks.c.records))
        self.remove(connection, generation, sorted(gone))

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Delete all records of a generation; its blocks are released."""
        connection.execute(delete(records).where(of(records, generation)))
        all_of_it = update(blocks).where(of(blocks, generation))
        connection.execute(all_of_it.values(released=1, invalid=blocks.c.records))

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Disagreements of directory, blocks and tombstones."""
        faults = []
        c = records.c
        places: dict[str, list[Any]] = {}
        for row in connection.execute(select(records).where(of(records, generation)).order_by(c.id)):
            if (row.block is None) != (row.data is not None):
                faults.append(f"record {row.id} is both staged and in a block, or neither")
            elif row.block is not None:
                places.setdefault(row.block, []).append(row)
        known = {row.block: row for row in connection.execute(select(blocks).where(of(blocks, generation)))}
        faults += [f"block {key} has records and no row" for key in sorted(set(places) - set(known))]
        for key, row in sorted(known.items()):
            live, wanted = places.get(key, []), row.records - row.invalid
            if row.released:
                faults += [f"block {key} is released and has live records"] if live else []
                continue
            if wanted != len(live):
                faults.append(f"block {key} should have {wanted} live records, it has {len(live)}")
            try:
                slots = self.read(key)
            except (BlockMissing, StorageCorrupt) as error:
                missing = isinstance(error, BlockMissing)
                faults.append(f"block {key} is missing" if missing else str(error))
                continue
            for record in live:
                right = record.slot < len(slots) and slots[record.slot][0] == record.id
                if not right or len(slots[record.slot][1]) != record.bytes:
                    faults.append(f"record {record.id} is not in slot {record.slot} of block {key}")
                if record.namespace != row.namespace:
                    faults.append(f"record {record.id} is in a block of another namespace")
        return faults


def read_again(read: Callable[[], T]) -> T:
    """Call `read`, which takes its own snapshot, again while a block was moved after the snapshot.

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


def invalidate(connection: Connection, generation: Generation, keys: Sequence[str | None]) -> None:
    """Count one more invalid record in each of these blocks; an empty block is marked as released."""
    for key in keys:
        if key is not None:
            this = and_(of(blocks, generation), blocks.c.block == key)
            connection.execute(update(blocks).where(this).values(invalid=blocks.c.invalid + 1))
            empty = and_(this, blocks.c.invalid >= blocks.c.records)
            connection.execute(update(blocks).where(empty).values(released=1))


def key_of(generation: Generation) -> dict[str, Any]:
    return {"user": generation.user, "view": _VIEW, "generation": generation.number}


def of(table: Any, generation: Generation) -> ColumnElement[bool]:
    c = table.c
    return and_(c.user == generation.user, c.view == _VIEW, c.generation == generation.number)


ORPHAN_AGE_S = 3600.0  # a move takes seconds


def release(database: Database, store: RecordStore, user: str | None = None) -> int:
    """RELEASE, line 23: delete released blocks, a user's or all, from store and table; returns how many."""
    query = select(blocks.c.user, blocks.c.block).where(blocks.c.released == 1)
    if user is not None:
        query = query.where(blocks.c.user == user)
    with database.read(user) as connection:
        if rows := connection.execute(query).all():
            must_be_current(database, connection)
    for row in rows:
        store.blocks.delete(row.block)
    if rows:
        with database.write(*{row.user for row in rows}) as connection:
            for row in rows:
                gone = delete(blocks).where(blocks.c.user == row.user, blocks.c.block == row.block)
                connection.execute(gone)
    return len(rows)


def users_with_released(connection: Connection, user: str | None = None) -> set[str]:
    """Users, or the one given, with blocks to be deleted."""
    query = select(blocks.c.user).where(text("released = 1")).distinct()
    return set(connection.execute(query if user is None else query.where(blocks.c.user == user)).scalars())


def clean_all(database: Database) -> None:
    """Delete all users' released blocks, and orphans of crashes that are too old to be in use."""
    store = RecordStore(database.blocks)
    release(database, store)
    reclaim_orphans(database, store)


def reclaim_orphans(
    database: Database, store: RecordStore, older_than_s: float = ORPHAN_AGE_S, user: str | None = None
) -> int:
    """Delete blocks that are in no table and too old to be in use; returns how many.

    With 0 seconds a move under way may find its block gone: it gives up, and nothing is lost.
    """
    prefix = "" if user is None else f"{owner_of(user)}/"
    suspects = [key for key, age_s in store.blocks.names(prefix) if age_s >= older_than_s]
    if not suspects:
        return 0
    with database.read(user) as connection:
        known = set(connection.execute(select(blocks.c.block)).scalars())
    if known.issuperset(suspects):
        return 0
    with database.write(*([] if user is None else [user])) as connection:
        known = set(connection.execute(select(blocks.c.block)).scalars())
        orphans = [key for key in suspects if key not in known]
        for key in orphans:
            store.blocks.delete(key)
    return len(orphans)
