"""Grants: which users may read, and perhaps write into, a memory that is shared with them.

A shared memory is a user like any other, such as "team:design", with a log and views of its own. A grant
opens that one user's memory and nothing that is shared with it. Rows are keyed by who was granted something,
so that a recall finds them by one look into an index; they are written in transactions of all users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, or_, select

from zibaldone import log
from zibaldone.core.validation import MOST, key, one_line, shown
from zibaldone.errors import InvalidInput, NotGranted, TooMany
from zibaldone.storage.schema import grants as table
from zibaldone.storage.upsert import put

_OF_USER = select(table).where(table.c.user == bindparam("of")).order_by(table.c.scope)  # made once


@dataclass(frozen=True, slots=True)
class Grant:
    """The right of a user to read another user's memory, the shared one, and perhaps to write into it."""

    scope: str  # the shared memory: a user of its own, such as "team:design"
    user: str  # who may read it
    write: bool
    since: datetime

    def __post_init__(self) -> None:
        one_line("scope", self.scope)
        if not self.scope.isprintable():  # it stands in recalled text
            raise InvalidInput(f"scope {shown(self.scope)} has characters that nobody sees: name it plainly")
        if self.user == self.scope:
            raise InvalidInput(f"user {shown(self.user)} has their own memory: a grant is of another one")


def granted(connection: Connection, user: str) -> dict[str, Grant]:
    """List what a user may read beside their own, by name, in the order of names."""
    return {grant.scope: grant for grant in _of_rows(connection.execute(_OF_USER, {"of": user}))}


def all_grants(connection: Connection, scope: str | None) -> list[Grant]:
    """List all grants, or those of one shared memory, by user and scope."""
    query = select(table).order_by(table.c.user, table.c.scope)
    return _of_rows(connection.execute(query if scope is None else query.where(table.c.scope == scope)))


def _of_rows(rows: Iterable[Any]) -> list[Grant]:
    return [Grant(row.scope, row.user, bool(row.write), log.from_us(row.since_us)) for row in rows]


def give(connection: Connection, grant: Grant) -> None:
    """Grant, or change what was granted. Raises TooMany."""
    if len(granted(connection, grant.user).keys() - {grant.scope}) >= MOST["shared"]:
        raise TooMany(
            f"user {shown(grant.user)} reads {MOST['shared']} shared memories already, and each is a recall"
            " of its own: revoke one first"
        )
    row = {"user": grant.user, "scope": grant.scope, "write": int(grant.write)}
    put(connection, table, {**row, "since_us": log.to_us(grant.since)})


def take(connection: Connection, scope: str, user: str) -> Grant:
    """Revoke; returns what was granted. Raises NotGranted where nothing was."""
    grant = granted(connection, user).get(scope)
    if grant is None:
        raise NotGranted(f"user {shown(user)} has no grant of {shown(scope)}: there is nothing to revoke")
    connection.execute(delete(table).where(table.c.user == user, table.c.scope == scope))
    return grant


def count(connection: Connection, user: str) -> int:
    """Count the grants to a user and those of their memory."""
    return connection.execute(select(func.count()).select_from(table).where(_about(user))).scalar_one()


def drop(connection: Connection, user: str) -> None:
    """Delete the grants to a user and those of their memory."""
    connection.execute(delete(table).where(_about(user)))


def _about(user: str) -> ColumnElement[bool]:
    return or_(table.c.user == user, table.c.scope == user)


def must_be_granted(grants: Mapping[str, Grant], scope: object, user: str, *, write: bool = False) -> Grant:
    """The grant of a shared memory. Raises NotGranted, in the same words for one that is not there."""
    grant = grants.get(key("scope", scope))
    if grant is None or (write and not grant.write):
        right = "write into" if write else "read"
        raise NotGranted(f"user {shown(user)} may not {right} {shown(scope)}: an admin grants that")
    return grant
