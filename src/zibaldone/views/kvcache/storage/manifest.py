"""The manifest: owner, messages, tokens, bounding boxes and checksum of every block."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sqlalchemy import Connection, Row, func, select, update

from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import kv_blocks, kv_pools, messages
from zibaldone.views import own_rows
from zibaldone.views.base import Generation
from zibaldone.views.kvcache.config import Alignment
from zibaldone.views.kvcache.model.turns import PREFIX, Tile
from zibaldone.views.kvcache.storage.layout import BlockLayout, LayerSize
from zibaldone.views.own_rows import insert, key_of, of

_PER_STATEMENT = 500
_b = kv_blocks.c
_WITHOUT_BOXES = [column for column in _b if column is not _b.boxes]


@dataclass(frozen=True, slots=True)
class Pool:
    """One generation's pool."""

    generation: Generation
    layout: BlockLayout
    align: Alignment


@dataclass(frozen=True, slots=True)
class KVBlock:
    """A row of the manifest."""

    number: int
    session: str
    segment: int
    tile: Tile
    time_us: int
    crc: int | None = None  # of its keys and values; None while these are to be made

    @property
    def tokens(self) -> int:
        return len(self.tile.ids)

    @property
    def place(self) -> tuple[str, int, int]:
        """Order inside of the conversation."""
        return (self.session, self.segment, self.tile.position)

    @property
    def chronological(self) -> tuple[int, str, int, int]:
        """Order of the log: a block stands where its first message does."""
        return (self.tile.runs[0][0], *self.place)


def pools(connection: Connection, user: str) -> list[Pool]:
    """Pools of all generations, in their order."""
    rows = connection.execute(select(kv_pools).where(kv_pools.c.user == user).order_by(kv_pools.c.generation))
    return [_pool(row) for row in rows]


def pool(connection: Connection, generation: Generation) -> Pool | None:
    """The generation's pool; None if it has none."""
    row = connection.execute(select(kv_pools).where(of(kv_pools, generation))).first()
    return _pool(row) if row else None


def open_pool(connection: Connection, made: Pool) -> None:
    generation = made.generation
    described = json.dumps({**asdict(made.layout), "align": made.align})
    connection.execute(
        kv_pools.insert().values(
            **key_of(generation), fingerprint=generation.fingerprint, layout=described, blocks=0
        )
    )


def reserve_numbers(connection: Connection, owner: Pool, count: int) -> range:
    """Reserve `count` numbers that no block has had."""
    c = kv_pools.c
    where = of(kv_pools, owner.generation)
    first = int(connection.execute(select(c.blocks).where(where)).scalar_one()) + 1
    connection.execute(update(kv_pools).where(where).values(blocks=first + count - 1))
    return range(first, first + count)


def add(
    connection: Connection,
    generation: Generation,
    blocks: Iterable[KVBlock],
    boxes: Mapping[int, bytes] | None = None,
) -> None:
    """Add blocks; `boxes` are by number."""
    rows = [
        key_of(generation)
        | {
            "block": block.number,
            "session": block.session,
            "segment": block.segment,
            "position": block.tile.position,
            "tokens": block.tokens,
            "first_seq": block.tile.runs[0][0],
            "last_seq": block.tile.runs[-1][0],
            "runs": json.dumps(block.tile.runs),
            "token_ids": np.asarray(block.tile.ids, np.int32).tobytes(),
            "time_us": block.time_us,
            "crc": block.crc,
            "boxes": None if boxes is None else boxes.get(block.number),
        }
        for block in blocks
    ]
    insert(connection, kv_blocks, rows)


def set_keys(
    connection: Connection, generation: Generation, number: int, crc: int | None, boxes: bytes | None = None
) -> None:
    """Update checksum and boxes of a block; with None its keys are to be made again."""
    connection.execute(
        update(kv_blocks).where(of(kv_blocks, generation), _b.block == number).values(crc=crc, boxes=boxes)
    )


