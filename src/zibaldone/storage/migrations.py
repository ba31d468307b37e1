"""The schema's number, and how a database gets to it: in one transaction, whole or not at all.

A new database is given the tables of schema.py. Changes are numbered migrations: append a function here and
change schema.py; never edit an old one. The SQL is the part that SQLite and PostgreSQL share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from sqlalchemy import Connection, inspect, select, text

from zibaldone.errors import NewerSchema, StorageUnusable
from zibaldone.storage.schema import SERVING_ROLES, metadata
from zibaldone.storage.schema import migrations as record

Migration = Callable[[Connection], None]


def mode_of_keys(connection: Connection) -> None:
    """Add the gateway's memory mode to server keys."""
    if "memory_mode" not in {column["name"] for column in inspect(connection).get_columns("server_keys")}:
        connection.execute(text("ALTER TABLE server_keys ADD COLUMN memory_mode TEXT"))


def themes_when_looked_at(connection: Connection) -> None:
    """Drop stored themes of the hierarchy view, which computes them when asked."""
    there = {column["name"] for column in inspect(connection).get_columns("hierarchy_states")}
    for column in sorted(there & {"grouped", "theme_cap"}):
        connection.execute(text(f"ALTER TABLE hierarchy_states DROP COLUMN {column}"))
    connection.execute(text("DROP INDEX IF EXISTS hierarchy_themes_unnamed"))
    connection.execute(text("DROP TABLE IF EXISTS hierarchy_thresholds"))


def shared_memories(connection: Connection) -> None:
    """Add the table of grants."""
    metadata.tables["grants"].create(connection, checkfirst=True)


def blocks_as_files(connection: Connection) -> None:
    """Give each block of keys and values a file of its own; what is stored is encoded anew."""
    for table in ("kv_erasures", "kv_attended"):
        connection.execute(text(f"DROP TABLE IF EXISTS {table}"))
    if "slot" not in {column["name"] for column in inspect(connection).get_columns("kv_blocks")}:
        return
    for table in ("kv_pools", "kv_blocks"):
        connection.execute(text(f"DELETE FROM {table}"))  # noqa: S608 - names of ours
    connection.execute(text("DELETE FROM view_states WHERE view = 'kv'"))
    for column in ("slot", "boxes_crc"):
        connection.execute(text(f"ALTER TABLE kv_blocks DROP COLUMN {column}"))
    kind = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    connection.execute(text(f"ALTER TABLE kv_blocks ADD COLUMN boxes {kind}"))


FIRST = 100  # the schema's number before any migration
FIRST_NAME = "schema"
MIGRATIONS: tuple[Migration, ...] = (mode_of_keys, themes_when_looked_at, shared_memories, blocks_as_files)
OURS = frozenset({"migrations", "users", "messages", "view_states"})  # by these we know our own database
_CARRIES_OVER = "85a6e8d6"  # the last commit that knew the schemas of before FIRST


def migrate(
    write: Callable[[], AbstractContextManager[Connection]], migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring the database to the newest schema, in one transaction; several processes may try at once.

    Raises NewerSchema when the database knows more migrations than this version does, and
    StorageUnusable when it is of before the first number, or holds tables that are not ours.
    """
    with write() as connection:
        number, newest = _applied(connection), FIRST + len(migrations)
        if number > newest:
            raise NewerSchema(
                f"this folder has schema {number}, this version of zibaldone knows up to {newest}:"
                " upgrade with pip install -U zibaldone"
            )
        if 0 < number < FIRST:
            raise StorageUnusable(
                f"this memory has schema {number}, of before 0.1.0: open it once with zibaldone as of commit"
                f" {_CARRIES_OVER}, which brings it to {FIRST}, and then with this version"
            )
        if number == 0:
            _create(connection)
            _note(connection, FIRST, FIRST_NAME)
        for place, migration in enumerate(migrations[max(number - FIRST, 0) :], max(number, FIRST) + 1):
            migration(connection)
            _note(connection, place, migration.__name__)


def _note(connection: Connection, number: int, name: str) -> None:
    now_us = time.time_ns() // 1000
    connection.execute(record.insert().values(number=number, name=name, applied_us=now_us))


def _applied(connection: Connection) -> int:
    """Return the database's schema number; 0 if it is empty."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return 0
    if not OURS.issubset(tables):
        raise StorageUnusable(
            f"the database holds tables that are not zibaldone's ({', '.join(sorted(tables)[:3])}):"
            " choose another folder"
        )
    return max(connection.execute(select(record.c.number)).scalars(), default=1)


def _create(connection: Connection) -> None:
    metadata.create_all(connection, checkfirst=False)
    if connection.dialect.name == "postgresql":
        columns = "role NAME NOT NULL PRIMARY KEY, inner_pad BYTEA NOT NULL, outer_pad BYTEA NOT NULL"
        connection.execute(text(f"CREATE TABLE {SERVING_ROLES} ({columns})"))
