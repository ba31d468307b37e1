"""The table of units: one for all views, and one way of forgetting by source.

A unit stands on a message, its first source, and inside its view's generation (seq, part) is its key; further
sources are in `unit_sources`. A unit whose text is a part of that message has none of its own in the table,
and none has a vector there whose embedder makes it again in microseconds. A unit never changes: another text
is another unit, under another part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, delete, func, select

from zibaldone import log
from zibaldone.core import OWNERS_WORDS, Message
from zibaldone.errors import StorageCorrupt
from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import embed
from zibaldone.models.static import StaticEmbedder
from zibaldone.search import dense
from zibaldone.search.unit import Days, Unit
from zibaldone.storage.columns import seals_of
from zibaldone.storage.schema import messages, unit_sources, view_states
from zibaldone.storage.schema import units as table
from zibaldone.views import own_rows
from zibaldone.views.base import Content, Counted, Generation, TakeSnapshot
from zibaldone.views.own_rows import matching

Key = tuple[int, int]  # (seq, part)


@dataclass(frozen=True, slots=True)
class Row:
    """A unit as it is stored; `text` is None where it is the message's content[start:end]."""

    sources: tuple[int, ...]
    part: int
    kind: str
    tokens: int
    vector: Vectors | None  # (d,) float32, of unit length or zero; None: it is made again when it is wanted
    days: Days = ()
    start: int = 0
    end: int = 0
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Remade:
    """How vectors are made that no row keeps."""

    embedder: Embedder
    text: Callable[[Unit, Message], str]  # whose vector it is, of a unit and the message that it stands on

    @staticmethod
    def by(embedder: Embedder, text: Callable[[Unit, Message], str]) -> Remade | None:
        """None where making vectors costs more than microseconds: then rows keep them."""
        return Remade(embedder, text) if isinstance(embedder, StaticEmbedder) else None


def _mine(of_table: Table) -> ColumnElement[bool]:
    c = of_table.c
    return and_(c.user == bindparam("of"), c.view == bindparam("name"), c.generation == bindparam("number"))


# Made once: every add, and every recall after one, asks them.
_LOADED = (
    select(table).where(_mine(table), table.c.seq > bindparam("after")).order_by(table.c.seq, table.c.part)
)
_FURTHER = (
    select(unit_sources.c.seq, unit_sources.c.part, unit_sources.c.source)
    .where(
        _mine(unit_sources),
        unit_sources.c.seq >= bindparam("first"),
        unit_sources.c.seq <= bindparam("last"),
    )
    .order_by(unit_sources.c.source)
)


def insert(connection: Connection, view: str, generation: Generation, rows: Iterable[Row]) -> None:
    """Add units, which no unit of the generation is known by the key of."""
    key = {"user": generation.user, "view": view, "generation": generation.number}
    units: list[dict[str, object]] = []
    further: list[dict[str, object]] = []
    for row in rows:
        seq, *others = row.sources
        where = {**key, "seq": seq, "part": row.part}
        units.append(
            where
            | {
                "kind": row.kind,
                "start": row.start,
                "end": row.end,
                "text": row.text,
                "tokens": row.tokens,
                "days": " ".join(f"{first}-{last}" for first, last in row.days),
                "vector": b"" if row.vector is None else dense.to_bytes(row.vector),
            }
        )
        further.extend(where | {"source": source} for source in others)
    if units:
        connection.execute(table.insert(), units)
    if further:
        connection.execute(unit_sources.insert(), further)


def keys(connection: Connection, view: str, generation: Generation) -> list[Key]:
    """By which the generation's units are known, rising."""
    query = select(table.c.seq, table.c.part).where(of(view, generation)).order_by(table.c.seq, table.c.part)
    return [(row.seq, row.part) for row in connection.execute(query)]


