"""Writes that every add makes: compiled once, and handed to SQLite's driver as they are.

To run a statement that it has compiled takes SQLAlchemy several times what it takes SQLite, and a message
that is added alone is four of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Delete, Insert, Update
from sqlalchemy.dialects import sqlite

from zibaldone.storage.columns import seals_of


class PreparedWrite:
    """A statement that gives no rows; each of its parameters is given a value by name."""

    def __init__(self, statement: Insert | Update | Delete) -> None:
        self._statement = statement

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Once for each of the rows, of which there is at least one."""
        if connection.dialect.name == "sqlite" and seals_of(connection) is None:
            driver: Any = connection.connection.driver_connection
            driver.executemany(self._words, rows).close()
        else:
            connection.execute(self._statement, rows)

    @cached_property
    def _words(self) -> str:
        named = sqlite.dialect(paramstyle="named")
        return str(self._statement.compile(dialect=named, column_keys=self._columns))

    @property
    def _columns(self) -> list[str] | None:
        """Of an insertion all; what an update sets, it says itself."""
        return [column.name for column in self._statement.table.c] if self._statement.is_insert else None
