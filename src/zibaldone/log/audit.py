"""The audit log: who read, wrote and forgot, through which door, when and how much; never what it said.

An entry of a write or a forgetting stands in the same transaction as the messages; one of a read in a
transaction of its own, before the caller gets anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar, cast

from sqlalchemy import Connection, func, select

from zibaldone.core.validation import key
from zibaldone.errors import StorageBusy
from zibaldone.log.reading import from_us, to_us
from zibaldone.storage.database import Database
from zibaldone.storage.schema import audit as table

Action = Literal["read", "write", "forget"]
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Actor:
    """The door, and the server's key, by which somebody acts."""

    door: str = "library"  # or "cli", "rest", "page", "gateway", "mcp"
    key: str | None = None  # the id of the server's key; None: none was needed


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done with a user's memory."""

    user: str
    number: int  # rises by one per user: one that is missing was taken out by hand
    time: datetime
    action: Action
    operation: str  # "recall", "add", "forget" ...
    door: str
    key: str | None
    count: int  # of messages, passages, or whatever the operation gives


_actor: ContextVar[Actor] = ContextVar("actor", default=Actor())  # noqa: B039 - it is frozen
_operations: set[str] = set()
_operation: ContextVar[str | None] = ContextVar("operation", default=None)


@contextmanager
def acting(door: str, key_id: str | None = None) -> Iterator[None]:
    """Name the actor of all that is done inside."""
    token = _actor.set(Actor(door, key_id))
    try:
        yield
    finally:
        _actor.reset(token)


def act_as(door: str, key_id: str | None = None) -> None:
    """Name the actor of all that the rest of this task does."""
    _actor.set(Actor(door, key_id))


def actor() -> Actor:
    """Return the actor of this task."""
    return _actor.get()


def audited(action: Action, operation: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a method of a memory that reads, writes or forgets; what it calls of the others is part of it.

    `operation` is the method's name unless given. For one that reads, its object has a `_database`, and a
    `_user` where the call names none.
    """

    def around(method: Callable[P, R]) -> Callable[P, R]:
        name = operation or method.__name__
        _operations.add(name)

        @wraps(method)
        def call(*args: P.args, **options: P.kwargs) -> R:
            if _operation.get() is not None:
                return method(*args, **options)
            token = _operation.set(name)
            try:
                result = method(*args, **options)
                if action == "read":
                    owner = cast("Any", args[0])
                    named = options["user"] if "user" in options else getattr(owner, "_user", None)
                    note_read(owner._database, named, _size(getattr(result, "evidence", result)))  # noqa: SLF001 - Memory's own decorator
                return result
            finally:
                _operation.reset(token)

        return call

    return around


def operations() -> frozenset[str]:
    """The names that entries have for what was done."""
    return frozenset(_operations)


def note_read(database: Database, user: object, count: int) -> None:
    """Note a read of so many messages or passages, but where it is of no one user, or nothing is audited.

    Raises StorageBusy where others hold the database: then the caller gets nothing.
    """
    if database.audit_clock is None or user is None:
        return
    try:
        whose = key("user", user)
        database.transact(lambda connection: note(connection, whose, "read", count), whose)
    except StorageBusy as error:
        raise StorageBusy(
            f"{database.name!r} was locked by others, so this read could not be noted in the audit log,"
            " and what is not noted is not given out: try again, or raise busy_timeout_s"
        ) from error


def note(connection: Connection, user: str, action: Action, count: int) -> None:
    """Add an entry in this transaction, where its database is audited."""
    clock: Callable[[], datetime] | None = connection.info.get(Database.AUDITED)
    if clock is None:
        return
    last = connection.execute(select(func.max(table.c.number)).where(table.c.user == user)).scalar()
    who = actor()
    row = {
        "user": user,
        "number": (last or 0) + 1,
        "time_us": to_us(clock()),
        "action": action,
        "operation": _operation.get() or action,
        "door": who.door,
        "key": who.key,
        "amount": count,
    }
    connection.execute(table.insert().values(row))


def entries(
    connection: Connection, user: str | None, since: datetime | None, newest: int | None
) -> list[AuditEntry]:
    """Read the `newest` entries of one user or of all, in the order of time; None: every entry."""
    c = table.c
    query = select(table).order_by(c.time_us.desc(), c.user.desc(), c.number.desc())
    if user is not None:
        query = query.where(c.user == user)
    if since is not None:
        query = query.where(c.time_us >= to_us(since))
    rows = connection.execute(query.limit(newest)).all()[::-1]
    return [
        AuditEntry(
            row.user,
            row.number,
            from_us(row.time_us),
            row.action,
            row.operation,
            row.door,
            row.key,
            row.amount,
        )
        for row in rows
    ]


def _size(given: object) -> int:
    """Count the messages or passages that a method returned; anything else is one."""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], list):
        given = given[0]  # a page, and how many there are in all
    if given is None or isinstance(given, int):
        return int(given or 0)
    return len(given) if isinstance(given, Sized) else 1