def load(
    connection: Connection,
    view: str,
    generation: Generation,
    dimension: int,
    *,
    after: int = 0,
    only: Sequence[Key] | None = None,
    remade: Remade | None = None,
) -> tuple[list[Unit], Vectors]:
    """Units that stand on messages above seq `after`, or those of the keys, rising, and vectors (n, d).

    `remade` makes those that were not stored. Raises StorageCorrupt for a unit whose message is gone, or
    whose vector has another size.
    """
    sizes = (dense.BYTES * dimension, 0) if remade else (dense.BYTES * dimension,)
    if only is None:
        mine = {"of": generation.user, "name": view, "number": generation.number, "after": after}
        rows = list(connection.execute(_LOADED, mine))
    else:
        wanted, seqs = set(only), {seq for seq, _ in only}
        query = select(table).where(of(view, generation)).order_by(table.c.seq, table.c.part)
        some = matching(connection, query, table.c.seq, seqs)
        rows = [row for row in some if (row.seq, row.part) in wanted]
    if not rows:
        return [], np.zeros((0, dimension), dtype=np.float32)
    further = _further_sources(connection, view, generation, rows[0].seq, rows[-1].seq)
    if only is None:
        on = {m.seq: m for m in log.read(connection, generation.user, after=after, to=rows[-1].seq)}
    else:
        on = log.fetch(connection, generation.user, sorted({row.seq for row in rows}))
    loaded = []
    for row in rows:
        message = on.get(row.seq)
        if message is None or message.time is None or len(row.vector) not in sizes:
            raise StorageCorrupt(
                f"a unit of message {row.seq} of {generation.user!r} is damaged:"
                f" memory.builds.rebuild(user=..., view={view!r}) makes it anew"
            )
        loaded.append(
            unit_on(
                message,
                (row.seq, *further.get((row.seq, row.part), ())),
                row.part,
                message.content[row.start : row.end] if row.text is None else row.text,
                row.kind,
                row.tokens,
                row.start,
                _parse_days(row.days),
            )
        )
    return loaded, _vectors([row.vector for row in rows], loaded, on, dimension, remade)


def unit_on(
    message: Message,
    sources: tuple[int, ...],
    part: int,
    text: str,
    kind: str,
    tokens: int,
    start: int,
    days: Days = (),
) -> Unit:
    """A unit that stands on a stored message."""
    assert message.time is not None  # what is stored has one
    where = message.session, message.voice, message.name, message.time
    is_owners = message.metadata.get(OWNERS_WORDS) is True
    return Unit(sources, part, text, kind, tokens, *where, days, start, message.is_dated, is_owners)


def contents(take_snapshot: TakeSnapshot, *views: str) -> list[Content]:
    """The texts of a snapshot's units, view by view in the order of their keys; none without a generation."""
    with take_snapshot() as now:
        if now.generation is None:
            return []
        return [one for view in views for one in _contents(now.connection, view, now.generation)]


def _contents(connection: Connection, view: str, generation: Generation) -> Iterator[Content]:
    u, m, s = table.c, messages.c, unit_sources.c
    further: dict[Key, list[int]] = {}
    query = select(s.seq, s.part, s.source).where(of(view, generation, unit_sources))
    for more in connection.execute(query):
        further.setdefault((more.seq, more.part), []).append(more.source)
    on = and_(m.user == u.user, m.seq == u.seq)
    rows = connection.execute(
        select(u.seq, u.part, u.kind, u.start, u.end, u.text, m.content)
        .join_from(table, messages, on)
        .where(of(view, generation))
        .order_by(u.seq, u.part)
    )
    for row in rows:
        sources = tuple(sorted({row.seq, *further.get((row.seq, row.part), ())}))
        text = row.content[row.start : row.end] if row.text is None else row.text
        yield Content(sources, row.kind, text)


def made_from(connection: Connection, view: str, generation: Generation, seqs: Collection[int]) -> list[Key]:
    """The keys of the generation's units that have any of these messages among their sources, rising."""
    here: set[Key] = set()
    for rows, source in ((table, table.c.seq), (unit_sources, unit_sources.c.source)):
        query = select(rows.c.seq, rows.c.part).where(of(view, generation, rows))
        here.update((row.seq, row.part) for row in matching(connection, query, source, seqs))
    return sorted(here)


def remove(connection: Connection, view: str, generation: Generation, gone: Iterable[Key]) -> None:
    """Delete units by their keys."""
    mine = {"of": generation.user, "name": view, "number": generation.number}
    if rows := [mine | {"on": seq, "place": part} for seq, part in gone]:
        for its in (unit_sources, table):
            by_key = _mine(its), its.c.seq == bindparam("on"), its.c.part == bindparam("place")
            connection.execute(delete(its).where(*by_key), rows)


