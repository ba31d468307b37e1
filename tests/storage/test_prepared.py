"""Writes that go to SQLite's driver as they are."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, select

from zibaldone import Config, Memory, StorageError
from zibaldone.storage.database import Database
from zibaldone.storage.prepared import PreparedWrite
from zibaldone.storage.schema import metadata, users
from zibaldone.storage.sqlite import SqliteDatabase

ANN = {"user": "ann", "next_seq": 2, "version": 1, "deletions": 0, "behind": 1}


def test_what_is_prepared_writes_what_the_statement_says(database: Database) -> None:
    """Each row, with every one of its values; and nothing when the transaction is rolled back."""
    insert = PreparedWrite(users.insert())
    with database.write() as connection:
        insert.run(connection, [ANN, {**ANN, "user": "bob", "behind": 0}])
    with suppress(RuntimeError), database.write() as connection:
        insert.run(connection, [{**ANN, "user": "eve"}])
        raise RuntimeError
    with database.read() as connection:
        rows = [dict(row._mapping) for row in connection.execute(select(users).order_by(users.c.user))]
    assert rows == [ANN, {**ANN, "user": "bob", "behind": 0}]


def twice(database: Database, insert: PreparedWrite) -> None:
    """Insert a row that can be there once."""
    with database.write() as connection:
        insert.run(connection, [{**ANN, "user": "eve"}])
        insert.run(connection, [{**ANN, "user": "eve"}])


def test_an_error_of_the_driver_is_typed_and_stores_nothing(database: Database) -> None:
    """A row that is there already: a StorageError that does not show the row; the memory goes on."""
    insert = PreparedWrite(users.insert())
    with pytest.raises(StorageError) as caught:
        twice(database, insert)
    assert "eve" not in str(caught.value)
    with database.write() as connection:
        insert.run(connection, [ANN])
    with database.read() as connection:
        assert connection.execute(select(users.c.user)).scalars().all() == ["ann"]


def test_every_table_can_be_prepared(database: Database) -> None:
    """Names of columns that are words of SQL, too, such as "end" and "view"."""
    with database.write() as connection:
        for table in metadata.tables.values():
            PreparedWrite(table.insert()).run(
                connection,
                [{column.name: b"1" if "LOB" in str(column.type.compile()) else 999 for column in table.c}],
            )


def test_sealed_words_are_sealed(tmp_path: Path) -> None:
    """Where users have keys, no value goes to the driver as it is."""
    pytest.importorskip("cryptography")
    with Memory(tmp_path / "m", key="k" * 32, config=Config(user_keys=tmp_path / "keys")) as memory:
        memory.add("The otter sleeps.", user="ann")
        with memory._database.read("ann") as connection:
            (stored,) = connection.exec_driver_sql("SELECT content FROM messages").scalars()
    assert "otter" not in stored


def test_one_message_is_few_statements(tmp_path: Path) -> None:
    """Of an add, SQLAlchemy runs the two that read; a time of its own is that of the clock."""
    with Memory(tmp_path, config=Config(clock=lambda: datetime(2024, 1, 1, tzinfo=UTC))) as memory:
        memory.add("The otter sleeps.", user="ann")
        said: list[str] = []
        event.listen(memory._database._engine, "before_cursor_execute", lambda *args: said.append(args[2]))
        memory.add("The otter wakes.", user="ann")
        assert [words.split()[0] for words in said] == ["SELECT", "SELECT"]
        assert [m.content for m in memory.messages(user="ann")] == ["The otter sleeps.", "The otter wakes."]


def test_a_connection_that_comes_back_amid_closing_is_closed(database: Database) -> None:
    """Whoever closes a memory has looked for idle connections before: else the file stays open."""

    class Returned(deque[Connection]):
        """The memory is closed just before a connection is back."""

        def append(self, one: Connection) -> None:
            database.close()
            super().append(one)

    assert isinstance(database, SqliteDatabase)
    database._idle = Returned()
    with database.read() as connection:
        pass
    assert connection.closed
    assert not database._idle