def boxes_of(connection: Connection, generation: Generation) -> list[tuple[KVBlock, bytes]]:
    """Blocks that have keys, with their boxes, in the order of their numbers."""
    query = select(kv_blocks).where(of(kv_blocks, generation), _b.crc.is_not(None)).order_by(_b.block)
    return [(_block(row), row.boxes) for row in connection.execute(query)]


def all_blocks(connection: Connection, generation: Generation) -> list[KVBlock]:
    return _blocks(connection, generation, order=(_b.block,))


def written(connection: Connection, generation: Generation) -> list[tuple[int, int]]:
    """(number, checksum) of blocks that have keys."""
    query = select(_b.block, _b.crc).where(of(kv_blocks, generation), _b.crc.is_not(None))
    return [(row.block, row.crc) for row in connection.execute(query)]


def fetch(connection: Connection, generation: Generation, numbers: Sequence[int]) -> dict[int, KVBlock]:
    """Existing blocks, by number."""
    blocks: dict[int, KVBlock] = {}
    for part in in_chunks(numbers, _PER_STATEMENT):
        blocks.update({b.number: b for b in _blocks(connection, generation, _b.block.in_(part))})
    return blocks


def segment(connection: Connection, generation: Generation, session: str, number: int) -> list[KVBlock]:
    """Blocks of a segment, in their order."""
    where = (_b.session == session, _b.segment == number)
    return _blocks(connection, generation, *where, order=(_b.position, _b.block))


def last_segment(connection: Connection, generation: Generation, session: str) -> list[KVBlock]:
    """Blocks of the session's newest segment; [] if there is none."""
    newest = select(func.max(_b.segment)).where(of(kv_blocks, generation), _b.session == session)
    where = (_b.session == session, _b.segment == newest.scalar_subquery())
    return _blocks(connection, generation, *where, order=(_b.position, _b.block))


def touching(connection: Connection, generation: Generation, seqs: Sequence[int]) -> list[KVBlock]:
    """Blocks with tokens of any of these messages."""
    wanted = set(seqs)
    blocks: dict[int, KVBlock] = {}
    for part in in_chunks(sorted(wanted), _PER_STATEMENT):
        near = _blocks(connection, generation, _b.last_seq >= part[0], _b.first_seq <= part[-1])
        blocks.update({b.number: b for b in near if wanted.intersection(b.tile.seqs)})
    return list(blocks.values())


def of_turns(connection: Connection, generation: Generation, seqs: Sequence[int]) -> dict[int, list[KVBlock]]:
    """Blocks of these messages in their order, by seq; for align="turn", where a block is of one message."""
    by_turn: dict[int, list[KVBlock]] = {}
    for part in in_chunks(sorted(set(seqs)), _PER_STATEMENT):
        for block in _blocks(connection, generation, _b.last_seq.in_(part), order=(_b.last_seq, _b.block)):
            by_turn.setdefault(block.tile.seqs[-1], []).append(block)
    return by_turn


def newest(connection: Connection, generation: Generation, session: str, limit: int) -> list[KVBlock]:
    """The last blocks of a session that have keys, in the order of the log."""
    where = _b.crc.is_not(None), _b.session == session
    order = (_b.first_seq.desc(), _b.position.desc())
    return sorted(
        _blocks(connection, generation, *where, order=order, limit=limit), key=lambda b: b.chronological
    )


def unmade(connection: Connection, generation: Generation) -> list[tuple[str, int]]:
    """(session, segment) of blocks whose keys are to be computed."""
    rows = connection.execute(
        select(_b.session, _b.segment).where(of(kv_blocks, generation), _b.crc.is_(None)).distinct()
    )
    return sorted((row.session, row.segment) for row in rows)


def users_with_unmade(connection: Connection, user: str | None = None) -> set[str]:
    """Users, or the one given, with blocks whose keys are to be computed."""
    query = select(_b.user).where(_b.crc.is_(None)).distinct()
    return set(connection.execute(query if user is None else query.where(_b.user == user)).scalars())