def forget(connection: Connection, view: str, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
    """Delete every unit that was made from any of these messages, with its vector, in every generation."""
    removed = 0
    for generation in _generations(connection, view, user):
        gone = made_from(connection, view, generation, seqs)
        remove(connection, view, generation, gone)
        removed += len(gone)
    return counted(removed)


def shed(connection: Connection, view: str, user: str, seqs: Sequence[int], most: int) -> int:
    """Delete `most` of the units that stand on these messages, or all if there are fewer; how many."""
    removed = 0
    for generation in _generations(connection, view, user):
        here = and_(of(view, generation), table.c.seq.in_(seqs))
        query = select(table.c.seq, table.c.part).where(here).limit(most - removed)
        gone = [(row.seq, row.part) for row in connection.execute(query)]
        remove(connection, view, generation, gone)
        removed += len(gone)
    return removed


def preview_forget(connection: Connection, view: str, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
    """Count the rows that `forget` would delete."""
    every = _generations(connection, view, user)
    return counted(sum(len(made_from(connection, view, generation, seqs)) for generation in every))


def drop(connection: Connection, view: str, generation: Generation) -> None:
    """Delete all units of a generation."""
    for rows in (unit_sources, table):
        connection.execute(delete(rows).where(of(view, generation, rows)))


def count(connection: Connection, view: str, user: str) -> tuple[Counted, ...]:
    """Units and vectors of all generations."""
    query = select(func.count()).select_from(table).where(table.c.user == user, table.c.view == view)
    return counted(connection.execute(query).scalar_one())


def faults(
    connection: Connection,
    view: str,
    generation: Generation,
    dimension: int,
    *,
    may_lack_vectors: bool = False,
) -> list[str]:
    """Describe units past the cursor, units without their messages, and vectors of a wrong size."""
    u, m, s = table.c, messages.c, unit_sources.c
    mine = of(view, generation)
    on = and_(m.user == u.user, m.seq == u.seq)
    orphans = select(u.seq).outerjoin_from(table, messages, on).where(mine, m.seq.is_(None))
    from_ = and_(m.user == s.user, m.seq == s.source)
    further = (
        select(s.source)
        .outerjoin_from(unit_sources, messages, from_)
        .where(of(view, generation, unit_sources), m.seq.is_(None))
    )
    beyond = select(u.seq).where(mine, u.seq > generation.cursor)
    size = dense.BYTES * dimension
    if (seals := seals_of(connection)) is not None:
        size += seals.overhead_bytes
    torn = select(u.seq).where(mine, func.length(u.vector).not_in((size, 0) if may_lack_vectors else (size,)))
    return [
        sentence.format(seq)
        for query, sentence in (
            (orphans, "a unit of message {}, which is not in the log"),
            (further, "a unit of message {}, which is not in the log"),
            (beyond, "a unit of message {}, past the cursor"),
            (torn, "a vector of message {} of a wrong size"),
        )
        for seq in connection.execute(query.distinct()).scalars()
    ]


def counted(units: int) -> tuple[Counted, ...]:
    """Each unit has a vector, in its row or made from its text again."""
    return (Counted("units", units), Counted("vectors", units))


def _vectors(
    stored: Sequence[bytes],
    loaded: Sequence[Unit],
    on: Mapping[int, Message],
    dimension: int,
    remade: Remade | None,
) -> Vectors:
    vectors = np.zeros((len(stored), dimension), dtype=np.float32)
    there = [place for place, some in enumerate(stored) if some]
    vectors[there] = dense.from_bytes([stored[place] for place in there], dimension)
    if remade is not None and len(there) < len(stored):
        lacking = [place for place, some in enumerate(stored) if not some]
        texts = [remade.text(loaded[place], on[loaded[place].seq]) for place in lacking]
        vectors[lacking] = embed(remade.embedder, texts)
    return vectors


def of(view: str, generation: Generation, rows: Table = table) -> ColumnElement[bool]:
    """The rows of a view's generation; of units, or of their further sources."""
    return and_(own_rows.of(rows, generation), rows.c.view == view)


def _generations(connection: Connection, view: str, user: str) -> list[Generation]:
    c = view_states.c
    rows = connection.execute(
        select(c.generation, c.fingerprint, c.cursor).where(c.user == user, c.view == view)
    )
    return [Generation(user, row.generation, row.fingerprint, row.cursor) for row in rows]


def _further_sources(
    connection: Connection, view: str, generation: Generation, first: int, last: int
) -> dict[Key, list[int]]:
    given = {"of": generation.user, "name": view, "number": generation.number, "first": first, "last": last}
    further: dict[Key, list[int]] = {}
    for row in connection.execute(_FURTHER, given):
        further.setdefault((row.seq, row.part), []).append(row.source)
    return further


def _parse_days(stored: str) -> Days:
    if not stored:
        return ()
    try:
        return tuple(
            (int(first), int(last)) for first, last in (pair.split("-") for pair in stored.split(" "))
        )
    except ValueError as error:
        raise StorageCorrupt(
            f"the days of a unit are damaged ({stored[:40]!r}): memory.builds.rebuild(user=...) makes it anew"
        ) from error
