"""Inserts that tolerate existing rows, for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import sqlite


def insert_missing(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose key does not exist yet."""
    if rows:
        connection.execute(_insert(connection, table).on_conflict_do_nothing(), list(rows))


def put(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert a row, or replace the one with its key."""
    key = [column.name for column in table.primary_key]
    statement = _insert(connection, table).values(**row)
    rest = {name: statement.excluded[name] for name in row if name not in key}
    connection.execute(statement.on_conflict_do_update(index_elements=key, set_=rest))


def _insert(connection: Connection, table: Table) -> Any:
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # slower to load than all else of a small folder's storage

    return postgresql.insert(table)
