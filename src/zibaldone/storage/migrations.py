"""The schema's number, and how a database gets to it: in one transaction, whole or not at all.

A new database is given the tables of schema.py. One that was begun before they had a single number keeps the
rows that nothing else can be made from; the rest is made anew from those. What changes from now on are
numbered migrations: append a function here and change schema.py; never edit an old one. The SQL is the part
that SQLite and PostgreSQL share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Column, Connection, delete, inspect, select, text
from sqlalchemy.schema import CreateColumn, CreateIndex

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


FIRST = 100  # the schema's number before any migration; versions that counted up to 30 refuse it as newer
FIRST_NAME = "schema"
MIGRATIONS: tuple[Migration, ...] = (mode_of_keys, themes_when_looked_at, shared_memories)
OURS = frozenset({"migrations", "users", "messages", "view_states"})  # by these we know our own database
# What an earlier database keeps as it is; what names files of keys and values, too, for they are what lasts.
_KEPT = frozenset(
    {"migrations", "users", "messages", "message_files", "forgotten_ids", "forgettings", "view_states"}
    | {"exports", "retention", "audit", "model_usage", "server_keys", "sealing", "user_keys", "leases"}
    | {"bucket", "blocks", "grants"}
    | {"kv_pools", "kv_blocks", "kv_attended", "kv_erasures"}
)
# What it had besides, and is made anew. A table of another name is another program's.
_DROPPED = frozenset(
    """chunk_history chunk_namespaces chunk_sources chunks hierarchy_episodes hierarchy_messages
    hierarchy_semantics hierarchy_statements hierarchy_states hierarchy_themes hierarchy_thresholds
    maintained_views message_units profile_notes record_pairs records saved_files saved_objects
    stored_blocks topic_documents topic_parts topic_states tuning_sources tunings unit_sources units
    update_links update_words""".split()
)
_WITH_NOTES, _NOTES = 29, frozenset({"notes", "notes_unread"})  # tables of ours from that number on


def migrate(
    write: Callable[[], AbstractContextManager[Connection]], migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring the database to the newest schema, in one transaction; several processes may try at once.

    Raises NewerSchema when the database knows more migrations than this version does, and
    StorageUnusable when it holds tables that are not ours.
    """
    with write() as connection:
        number, newest = _applied(connection), FIRST + len(migrations)
        if number > newest:
            raise NewerSchema(
                f"this folder has schema {number}, this version of zibaldone knows up to {newest}:"
                " upgrade with pip install -U zibaldone"
            )
        if number < FIRST:
            _begin(connection, number)
            connection.execute(delete(record))
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


def _begin(connection: Connection, number: int) -> None:
    """Create the tables; keep what cannot be derived anew from an earlier database."""
    there = _carry_over(connection, number) if number else frozenset()
    new = [table for table in metadata.sorted_tables if table.name not in there]
    metadata.create_all(connection, new, checkfirst=False)
    for index in (index for name in sorted(there) for index in metadata.tables[name].indexes):
        connection.execute(CreateIndex(index, if_not_exists=True))
    for statement in (
        "UPDATE blocks SET released = 1, invalid = records",  # objects are deleted by their rows
        "DELETE FROM view_states WHERE \"view\" <> 'kv'",
        "UPDATE users SET behind = 1",
    ):
        connection.execute(text(statement))
    if connection.dialect.name == "postgresql":
        columns = "role NAME NOT NULL PRIMARY KEY, inner_pad BYTEA NOT NULL, outer_pad BYTEA NOT NULL"
        connection.execute(text(f"CREATE TABLE IF NOT EXISTS {SERVING_ROLES} ({columns})"))


def _carry_over(connection: Connection, number: int) -> frozenset[str]:
    """Migrate the tables that are kept, drop derived ones; return the names of those kept."""
    looking = inspect(connection)
    there = frozenset(looking.get_table_names())
    quote = connection.dialect.identifier_preparer.quote
    kept = there & _KEPT
    statements = []
    for table in (metadata.tables[name] for name in sorted(kept)):
        has = {column["name"] for column in looking.get_columns(table.name)}
        words = [
            *(
                f"ADD COLUMN {_words(connection, column)}"
                for column in table.columns
                if column.name not in has
            ),
            *(f"DROP COLUMN {quote(name)}" for name in sorted(has - set(table.columns.keys()))),
        ]
        statements += [f"ALTER TABLE {table.name} {change}" for change in words]
    if "saved_objects" in there:  # of a bucket
        metadata.tables["saved_indexes"].create(connection)
        kept |= {"saved_indexes"}
        columns = '"user", "key", name, state, since_us, bytes, header'
        copied = columns.replace("state", "'released'")
        statements.append(f"INSERT INTO saved_indexes ({columns}) SELECT {copied} FROM saved_objects")  # noqa: S608
    dropped = _DROPPED | (_NOTES if number >= _WITH_NOTES else frozenset())
    statements += [f"DROP TABLE {name}" for name in sorted(there & dropped)]
    for statement in statements:
        connection.execute(text(statement))
    return kept


def _words(connection: Connection, column: Column[Any]) -> str:
    return str(CreateColumn(column).compile(dialect=connection.dialect))
