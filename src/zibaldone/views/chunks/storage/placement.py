"""Where records lie: those that are read together, together. Akashic, section 4.2 and Algorithm 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, select, update

from zibaldone.errors import InvalidInput
from zibaldone.search.clustering import agglomerate
from zibaldone.storage.database import Database
from zibaldone.storage.schema import blocks, records
from zibaldone.validation import shown
from zibaldone.views.chunks.storage.blocks import encode, new_key, overhead
from zibaldone.views.chunks.storage.records import Matrix, Owner, RecordStore, invalidate, key_of, of

Grouping = Callable[[Sequence[int]], Sequence[Sequence[int]]]
MOST_GROUPED = 64  # records that are grouped at a time, those that were read most
_FULL = 0.75  # of a block, from which it is worth writing


@dataclass(frozen=True, slots=True)
class Placement:
    """The memory manager's parameters, named as in the paper; docs/log.md has the sweeps."""

    block_bytes: int = 64 * 1024  # the paper names none
    tau_assoc: float = 0.7  # association from which records are put together (section 5.5)
    gc_invalid_ratio: float = 0.3  # phi from which a block is written anew: 0.75 in section 4, 0.3 in 5.5
    # Ours: what is co-located must fill so much of a block, lest the layout falls into crumbs ...
    least_fill: float = 0.5
    # ... and must have cost so many bytes of needless reading per byte that the move writes.
    least_regret: float = 8.0

    def __post_init__(self) -> None:
        if (
            isinstance(self.block_bytes, bool)
            or not isinstance(self.block_bytes, int)
            or self.block_bytes < 1
        ):
            raise InvalidInput(f"block_bytes must be a whole number above 0, not {shown(self.block_bytes)}")
        for name in ("tau_assoc", "gc_invalid_ratio", "least_fill", "least_regret"):
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


def flush(
    database: Database, store: RecordStore, placement: Placement, owner: Owner, *, everything: bool = False
) -> Moved:
    """Move staged records into blocks, namespace by namespace, in the order of time.

    Only as many as fill blocks, unless `everything`: the rest waits for company.
    """
    c = records.c
    done = Moved()
    with database.read() as connection:
        staged = select(records).where(of(records, owner), c.block.is_(None))
        waiting: dict[str, list[Placed]] = {}
        for row in connection.execute(staged.order_by(c.namespace, c.time_us, c.id)):
            record = Placed(row.id, row.namespace, row.time_us, row.data, None, None)
            waiting.setdefault(row.namespace, []).append(record)
    for staged_records in waiting.values():
        full = pack(staged_records, placement.block_bytes)
        if not everything and full and _size(full[-1]) < placement.block_bytes * _FULL:
            full.pop()
        done += move(database, store, owner, full)
    return done


def colocate(
    database: Database,
    store: RecordStore,
    placement: Placement,
    owner: Owner,
    read_sets: Iterable[Sequence[int]],
    group: Grouping,
) -> Moved:
    """Algorithm 2, lines 3 to 10: put together what was read together, where that is worth a write.

    `read_sets` are the records that were read in one go since the last time; `group` says which of them
    belong together. What is still staged is left there: it costs no block to read.
    """
    with database.read() as connection:
        places = store.places(connection, owner)
    count: Counter[int] = Counter()
    for ids in read_sets:
        in_blocks = [number for number in ids if places.get(number)]
        if len({places[number] for number in in_blocks}) > 1:
            count.update(in_blocks)
    often = sorted(number for number, _ in count.most_common(MOST_GROUPED))
    if len(often) < 2:
        return Moved()
    groups = [ids for ids in group(often) if _is_worth_it(database, store, placement, owner, ids)]
    return relocate(database, store, placement, owner, groups)


def _is_worth_it(
    database: Database, store: RecordStore, placement: Placement, owner: Owner, group: Sequence[int]
) -> bool:
    """Whether the group fills a block well enough, and lying apart has cost more than a move will.

    Records of n places that are read t times together make t * n * (n - 1) / 2 pairs across blocks, and
    t * (n - 1) reads that one block would have saved.
    """
    with database.read() as connection:
        places = store.places(connection, owner)
        pairs = store.pairs(connection, owner, group)
        written = store.bytes_of(connection, owner, group)
    apart = sum(times for (a, b), times in pairs.items() if a != b and places.get(a) != places.get(b))
    saved = 2 * apart / max(len(group), 1)
    return (
        written >= placement.least_fill * placement.block_bytes
        and saved * placement.block_bytes >= placement.least_regret * written
    )


def relocate(
    database: Database,
    store: RecordStore,
    placement: Placement,
    owner: Owner,
    groups: Iterable[Sequence[int]],
) -> Moved:
    """Write each group into new blocks of its own, in the order of time; one that lies well is left alone."""
    done = Moved()
    for group in groups:
        with database.read() as connection:
            placed = [
                record for record in read_placed(connection, store, owner, group) if record.block is not None
            ]
        for namespace in sorted({record.namespace for record in placed}):
            together = [record for record in placed if record.namespace == namespace]
            packed = pack(together, placement.block_bytes)
            if len({record.block for record in together}) > len(packed):
                done += move(database, store, owner, packed)
    return done


def read_placed(connection: Connection, store: RecordStore, owner: Owner, ids: Sequence[int]) -> list[Placed]:
    c = records.c
    query = select(records).where(of(records, owner), c.id.in_(list(ids))).order_by(c.time_us, c.id)
    data = store.fetch(connection, owner, ids).data
    return [
        Placed(row.id, row.namespace, row.time_us, data[row.id], row.block, row.slot)
        for row in connection.execute(query)
    ]


def pack(placed: Sequence[Placed], block_bytes: int) -> list[list[Placed]]:
    """Fill blocks in the given order; a record that is larger than a block gets one of its own."""
    packed: list[list[Placed]] = []
    for record in placed:
        if packed and _size([*packed[-1], record]) <= block_bytes:
            packed[-1].append(record)
        else:
            packed.append([record])
    return packed


def groups_above(
    ids: Sequence[int], association: Matrix, tau: float, sizes: Sequence[int], most_bytes: int
) -> list[list[int]]:
    """Groups of two and more that are associated by tau at least, on average, and fit into one block.

    Average linkage: the two groups with the highest mean association are merged, until none is left that
    reaches tau and fits. `association` is (n, n), `sizes` the records' bytes.
    """
    groups = agglomerate(association, linkage="mean", least=tau, sizes=sizes, most=most_bytes)
    return [sorted(ids[place] for place in group) for group in groups if len(group) > 1]


def _size(placed: Sequence[Placed]) -> int:
    return overhead(len(placed)) + sum(len(record.data) for record in placed)


def move(database: Database, store: RecordStore, owner: Owner, packed: Sequence[Sequence[Placed]]) -> Moved:
    """Publish new blocks, then switch the directory in one transaction: see the module reclaim for a crash.

    A new block is taken into use whole or not at all. When one of its records was changed or removed since
    it was read, it may have been forgotten, and the block has its bytes: the block is released at once, and
    its records stay where they are.
    """
    if not packed:
        return Moved()
    published = [(new_key(owner.user), contents) for contents in packed]
    written = 0
    for key, contents in published:
        block = encode([(record.id, record.data) for record in contents])
        store.blocks.put(key, block)
        written += len(block)
    released = 0
    moved = 0
    with database.write() as connection:
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
