"""Where records lie: those that belong together, together. Akashic, section 4.2 and Algorithm 2.

A record waits in the database until there is good company for it, and is written into a block with that. So a
place is chosen once, when a record is written anyway, and again when its block is collected. Nothing is moved
only because it was read together (lines 3 to 10): docs/decisions.md has what that cost and did not save.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, select, update

from zibaldone.errors import InvalidInput
from zibaldone.storage.bucket_blocks import must_be_current
from zibaldone.storage.database import Database
from zibaldone.storage.schema import blocks, records
from zibaldone.validation import shown
from zibaldone.views.chunks.storage.blocks import encode, new_key
from zibaldone.views.chunks.storage.planning import Association, plan
from zibaldone.views.chunks.storage.records import Owner, RecordStore, invalidate, key_of, of


@dataclass(frozen=True, slots=True)
class Placement:
    """The memory manager's parameters; docs/decisions.md has the sweeps."""

    block_bytes: int = 64 * 1024  # the paper names none
    gc_invalid_ratio: float = 0.3  # phi from which a block is written anew: 0.75 in section 4, 0.3 in 5.5
    staged_blocks: float = 4  # ours: blocks' worth of a namespace's records that may wait for company

    def __post_init__(self) -> None:
        if (
            isinstance(self.block_bytes, bool)
            or not isinstance(self.block_bytes, int)
            or self.block_bytes < 1
        ):
            raise InvalidInput(f"block_bytes must be a whole number above 0, not {shown(self.block_bytes)}")
        for name in ("gc_invalid_ratio", "staged_blocks"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise InvalidInput(f"{name} must be a number from 0, not {shown(value)}")


@dataclass(frozen=True, slots=True)
class Moved:
    records: int = 0
    bytes: int = 0  # written, headers included
    blocks_written: int = 0
    blocks_released: int = 0

    def __add__(self, other: Moved) -> Moved:
        return Moved(
            self.records + other.records,
            self.bytes + other.bytes,
            self.blocks_written + other.blocks_written,
            self.blocks_released + other.blocks_released,
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A record and where it was read from."""

    id: int
    namespace: str
    time_us: int
    data: bytes
    block: str | None  # None: it was staged
    slot: int | None


def arrange(
    database: Database, store: RecordStore, placement: Placement, owner: Owner, association: Association
) -> Moved:
    """Algorithm 2: write what has waited long enough, and anew what is left of blocks that are due."""
    with database.read(owner.user) as connection:
        layout = store.layout(connection, owner)
    planned = plan(
        layout, placement.block_bytes, placement.gc_invalid_ratio, placement.staged_blocks, association
    )
    with database.read(owner.user) as connection:
        packed = [read_placed(connection, store, owner, ids) for ids in planned]
    return move(database, store, owner, packed)


def read_placed(connection: Connection, store: RecordStore, owner: Owner, ids: Sequence[int]) -> list[Placed]:
    c = records.c
    query = select(records).where(of(records, owner), c.id.in_(list(ids))).order_by(c.time_us, c.id)
    data = store.fetch(connection, owner, ids).data
    return [
        Placed(row.id, row.namespace, row.time_us, data[row.id], row.block, row.slot)
        for row in connection.execute(query)
    ]


def move(database: Database, store: RecordStore, owner: Owner, packed: Sequence[Sequence[Placed]]) -> Moved:
    """Publish new blocks, then switch the directory in one transaction: see the module reclaim for a crash.

    A new block is taken into use whole or not at all. When one of its records was changed or removed since
    it was read, it may have been forgotten, and the block has its bytes: the block is released at once, and
    its records stay where they are.
    """
    published = [(new_key(owner.user), contents) for contents in packed if contents]
    if not published:
        return Moved()
    written = 0
    for key, contents in published:
        block = encode([(record.id, record.data) for record in contents])
        store.blocks.put(key, block)
        written += len(block)
    released = 0
    moved = 0
    with database.write(owner.user) as connection:
        must_be_current(database, connection)
        for key, contents in published:
            switched = _switch(connection, store, owner, key, contents)
            moved += switched
            released += switched == 0
        before = {record.block for _, contents in published for record in contents if record.block}
        query = select(blocks.c.block).where(of(blocks, owner), blocks.c.released == 1)
        released += len(before & set(connection.execute(query).scalars()))
    return Moved(moved, written, len(published), released)


def _switch(
    connection: Connection, store: RecordStore, owner: Owner, key: str, contents: Sequence[Placed]
) -> int:
    """Point the directory to the new block; how many records it is the place of now."""
    try:
        size = len(store.blocks.get(key))
    except KeyError:  # taken for an orphan: the move was too slow, and is done again some day
        return 0
    unchanged = all(
        connection.execute(select(records.c.id).where(_is_where_it_was(owner, record))).first()
        for record in contents
    )
    moved = 0
    for slot, record in enumerate(contents if unchanged else ()):
        row = update(records).where(_is_where_it_was(owner, record))
        if connection.execute(row.values(block=key, slot=slot, data=None)).rowcount:
            moved += 1
            invalidate(connection, owner, [record.block])
    connection.execute(
        blocks.insert().values(
            **key_of(owner),
            block=key,
            namespace=contents[0].namespace,
            records=len(contents),
            invalid=len(contents) - moved,
            bytes=size,
            released=int(moved == 0),
        )
    )
    return moved


def _is_where_it_was(owner: Owner, record: Placed) -> ColumnElement[bool]:
    c = records.c
    same = (c.block == record.block) & (c.slot == record.slot)
    if record.block is None:
        same = c.block.is_(None) & (c.data == record.data)
    return and_(of(records, owner), c.id == record.id, same)