def totals(connection: Connection, generation: Generation) -> tuple[int, int]:
    """(blocks, tokens)."""
    blocks, tokens = connection.execute(
        select(func.count(), func.coalesce(func.sum(_b.tokens), 0)).where(of(kv_blocks, generation))
    ).one()
    return int(blocks), int(tokens)


def last_seq(connection: Connection, generation: Generation) -> int:
    """The newest message with a block; 0 if none has one, and at most the prefix does."""
    newest = select(func.max(_b.last_seq)).where(of(kv_blocks, generation))
    return int(connection.execute(newest).scalar() or 0)


def remove(connection: Connection, generation: Generation, blocks: Sequence[KVBlock]) -> None:
    """Delete rows; their files are removed by the next `clean`."""
    own_rows.remove(connection, kv_blocks, generation, _b.block, [block.number for block in blocks])


def drop(connection: Connection, generation: Generation) -> None:
    """Delete all rows of a generation; its files are removed by the next `clean`."""
    own_rows.drop(connection, generation, kv_pools, kv_blocks)


def faults(connection: Connection, generation: Generation) -> list[str]:
    """Disagreements of rows with the log and with each other."""
    covered: dict[int, int] = {}
    disagreements: list[str] = []
    by_segment: dict[tuple[str, int], int] = {}
    for block in sorted(all_blocks(connection, generation), key=lambda block: block.place):
        for seq, tokens in block.tile.runs:
            covered[seq] = covered.get(seq, 0) + tokens
        if sum(tokens for _, tokens in block.tile.runs) != block.tokens:
            disagreements.append(f"block {block.number} has {block.tokens} tokens, its messages have others")
        if (expected := by_segment.get(block.place[:2], 0)) != block.tile.position:
            disagreements.append(f"block {block.number} begins at {block.tile.position}, not at {expected}")
        by_segment[block.place[:2]] = block.tile.position + block.tokens
    covered.pop(PREFIX, None)
    logged = set(
        connection.execute(
            select(messages.c.seq).where(
                messages.c.user == generation.user, messages.c.seq <= generation.cursor
            )
        ).scalars()
    )
    disagreements += [f"no block of message {seq}" for seq in sorted(logged - set(covered))]
    disagreements += [
        f"a block of message {seq}, which is not in the log" for seq in sorted(set(covered) - logged)
    ]
    return disagreements


def _pool(row: Row[Any]) -> Pool:
    described = json.loads(row.layout)
    align = described.pop("align")
    described["layers"] = tuple(LayerSize(**size) for size in described["layers"])
    generation = Generation(row.user, row.generation, row.fingerprint, 0)
    return Pool(generation, BlockLayout(**described), align)


def _blocks(
    connection: Connection,
    generation: Generation,
    *where: Any,
    order: Sequence[Any] = (),
    limit: int | None = None,
) -> list[KVBlock]:
    query = select(*_WITHOUT_BOXES).where(of(kv_blocks, generation), *where).order_by(*order).limit(limit)
    return [_block(row) for row in connection.execute(query)]


def _block(row: Row[Any]) -> KVBlock:
    return KVBlock(
        number=row.block,
        session=row.session,
        segment=row.segment,
        tile=Tile(
            row.position,
            tuple(np.frombuffer(row.token_ids, np.int32).tolist()),
            tuple((seq, tokens) for seq, tokens in json.loads(row.runs)),
        ),
        time_us=row.time_us,
        crc=row.crc,
    )


P = ParamSpec("P")
R = TypeVar("R")
Read = Callable[[], AbstractContextManager[Connection]]  # opens a read transaction


@dataclass(frozen=True, slots=True)
class PoolReader:
    """A pool, and access to its rows in short transactions.

    A model may be slow or hang, so none of its passes runs inside a transaction: others' writing and
    forgetting would wait for it. A change between two looks shows in the later one.
    """

    pool: Pool
    read: Read

    def look(
        self, query: Callable[Concatenate[Connection, Generation, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Run one of the manifest's queries for this pool."""
        with self.read() as connection:
            return query(connection, self.pool.generation, *args, **kwargs)
