"""Statements of a view to tables of its own, whose keys begin with user and generation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, select

from zibaldone.storage.batches import in_chunks
from zibaldone.views.base import Counted, Generation

_PER_STATEMENT = 500


def of(table: Table, generation: Generation) -> ColumnElement[bool]:
    """The generation's rows."""
    return and_(table.c.user == generation.user, table.c.generation == generation.number)


def key_of(generation: Generation) -> dict[str, Any]:
    """The columns that say whose a row is."""
    return {"user": generation.user, "generation": generation.number}


def insert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(table.insert(), list(rows))


def matching(
    connection: Connection, query: Any, column: ColumnElement[Any], values: Collection[Any] | None
) -> Iterator[Any]:
    """The query's rows with one of these values, some values at a time; all rows for None."""
    if values is None:
        yield from connection.execute(query)
        return
    for some in in_chunks(sorted(set(values)), _PER_STATEMENT):
        yield from connection.execute(query.where(column.in_(some)))


def remove(
    connection: Connection,
    table: Table,
    generation: Generation,
    column: ColumnElement[Any],
    values: Collection[Any],
) -> None:
    """Delete the generation's rows with one of these values."""
    for some in in_chunks(sorted(set(values)), _PER_STATEMENT):
        connection.execute(delete(table).where(of(table, generation), column.in_(some)))


def drop(connection: Connection, generation: Generation, *tables: Table) -> None:
    """Delete all of the generation's."""
    for table in tables:
        connection.execute(delete(table).where(of(table, generation)))


def counted(kinds: Sequence[str], per_generation: Iterable[Sequence[int]]) -> tuple[Counted, ...]:
    """Sums over generations: one count for each of these kinds."""
    rows = list(per_generation)
    return tuple(Counted(kind, sum(row[place] for row in rows)) for place, kind in enumerate(kinds))


def generations(connection: Connection, table: Table, user: str) -> list[Generation]:
    """Those of which the user has rows there."""
    c = table.c
    query = select(c.generation).where(c.user == user).distinct().order_by(c.generation)
    return [Generation(user, number, "", 0) for number in connection.execute(query).scalars()]
