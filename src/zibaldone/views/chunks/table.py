"""Rows of the chunk table: metadata, covered messages, history. Items are records in blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, select, update

from zibaldone import log
from zibaldone.core.validation import shown
from zibaldone.errors import StorageCorrupt
from zibaldone.log import from_us, to_us
from zibaldone.search import dense
from zibaldone.storage.schema import chunk_history, chunk_sources, chunks, messages
from zibaldone.storage.upsert import insert_missing
from zibaldone.views import own_rows
from zibaldone.views.base import Generation
from zibaldone.views.chunks.chunk import Chunk, Metadata, Past, item_from_json, item_to_json
from zibaldone.views.own_rows import insert, key_of, matching, of
from zibaldone.views.user_cache import UserCache

_REASON_GONE = "a model failed or was refused: the reason went when something was forgotten"


def load(
    connection: Connection, generation: Generation, dimension: int, *, only: Sequence[int] | None = None
) -> dict[int, Chunk]:
    """Chunks of a generation by number, emptied ones too; all, or those of `only`.

    `dimension` is the embedder's; with 0 the vectors are left out.
    """
    query = select(chunks).where(of(chunks, generation)).order_by(chunks.c.chunk)
    return {row.chunk: _to_chunk(row, dimension) for row in matching(connection, query, chunks.c.chunk, only)}


def bare(connection: Connection, generation: Generation) -> list[int]:
    """Numbers of non-empty chunks without vectors."""
    c = chunks.c
    query = select(c.chunk).where(of(chunks, generation), c["items"] > 0, func.length(c.vectors) == 0)
    return list(connection.execute(query.order_by(c.chunk)).scalars())


def write(connection: Connection, generation: Generation, written: Sequence[Chunk]) -> None:
    """Insert chunks, or replace them by new versions."""
    own_rows.remove(connection, chunks, generation, chunks.c.chunk, [chunk.id for chunk in written])
    insert(connection, chunks, [_to_row(generation, chunk) for chunk in written])


def forget_reasons(connection: Connection, generation: Generation) -> None:
    """Replace every reason why a chunk was made offline by a general one.

    It quotes a model or its server, who were shown words of other chunks too.
    """
    failed = and_(of(chunks, generation), chunks.c.degraded != "")
    connection.execute(update(chunks).where(failed).values(degraded=_REASON_GONE))


def remove(connection: Connection, generation: Generation, numbers: Sequence[int]) -> None:
    for table in (chunks, chunk_sources, chunk_history):
        own_rows.remove(connection, table, generation, table.c.chunk, numbers)


def add_sources(connection: Connection, generation: Generation, pairs: Iterable[tuple[int, int]]) -> None:
    """Store (seq, chunk) pairs of messages that a chunk has read; known pairs are ignored."""
    rows = [key_of(generation) | {"seq": seq, "chunk": number} for seq, number in sorted(set(pairs))]
    insert_missing(connection, chunk_sources, rows)


def sources(
    connection: Connection, generation: Generation, seqs: Sequence[int] | None = None
) -> list[tuple[int, int]]:
    """(seq, chunk) pairs of the generation, or of some messages."""
    c = chunk_sources.c
    query = select(c.seq, c.chunk).where(of(chunk_sources, generation)).order_by(c.seq, c.chunk)
    return [(row.seq, row.chunk) for row in matching(connection, query, c.seq, seqs)]


def remove_sources(connection: Connection, generation: Generation, seqs: Sequence[int]) -> None:
    own_rows.remove(connection, chunk_sources, generation, chunk_sources.c.seq, seqs)


def uncovered(
    connection: Connection,
    generation: Generation | None,
    user: str,
    inside: frozenset[int] | None,
    limit: int,
) -> list[int]:
    """Seqs of the newest messages that no chunk has read, rising; of those `inside`, if given."""
    m, c = messages.c, chunk_sources.c
    query = select(m.seq).where(m.user == user)
    if generation is not None:
        query = query.where(m.seq.not_in(select(c.seq).where(of(chunk_sources, generation))))
    query = query.order_by(m.seq.desc())
    if inside is None:
        return sorted(connection.execute(query.limit(limit)).scalars())
    return sorted(islice((seq for seq in connection.execute(query).scalars() if seq in inside), limit))


def faults(connection: Connection, generation: Generation) -> list[str]:
    """Messages that chunks skip, or that the log lacks; chunks past the cursor."""
    m, s, c = messages.c, chunk_sources.c, chunks.c
    named = of(chunk_sources, generation)
    same = and_(m.user == s.user, m.seq == s.seq)
    orphans = select(s.seq).outerjoin_from(chunk_sources, messages, same).where(named, m.seq.is_(None))
    beyond = select(s.seq).where(named, s.seq > generation.cursor)
    wrong = [f"a chunk of message {seq}, which is not in the log" for seq in _distinct(connection, orphans)]
    wrong += [f"a chunk of message {seq}, past the cursor" for seq in _distinct(connection, beyond)]
    numbers = select(c.chunk).where(of(chunks, generation))
    homeless = select(s.seq).where(named, s.chunk.not_in(numbers))
    wrong += [f"message {seq} is in a chunk that has no row" for seq in _distinct(connection, homeless)]
    for namespace, end in compacted_to(connection, generation).items():
        read = select(s.seq).where(named)
        skipped = select(m.seq).where(m.user == generation.user, m.seq <= end, m.seq.not_in(read))
        if namespace:
            skipped = skipped.where(m.session == namespace)
        wrong += [f"message {seq} was skipped" for seq in _distinct(connection, skipped)]
    return wrong


def compacted_to(connection: Connection, generation: Generation) -> dict[str, int]:
    """Seqs up to which messages are in chunks, by namespace."""
    c = chunks.c
    query = select(c.namespace, c.last_seq).where(of(chunks, generation)).order_by(c.last_seq)
    return {row.namespace: row.last_seq for row in connection.execute(query)}


def add_history(connection: Connection, generation: Generation, past: Sequence[Past]) -> None:
    query = select(func.max(chunk_history.c.number)).where(of(chunk_history, generation))
    last = connection.execute(query).scalar() or 0
    rows = [
        key_of(generation)
        | {"number": number, "chunk": entry.chunk, "reason": entry.reason}
        | {"item": json.dumps(item_to_json(entry.item), ensure_ascii=False)}
        | {"by_sources": json.dumps(entry.by_sources)}
        for number, entry in enumerate(past, last + 1)
    ]
    insert(connection, chunk_history, rows)


def history(connection: Connection, generation: Generation) -> list[tuple[int, Past]]:
    """(number, item) of replaced items, in the order of replacement."""
    table = chunk_history
    query = select(table).where(of(table, generation)).order_by(table.c.number)

    def past(row: Row[Any]) -> Past:
        by_sources = tuple(json.loads(row.by_sources))
        return Past(row.chunk, item_from_json(json.loads(row.item)), row.reason, by_sources)

    return [(row.number, past(row)) for row in connection.execute(query)]


def remove_history(connection: Connection, generation: Generation, numbers: Sequence[int]) -> None:
    own_rows.remove(connection, chunk_history, generation, chunk_history.c.number, numbers)


def drop(connection: Connection, generation: Generation) -> None:
    own_rows.drop(connection, generation, chunks, chunk_sources, chunk_history)


def _distinct(connection: Connection, query: Select[int]) -> list[int]:
    return sorted(set(connection.execute(query).scalars()))


def _to_chunk(row: Row[Any], dimension: int) -> Chunk:
    size = dimension * dense.BYTES
    parts = [row.vectors[i : i + size] for i in range(0, len(row.vectors), size)] if size else []
    vectors = dense.from_bytes(parts, dimension)
    span = from_us(row.first_us), from_us(row.last_us)
    return Chunk(
        id=row.chunk,
        namespace=row.namespace,
        version=row.version,
        last_seq=row.last_seq,
        raw_tokens=row.raw_tokens,
        tokens=row.tokens,
        items=row.items,
        metadata=Metadata(_texts(row.keywords), _texts(row.entities), row.summary, *span, vectors),
        made_by=row.made_by,
        degraded=row.degraded,
    )


def _texts(stored: str) -> tuple[str, ...]:
    try:
        given = json.loads(stored)
    except ValueError:
        given = None
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise StorageCorrupt(
            f"the words of a chunk are damaged ({shown(stored)}):"
            " memory.builds.rebuild(user=..., view='chunks') makes them anew"
        )
    return tuple(given)


def _to_row(generation: Generation, chunk: Chunk) -> dict[str, Any]:
    about = chunk.metadata
    return key_of(generation) | {
        "chunk": chunk.id,
        "namespace": chunk.namespace,
        "version": chunk.version,
        "last_seq": chunk.last_seq,
        "items": chunk.items,
        "raw_tokens": chunk.raw_tokens,
        "tokens": chunk.tokens,
        "first_us": to_us(about.first),
        "last_us": to_us(about.last),
        "summary": about.summary,
        "keywords": json.dumps(about.keywords, ensure_ascii=False),
        "entities": json.dumps(about.entities, ensure_ascii=False),
        "vectors": dense.to_bytes(about.vectors),
        "made_by": chunk.made_by,
        "degraded": chunk.degraded,
    }


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """`T` of Algorithm 1 for recall: one generation's metadata; immutable."""

    version: int
    generation: int
    chunks: tuple[Chunk, ...]  # live, in their order
    covered: dict[int, tuple[int, ...]]  # by seq, the chunks that have read the message


def table_of(
    cache: UserCache[ChunkTable], connection: Connection, generation: Generation, dimension: int
) -> ChunkTable:
    """The chunk table as of the connection's snapshot."""
    state = log.state(connection, generation.user)
    held = cache.get(generation.user)
    if held is not None and (held.version, held.generation) == (state.version, generation.number):
        return held
    chunks = load(connection, generation, dimension)
    covered: dict[int, tuple[int, ...]] = {}
    for seq, chunk in sources(connection, generation):
        covered[seq] = (*covered.get(seq, ()), chunk)
    live = tuple(chunk for chunk in chunks.values() if chunk.items)
    made = ChunkTable(state.version, generation.number, live, covered)
    cache.put(generation.user, made, state)
    return made
