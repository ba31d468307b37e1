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

from sqlalchemy import Connection, delete, inspect, select, text
from sqlalchemy.schema import CreateColumn, CreateIndex

from zibaldone.errors import NewerSchema, StorageUnusable
from zibaldone.storage.schema import SERVING_ROLES, metadata
from zibaldone.storage.schema import migrations as record

Migration = Callable[[Connection], None]

FIRST = 100  # the schema's number before any migration; versions that counted up to 30 refuse it as newer
FIRST_NAME = "schema"
MIGRATIONS: tuple[Migration, ...] = ()
OURS = frozenset({"migrations", "users", "messages", "view_states"})  # by these we know our own database
# Tables whose rows an earlier database keeps as they are; beside their files, those of keys and values, too.
_KEPT = frozenset(
    {"migrations", "users", "messages", "message_files", "forgotten_ids", "forgettings", "view_states"}
    | {"exports", "retention", "audit", "model_usage", "server_keys", "sealing", "user_keys", "leases"}
    | {"tunings", "tuning_sources", "bucket", "blocks"}
    | {"kv_pools", "kv_blocks", "kv_attended", "kv_erasures"}
)
# Tables that were, and are no more.
_FORMER = frozenset(
    {"message_units", "hierarchy_messages", "record_pairs", "chunk_namespaces", "update_words"}
    | {"update_links", "profile_notes", "saved_files", "stored_blocks", "saved_objects"}
)


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
            _begin(connection, is_new=number == 0)
            connection.execute(delete(record))
            _note(connection, FIRST, FIRST_NAME)
        for place, migration in enumerate(migrations[max(number - FIRST, 0) :], max(number, FIRST) + 1):
            migration(connection)
            _note(connection, place, migration.__name__)


def _note(connection: Connection, number: int, name: str) -> None:
    now_us = time.time_ns() // 1000
    connection.execute(record.insert().values(number=number, name=name, applied_us=now_us))


def _applied(connection: Connection) -> int:
    """The number that the database has; 0 for an empty one."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return 0
    if not OURS.issubset(tables):
        raise StorageUnusable(
            f"the database holds tables that are not zibaldone's ({', '.join(sorted(tables)[:3])}):"
            " choose another folder"
        )
    return max(connection.execute(select(record.c.number)).scalars(), default=1)


def _begin(connection: Connection, *, is_new: bool) -> None:
    """Make the tables that there are not; of an earlier database carry over what cannot be made anew."""
    if not is_new:
        _carry_over(connection)
    metadata.create_all(connection)
    if not is_new:
        for table in metadata.sorted_tables:
            for index in table.indexes:
                connection.execute(CreateIndex(index, if_not_exists=True))
    if connection.dialect.name == "postgresql":
        columns = "role NAME NOT NULL PRIMARY KEY, inner_pad BYTEA NOT NULL, outer_pad BYTEA NOT NULL"
        connection.execute(text(f"CREATE TABLE IF NOT EXISTS {SERVING_ROLES} ({columns})"))


def _carry_over(connection: Connection) -> None:
    """Bring the tables that are kept to today's columns, and drop those that are made anew."""
    looking = inspect(connection)
    there = set(looking.get_table_names())
    quote = connection.dialect.identifier_preparer.quote
    for table in metadata.sorted_tables:
        if table.name not in _KEPT & there:
            continue
        has = {column["name"] for column in looking.get_columns(table.name)}
        for column in table.columns:
            if column.name not in has:
                words = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {words}"))
        for name in sorted(has - set(table.columns.keys())):
            connection.execute(text(f"ALTER TABLE {table.name} DROP COLUMN {quote(name)}"))
    if "saved_objects" in there:  # objects of a bucket, which are swept by their rows
        metadata.tables["saved_indexes"].create(connection)
        of_objects = '"user", "key", name, state, since_us, bytes, header'
        connection.execute(
            text(f"INSERT INTO saved_indexes ({of_objects}) SELECT {of_objects} FROM saved_objects")  # noqa: S608
        )
        connection.execute(text("UPDATE saved_indexes SET state = 'released'"))
    for name in sorted(there & (_FORMER | metadata.tables.keys()) - _KEPT):
        connection.execute(text(f"DROP TABLE {quote(name)}"))
    for statement in (
        "UPDATE blocks SET released = 1, invalid = records",  # where they lie they are deleted by their rows
        "DELETE FROM view_states WHERE \"view\" <> 'kv'",
        "UPDATE users SET behind = 1",
    ):
        connection.execute(text(statement))
