"""A database of before the schema had one number: what nothing derives is carried over, and no more."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, event, inspect, text

from zibaldone import Memory, StorageError
from zibaldone.storage import schema
from zibaldone.storage.folder_layout import FILE
from zibaldone.storage.migrations import FIRST, MIGRATIONS, migrate
from zibaldone.storage.opening import open_database
from zibaldone.testing import HashEmbedder

OLD = (Path(__file__).parents[1] / "data" / "schema_25.sql").read_text(encoding="ascii")
WORDS = ["My dentist is Dr. Moss.", "The heron came back to the pond.", "I moved to Lisbon in May."]
KEPT = [
    *("users", "messages", "message_files", "forgotten_ids", "exports", "retention", "audit", "model_usage"),
    *("server_keys", "sealing", "user_keys", "leases", "bucket"),
    *("kv_pools", "kv_blocks", "kv_attended", "kv_erasures"),
]
NEW_SINCE = {"notes", "notes_unread", "saved_indexes", "stored_objects"}
INDEX = f"index/{blake2b(b'ann', digest_size=16).hexdigest()}/messages.index"
NUMBERS = [*range(FIRST, FIRST + len(MIGRATIONS) + 1)]  # of today's schema
SEQS = (2, 3, 5)  # 1 and 4 were forgotten


def statements(dialect: str = "sqlite") -> list[str]:
    """Those that made the database of before."""
    if dialect == "postgresql":
        return re.sub(r"\) WITHOUT ROWID;", ");", OLD.replace(" BLOB", " BYTEA")).splitlines()
    return OLD.splitlines()


def fill(connection, rows=1):
    """One row, or more, in every table: each of its columns says its name, or a number, or bytes."""
    looking = inspect(connection)
    for table in looking.get_table_names():
        columns = looking.get_columns(table)
        names = ", ".join(f'"{column["name"]}"' for column in columns)
        marks = ", ".join(f":c{place}" for place in range(len(columns)))
        for row in range(1, rows + 1):
            values = {
                f"c{place}": {"TEXT": f"{column['name']} {row}", "BLOB": b"bytes", "BYTEA": b"bytes"}.get(
                    str(column["type"]), row
                )
                for place, column in enumerate(columns)
            }
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)


def rows_of(connection, table, columns):
    """All, in order."""
    names = ", ".join(f'"{name}"' for name in columns)
    return sorted(map(tuple, connection.execute(text(f"SELECT {names} FROM {table}"))), key=repr)


def described(connection):
    """Every table: columns in any order, key, and indexes."""
    looking = inspect(connection)
    return {
        table: (
            sorted(
                (c["name"], str(c["type"]), c["nullable"], c["default"]) for c in looking.get_columns(table)
            ),
            looking.get_pk_constraint(table)["constrained_columns"],
            sorted((i["name"], *i["column_names"], bool(i["unique"])) for i in looking.get_indexes(table)),
        )
        for table in looking.get_table_names()
    }


@pytest.fixture
def engine():
    """A database of before, with rows in every table."""
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        for statement in statements():
            connection.execute(text(statement))
        fill(connection, rows=2)
    yield engine
    engine.dispose()


def test_its_tables_are_those_of_a_new_one(engine):
    """To the column, key and index."""
    new = create_engine("sqlite://")
    for of in (engine, new):
        migrate(of.begin)
    with engine.begin() as upgraded, new.begin() as fresh:
        assert described(upgraded) == described(fresh)
        assert upgraded.execute(text("SELECT number FROM migrations")).scalars().all() == NUMBERS
    new.dispose()


def test_what_cannot_be_made_anew_is_carried_over_and_no_more(engine):
    """Rows that nothing derives, as they were; of the rest what names objects, so that they are deleted."""
    with engine.begin() as connection:
        now = {name: set(table.columns.keys()) for name, table in schema.metadata.tables.items()}
        columns = {
            table: [
                c["name"]
                for c in inspect(connection).get_columns(table)
                if c["name"] in now[table] - {"behind"}
            ]
            for table in KEPT
        }
        before = {table: rows_of(connection, table, columns[table]) for table in KEPT}
    migrate(engine.begin)
    with engine.begin() as connection:
        assert {table: rows_of(connection, table, columns[table]) for table in KEPT} == before
        assert all(len(rows) == 2 for rows in before.values())
        assert connection.execute(text("SELECT DISTINCT behind FROM users")).scalars().all() == [1]
        derived = schema.metadata.tables.keys() - {*KEPT, "migrations", "blocks", "saved_indexes"}
        assert derived > {"units", "chunks", "view_states", "topic_documents", "hierarchy_themes"}
        for table in derived:
            assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0
        assert rows_of(connection, "blocks", ["block", "released"]) == [("block 1", 1), ("block 2", 1)]
        indexes = rows_of(connection, "saved_indexes", ["key", "state"])
        assert indexes == [("key 1", "released"), ("key 2", "released")]


@pytest.mark.parametrize("table", sorted(NEW_SINCE))
def test_another_program_s_table_with_a_name_of_ours(tmp_path, table):
    """It is named, and nothing is changed."""
    old_folder(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute(f"CREATE TABLE {table} (recipe TEXT)")
        before = sorted(connection.iterdump())
    with pytest.raises(StorageError, match=table):
        open_database(tmp_path, busy_timeout_s=5)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        assert sorted(connection.iterdump()) == before


def old_folder(folder):
    """A folder of before: three messages of Ann's, what views made of them, an index and a block."""
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.executescript(f"PRAGMA journal_mode=WAL; {OLD}")
        connection.executemany("INSERT INTO migrations VALUES (?, 'before', 0)", [(n,) for n in range(1, 26)])
        connection.execute("INSERT INTO users VALUES ('ann', 6, 9, 4, 0)")
        for seq, words in zip(SEQS, WORDS, strict=True):
            row = ("ann", seq, f"id {seq}", "s", "user", None, words, 1_700_000_000_000_000 + seq, 0, None)
            connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for view in ("messages", "hierarchy", "chunks"):
            connection.execute(
                f"INSERT INTO view_states VALUES ('ann', '{view}', 1, 'f', 5, 1, '', NULL, '')"
            )
        unit = "INSERT INTO units VALUES ('ann', 'messages', 1, 2, 0, 'message', 0, 23, NULL, 9, '', x'00')"
        connection.execute(unit)
        connection.execute(
            "INSERT INTO topic_documents VALUES ('ann', 1, 'CURRENT', 'Dr. Moss', 1, '', '', '', '')"
        )
        connection.execute("INSERT INTO blocks VALUES ('ann', 'f00/b', 'chunks', 1, '', 1, 0, 9, 0)")
        connection.commit()
    for name in (INDEX, "blocks/f00/b.block"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(b"My dentist is Dr. Moss.")
    return folder


def test_a_folder_of_before_goes_on(tmp_path):
    """With its seqs; its files of indexes and blocks go, and forgetting reaches all that is left."""
    with Memory(old_folder(tmp_path / "m"), embedder=HashEmbedder(16)) as memory:
        assert [(m.seq, m.content) for m in memory.messages(user="ann")] == [*zip(SEQS, WORDS, strict=True)]
        assert "Moss" in memory.recall("Who is my dentist?", user="ann").text
        memory.maintain()
        assert memory.admin.check().ok
        assert memory.add("Rye bread rises slowly.", user="ann")[0].seq == 6
        receipt = memory.forget(user="ann", seqs=[2], keep_texts=True)
        assert memory.admin.verify(receipt).leftovers == ()
        memory.maintain(views=["chunks"])
    assert not (tmp_path / "m" / INDEX).exists()
    assert not (tmp_path / "m" / "blocks" / "f00").exists()


def killed_at(step, folder):
    """Upgrade in a process that kills itself before its so many-th statement; whether it got there."""
    left = step

    def counted(*_):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if (child := os.fork()) == 0:
        try:
            event.listen(Engine, "before_cursor_execute", counted)
            open_database(folder, busy_timeout_s=5).close()
        except BaseException:  # noqa: BLE001 - the border of a process
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status != 0


@pytest.mark.wide
def test_killed_at_any_statement(tmp_path):
    """The folder is as it was before, or as it is after; whoever opens it next goes on."""
    old, step, numbers = old_folder(tmp_path / "old"), 0, set()
    there = True
    while there:
        step += 1
        copy = tmp_path / "copy"
        shutil.copytree(old, copy)
        there = killed_at(step, copy)
        with closing(sqlite3.connect(copy / FILE)) as connection:
            (number,) = connection.execute("SELECT max(number) FROM migrations").fetchone()
            seqs = [seq for (seq,) in connection.execute("SELECT seq FROM messages ORDER BY seq")]
            units = connection.execute("SELECT count(*) FROM units").fetchone()
        assert (number, units, seqs) in [(25, (1,), [*SEQS]), (NUMBERS[-1], (0,), [*SEQS])]
        numbers.add(number)
        open_database(copy, busy_timeout_s=5).close()
        with closing(sqlite3.connect(copy / FILE)) as connection:
            numbered = connection.execute("SELECT number FROM migrations ORDER BY number").fetchall()
            assert numbered == [(number,) for number in NUMBERS]
        shutil.rmtree(copy)
    assert step > 80
    assert numbers == {25, NUMBERS[-1]}


def test_a_server_s_database_of_before_goes_on(postgres):
    """Its rows are there, and walled, and what is derived is gone."""
    from zibaldone.storage.postgres import PostgresDatabase
    from zibaldone.storage.walls import walled

    postgres.run("CREATE DATABASE of_before OWNER zibaldone")
    url = postgres.url("of_before")
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in statements("postgresql"):
            connection.execute(text(statement))
        fill(connection)
    engine.dispose()
    database = PostgresDatabase(url, busy_timeout_s=5)
    with database.read() as connection:
        assert connection.execute(text("SELECT content FROM messages")).scalars().all() == ["content 1"]
        assert connection.execute(text("SELECT count(*) FROM units")).scalar_one() == 0
        assert walled(connection, are=False) == []
        assert set(inspect(connection).get_table_names()) == {*schema.metadata.tables, "serving_roles"}
    database.close()
