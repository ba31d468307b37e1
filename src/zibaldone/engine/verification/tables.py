"""Every table of the database, row by row: forgotten text in any column, and references to what is gone."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, inspect, select

from zibaldone.core.validation import shown
from zibaldone.engine.verification.inflating import Inflating
from zibaldone.engine.verification.result import Leftover, LookedAt
from zibaldone.engine.verification.wanted import Occurrence, Wanted
from zibaldone.errors import StorageError
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.columns import PLAIN_BEGINNING, seals_of
from zibaldone.storage.database import Database
from zibaldone.storage.keyring import Keyring
from zibaldone.storage.objects import owner_of
from zibaldone.storage.schema import SERVING_ROLES, metadata, stored_objects

_ROWS = 500
_REFERRING = ("seq", "source", "attended", "clause_seq", "ended_by")  # columns that name a message
_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class _Columns:
    names: list[str]
    key: list[int]  # places of those by which a row is known
    whose: int | None  # the place of the one that says whose it is


def look_through(
    database: Database, user: str, of_user: Wanted, of_all: Wanted
) -> Iterator[tuple[LookedAt, list[tuple[str, bytes, Occurrence]]]]:
    """Each table with (where, the row's bytes, what is there) of the rows that have something.

    The user's own rows may have no more than the user's own messages say; others' may have what anybody says.
    """
    with database.read() as connection:
        names = inspect(connection).get_table_names()
    for name in names:
        if name == SERVING_ROLES:  # nobody's words, and not for us to read
            continue
        with database.read() as connection:
            looked, hits = _look(connection, name, user, of_user, of_all)
            if name == stored_objects.name:
                hits += _in_objects(connection, database.keyring, user, of_user, of_all)
            yield looked, hits


def _look(
    connection: Connection, table: str, user: str, of_user: Wanted, of_all: Wanted
) -> tuple[LookedAt, list[tuple[str, bytes, Occurrence]]]:
    columns = _columns(connection, table)
    quoted = connection.dialect.identifier_preparer.quote(table)
    rows = size = 0
    hits: list[tuple[str, bytes, Occurrence]] = []
    opened = _opener(connection)
    query = f"SELECT * FROM {quoted}"  # noqa: S608 - a table's own name
    result = connection.exec_driver_sql(query)
    while batch := result.fetchmany(_ROWS):
        rows += len(batch)
        for needles, of_whom in (
            (of_user, [row for row in batch if _is_of(row, columns, user)]),
            (of_all, [row for row in batch if not _is_of(row, columns, user)]),
        ):
            contents = [_bytes(row, opened) for row in of_whom]
            size += sum(map(len, contents))
            if needles.first_in(b"\n".join(contents)) is None:
                continue
            for row, content in zip(of_whom, contents, strict=True):
                if hit := needles.first_in(content):
                    hits.append((_where(table, row, columns), content, hit))
    return LookedAt("table", table, rows, size), hits


def _in_objects(
    connection: Connection, keyring: Keyring | None, user: str, of_user: Wanted, of_all: Wanted
) -> Iterator[tuple[str, bytes, Occurrence]]:
    """What objects say that are rows: one may be sealed, and a saved index's texts are compressed."""
    c = stored_objects.c
    for owner, kind, name in connection.execute(select(c.owner, c.kind, c.name).where(c.part == 0)).all():
        mine = select(c.data).where(c.owner == owner, c.kind == kind, c.name == name).order_by(c.part)
        data = b"".join(connection.execute(mine).scalars())
        if keyring is not None:
            with suppress(ValueError, StorageError):
                data = keyring.decrypt(data, name)
        needles = of_user if owner == owner_of(user) else of_all
        for texts in (data, Inflating().feed(data, last=True)):
            if hit := needles.first_in(texts):
                yield f"table {stored_objects.name}, {kind} {name}", texts, hit


def references(database: Database, user: str, seqs: Sequence[int]) -> list[Leftover]:
    """Rows of the user, of any table, that name one of these messages."""
    left = []
    with database.read(user) as connection:
        for table in metadata.sorted_tables:
            for column in (table.c[name] for name in _REFERRING if name in table.c and "user" in table.c):
                for some in in_chunks(seqs, _PER_STATEMENT):
                    query = select(column).where(table.c.user == user, column.in_(some)).distinct()
                    left += [
                        Leftover("reference", f"table {table.name}", f"{column.name} {seq}")
                        for seq in connection.execute(query).scalars()
                    ]
    return left


def _columns(connection: Connection, table: str) -> _Columns:
    looking = inspect(connection)
    names = [column["name"] for column in looking.get_columns(table)]
    key = looking.get_pk_constraint(table)["constrained_columns"]
    whose = next((names.index(name) for name in ("user", "owner") if name in names), None)
    return _Columns(names, [names.index(name) for name in key], whose)


def _is_of(row: Sequence[Any], columns: _Columns, user: str) -> bool:
    return columns.whose is not None and row[columns.whose] in (user, owner_of(user))


def _bytes(row: Sequence[Any], opened: Callable[[bytes], bytes]) -> bytes:
    """What a row's columns say; a line break between two cannot be taken for a letter."""
    parts = (
        value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        for value in row
        if value is not None
    )
    return b"\n".join(map(opened, parts))


def _opener(connection: Connection) -> Callable[[bytes], bytes]:
    """What a value says before it was sealed, where it was, by a key that is there."""
    seals = seals_of(connection)
    if seals is None:
        return lambda value: value

    def opened(value: bytes) -> bytes:
        bare = value.removeprefix(PLAIN_BEGINNING.encode())
        for form in (value, bare):
            try:
                return seals.open(form if form[:1] in b"\1\2" else binascii.a2b_base64(form))
            except (ValueError, StorageError):
                continue
        return value

    return opened


def _where(table: str, row: Sequence[Any], columns: _Columns) -> str:
    key = ", ".join(f"{columns.names[place]} {shown(row[place])}" for place in columns.key)
    return f"table {table}, {key}" if key else f"table {table}"
