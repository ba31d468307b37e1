"""Places in a pool's files: which are free, and which are to be overwritten because nothing lives there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, and_, delete, func, select

from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import kv_blocks, kv_erasures
from zibaldone.storage.upsert import insert_missing
from zibaldone.views import own_rows
from zibaldone.views.base import Generation
from zibaldone.views.own_rows import key_of, matching, of

_PER_STATEMENT = 500
_b = kv_blocks.c


def take_slots(connection: Connection, generation: Generation, count: int) -> list[int]:
    """So many places that no row names; what was to be overwritten there will be.

    To be called before rows are removed in the same transaction: their places are still named by the state
    that a rollback goes back to.
    """
    erased_slots = erasures(connection, generation)[0]
    waiting = erased_slots[:count]
    c = kv_erasures.c
    for some in in_chunks(waiting, _PER_STATEMENT):
        these = and_(of(kv_erasures, generation), c.kind == "slot", c.place.in_(some))
        connection.execute(delete(kv_erasures).where(these))
    return waiting + _free(connection, generation, count - len(waiting), set(erased_slots))


def _free(connection: Connection, generation: Generation, count: int, unusable: set[int]) -> list[int]:
    """The first so many places that no row names, without these."""
    where = (of(kv_blocks, generation), _b.slot.is_not(None))
    taken, last = connection.execute(select(func.count(), func.max(_b.slot)).where(*where)).one()
    end = max([-1 if last is None else int(last), *unusable])
    if taken + len(unusable) == end + 1:
        return list(range(end + 1, end + 1 + count))
    unusable |= {int(slot) for (slot,) in connection.execute(select(_b.slot).where(*where))}
    return list(itertools.islice((place for place in itertools.count() if place not in unusable), count))


def unnamed(
    connection: Connection, generation: Generation, slots: Sequence[int], rows: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Those of these places of blocks, and of boxes, that no row names."""
    query = select(_b.slot).where(of(kv_blocks, generation))
    named = {row.slot for row in matching(connection, query, _b.slot, slots)}
    query = select(_b.block).where(of(kv_blocks, generation), _b.boxes_crc.is_not(None))
    boxed = {row.block - 1 for row in matching(connection, query, _b.block, [row + 1 for row in rows])}
    return [slot for slot in slots if slot not in named], [row for row in rows if row not in boxed]


def named(connection: Connection, generation: Generation) -> tuple[set[int], set[int]]:
    """(slots, rows) that a row names."""
    rows = connection.execute(select(_b.block, _b.slot, _b.boxes_crc).where(of(kv_blocks, generation))).all()
    return (
        {row.slot for row in rows if row.slot is not None},
        {row.block - 1 for row in rows if row.boxes_crc is not None},
    )


def last_slot(connection: Connection, generation: Generation) -> int:
    """The highest place that a row names; -1 when none does."""
    highest = connection.execute(select(func.max(_b.slot)).where(of(kv_blocks, generation))).scalar()
    return -1 if highest is None else int(highest)


def erase(
    connection: Connection, generation: Generation, slots: Iterable[int], rows: Iterable[int] = ()
) -> None:
    """Note that nothing lives any more in these places of blocks and of boxes."""
    places = [("slot", slot) for slot in slots] + [("row", row) for row in rows]
    key = key_of(generation)
    insert_missing(connection, kv_erasures, [key | {"kind": kind, "place": place} for kind, place in places])


def erasures(connection: Connection, generation: Generation) -> tuple[list[int], list[int]]:
    """(slots, rows) that are to be overwritten."""
    c = kv_erasures.c
    rows = connection.execute(select(c.kind, c.place).where(of(kv_erasures, generation)))
    by_kind: dict[str, list[int]] = {"slot": [], "row": []}
    for row in rows:
        by_kind[row.kind].append(row.place)
    return sorted(by_kind["slot"]), sorted(by_kind["row"])


def erased(connection: Connection, generation: Generation) -> None:
    """All of them were overwritten."""
    own_rows.drop(connection, generation, kv_erasures)
