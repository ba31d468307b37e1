"""Writes that every add makes: compiled once, and handed to SQLite's driver as they are.

To run a statement that it has compiled takes SQLAlchemy several times what it takes SQLite, and a message
that is added alone is four of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from sqlalchemy import Connection, Delete, Insert, Update
from sqlalchemy.dialects import sqlite

from zibaldone.storage.columns import seals_of


class PreparedWrite:
    """A statement that returns no rows; its parameters are bound by name."""

    def __init__(self, statement: Insert | Update | Delete) -> None:
        self._statement = statement

    def on(self, connection: Connection) -> Callable[[Sequence[Mapping[str, Any]]], object]:
        """The statement, to be called with rows, one at least: it is executed once for each."""
        if connection.dialect.name == "sqlite" and seals_of(connection) is None:
            driver: Any = connection.connection.driver_connection
            return partial(driver.executemany, self._words)
        return partial(connection.execute, self._statement)

    @cached_property
    def _words(self) -> str:
        named = sqlite.dialect(paramstyle="named")
        return str(self._statement.compile(dialect=named, column_keys=self._columns))

    @property
    def _columns(self) -> list[str] | None:
        """The columns to bind: all of an insertion; None for an update or deletion, which names its own."""
        return [column.name for column in self._statement.table.c] if self._statement.is_insert else None
