"""The message log: append-only, durable, the only source of truth.

Functions on a connection; whoever calls them owns the transaction.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, select, update

from zibaldone.core import Message, Narrowing
from zibaldone.errors import IdConflict, StorageCorrupt
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import messages, users
from zibaldone.validation import to_json

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PER_STATEMENT = 500  # values in one IN (...)
_ROWS_PER_STATEMENT = 5000
_NO_TEXT = {"session": "", "role": "", "name": None, "content": "", "metadata": None}


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation of a user, as far as the log holds it."""

    session: str
    messages: int
    first_seq: int
    last_seq: int
    start: datetime  # the earliest message time in it (UTC)
    end: datetime


@dataclass(frozen=True, slots=True)
class UserState:
    """The counters by which caches and cursors know what changed."""

    last_seq: int = 0  # the highest seq ever given to this user, forgotten ones included
    version: int = 0
    deletions: int = 0


@dataclass(frozen=True, slots=True)
class Appended:
    """What one append did."""

    stored: list[Message]  # aligned with what was given; the first copy where an id was known already
    new: int  # how many of them are new
    changed: int = 0  # how many are known with another content, and were left as first stored


def state(connection: Connection, user: str) -> UserState:
    """The user's counters; all zero for a user without messages."""
    row = connection.execute(
        select(users.c.next_seq, users.c.version, users.c.deletions).where(users.c.user == user)
    ).first()
    return UserState(row.next_seq - 1, row.version, row.deletions) if row else UserState()


def touch(connection: Connection, user: str, *, new: int = 0, deleted: bool = False) -> UserState:
    """Take `new` seqs for the user and raise the version; returns the counters afterwards."""
    before = state(connection, user)
    version = before.version + 1
    after = UserState(before.last_seq + new, version, version if deleted else before.deletions)
    values = {"next_seq": after.last_seq + 1, "version": version, "deletions": after.deletions}
    if before.version:
        connection.execute(update(users).where(users.c.user == user).values(values))
    else:
        connection.execute(users.insert().values(user=user, **values))
    return after


def append(
    connection: Connection, user: str, given: Sequence[Message], now: datetime, *, keep_first: bool = False
) -> Appended:
    """Store messages in the order given; an id that is known already adds nothing.

    Raises IdConflict when an id is taken by a message that says something else, or says it elsewhere.
    Metadata may differ (a chat was renamed since): what was stored first stays. With `keep_first` it stays
    whatever differs, and is counted.
    """
    known = _by_id(connection, user, [m.id for m in given if m.id is not None])
    stored: list[Message] = []
    fresh: list[int] = []  # positions in `given`
    changed = 0
    for position, message in enumerate(given):
        first = known.get(message.id) if message.id is not None else None
        if first is not None:
            if differs := _differences(first, message):
                if not keep_first:
                    raise _conflict(first, differs)
                changed += 1
            stored.append(first)
            continue
        complete = replace(message, time=message.time or now, id=message.id or _new_id(now))
        if complete.id is not None:
            known[complete.id] = complete
        fresh.append(position)
        stored.append(complete)
    if fresh:
        first_seq = touch(connection, user, new=len(fresh)).last_seq - len(fresh) + 1
        for seq, position in enumerate(fresh, first_seq):
            stored[position] = replace(stored[position], seq=seq)
        for batch in in_chunks(fresh, _ROWS_PER_STATEMENT):
            connection.execute(messages.insert(), [_to_row(user, stored[position]) for position in batch])
        if len(fresh) < len(given):  # the same id twice in one call: both are the one that was stored
            by_id = {stored[position].id: stored[position] for position in fresh}
            stored = [by_id.get(message.id, message) for message in stored]
    return Appended(stored, len(fresh), changed)


def read(
    connection: Connection,
    user: str,
    *,
    session: str | None = None,
    after: int = 0,
    to: int | None = None,
    limit: int | None = None,
) -> list[Message]:
    """Messages in the order of their seqs, those above seq `after` and up to seq `to`."""
    query = select(messages).where(messages.c.user == user, messages.c.seq > after).order_by(messages.c.seq)
    if session is not None:
        query = query.where(messages.c.session == session)
    if to is not None:
        query = query.where(messages.c.seq <= to)
    return [_to_message(row) for row in connection.execute(query.limit(limit))]


def last(connection: Connection, user: str, session: str, *, before: int, most: int) -> list[Message]:
    """The last `most` messages of a session below seq `before`, in the order of their seqs."""
    c = messages.c
    query = select(messages).where(c.user == user, c.session == session, c.seq < before)
    return [_to_message(row) for row in connection.execute(query.order_by(c.seq.desc()).limit(most))][::-1]


def fetch(connection: Connection, user: str, seqs: Sequence[int]) -> dict[int, Message]:
    """The messages of these seqs, those that exist."""
    messages_by_seq = {}
    for batch in in_chunks(seqs, _PER_STATEMENT):
        query = select(messages).where(messages.c.user == user, messages.c.seq.in_(batch))
        for row in connection.execute(query):
            messages_by_seq[row.seq] = _to_message(row)
    return messages_by_seq


def present(connection: Connection, user: str, seqs: Iterable[int]) -> set[int]:
    """Which of these seqs are still in the log."""
    c = messages.c
    return {
        seq
        for batch in in_chunks(sorted(seqs), _PER_STATEMENT)
        for seq in connection.execute(select(c.seq).where(c.user == user, c.seq.in_(batch))).scalars()
    }


def sessions(connection: Connection, user: str) -> list[Session]:
    """The user's sessions in the order of their first messages."""
    c = messages.c
    query = (
        select(
            c.session,
            func.count().label("n"),
            func.min(c.seq).label("first"),
            func.max(c.seq).label("last"),
            func.min(c.time_us).label("start"),
            func.max(c.time_us).label("end"),
        )
        .where(c.user == user)
        .group_by(c.session)
        .order_by(func.min(c.seq))
    )
    return [
        Session(row.session, row.n, row.first, row.last, from_us(row.start), from_us(row.end))
        for row in connection.execute(query)
    ]


def all_users(connection: Connection) -> list[str]:
    """Every user that has, or had, messages."""
    return list(connection.execute(select(users.c.user).order_by(users.c.user)).scalars())


def versions(connection: Connection, user: str | None = None) -> dict[str, int]:
    """The version of every user, or of the one given."""
    query = select(users.c.user, users.c.version)
    if user is not None:
        query = query.where(users.c.user == user)
    return {row.user: row.version for row in connection.execute(query)}


def count(connection: Connection, user: str, *, after: int = 0) -> int:
    """How many messages the user has above seq `after`."""
    query = select(func.count()).select_from(messages).where(messages.c.user == user, messages.c.seq > after)
    return connection.execute(query).scalar_one()


def faults(connection: Connection, user: str) -> list[str]:
    """Where the log disagrees with the user's counters; empty when they agree."""
    last = state(connection, user).last_seq
    query = select(messages.c.seq).where(messages.c.user == user, messages.c.seq > last)
    return [f"message {seq} is above the last seq {last}" for seq in connection.execute(query).scalars()]


def seqs_where(
    connection: Connection,
    user: str,
    *,
    session: str | None = None,
    before: datetime | None = None,
    after: int = 0,
) -> list[int]:
    """Seqs above `after` of the messages of a session, or that happened before a time; of all by default."""
    conditions: list[ColumnElement[bool]] = [messages.c.user == user, messages.c.seq > after]
    if session is not None:
        conditions.append(messages.c.session == session)
    if before is not None:
        conditions.append(messages.c.time_us < to_us(before))
    query = select(messages.c.seq).where(and_(*conditions)).order_by(messages.c.seq)
    return list(connection.execute(query).scalars())


def seqs_within(connection: Connection, user: str, narrowing: Narrowing) -> frozenset[int]:
    """Seqs of the messages that a narrowing lets in."""
    c = messages.c
    conditions: list[ColumnElement[bool]] = [c.user == user]
    if narrowing.exclude_session is not None:
        conditions.append(c.session != narrowing.exclude_session)
    if narrowing.roles is not None:
        conditions.append(c.role.in_(sorted(narrowing.roles)))
    if narrowing.since is not None:
        conditions.append(c.time_us >= to_us(narrowing.since))
    if narrowing.until is not None:
        conditions.append(c.time_us < to_us(narrowing.until))
    if not narrowing.metadata:
        return frozenset(connection.execute(select(c.seq).where(and_(*conditions))).scalars())
    wanted = narrowing.metadata.items()
    rows = connection.execute(select(c.seq, c.metadata).where(and_(*conditions), c.metadata.is_not(None)))
    kept = ((row.seq, json.loads(row.metadata)) for row in rows)
    return frozenset(
        seq
        for seq, metadata in kept
        if all(key in metadata and metadata[key] == value for key, value in wanted)
    )


def quoting(connection: Connection, user: str, seqs: Sequence[int]) -> list[int]:
    """Seqs of editors' messages whose metadata quotes any of these: an edit keeps the words it changed."""
    c = messages.c
    query = select(messages).where(c.user == user, c.role == "editor").order_by(c.seq)
    gone = set(seqs)
    quotes: list[int] = []
    for row in connection.execute(query):
        if row.seq in gone:
            continue
        sources = _to_message(row).metadata.get("sources")
        if isinstance(sources, list) and any(seq in gone for seq in sources if isinstance(seq, int)):
            quotes.append(row.seq)
            gone.add(row.seq)  # an edit of an edit
    return quotes


def editors(connection: Connection, user: str) -> list[Message]:
    """What people told by editing, in the order of seqs."""
    c = messages.c
    query = select(messages).where(c.user == user, c.role == "editor").order_by(c.seq)
    return [_to_message(row) for row in connection.execute(query)]


def empty_damaged(connection: Connection, user: str, seqs: Sequence[int]) -> None:
    """Make messages readable that are about to go: views look at them once more, and must not keep them."""
    for batch in in_chunks(seqs, _PER_STATEMENT):
        try:
            fetch(connection, user, batch)
        except StorageCorrupt:
            for seq in batch:
                try:
                    fetch(connection, user, [seq])
                except StorageCorrupt:
                    at = and_(messages.c.user == user, messages.c.seq == seq)
                    connection.execute(
                        update(messages).where(at).values(time_us=0, utc_offset_s=0, **_NO_TEXT)
                    )


def remove(connection: Connection, user: str, seqs: Sequence[int]) -> int:
    """Delete messages; returns how many there were. Their seqs are never given again."""
    removed = 0
    for batch in in_chunks(seqs, _PER_STATEMENT):
        condition = and_(messages.c.user == user, messages.c.seq.in_(batch))
        removed += connection.execute(delete(messages).where(condition)).rowcount
    if removed:
        touch(connection, user, deleted=True)
    return removed


def to_us(time: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_us(time_us: int, utc_offset_s: int = 0) -> datetime:
    """The inverse of to_us, on the clock of the given offset."""
    zone = timezone(timedelta(seconds=utc_offset_s)) if utc_offset_s else UTC
    return (_EPOCH + timedelta(microseconds=time_us)).astimezone(zone)


def _by_id(connection: Connection, user: str, ids: Sequence[str]) -> dict[str, Message]:
    known = {}
    for batch in in_chunks(ids, _PER_STATEMENT):
        query = select(messages).where(messages.c.user == user, messages.c.id.in_(batch))
        for row in connection.execute(query):
            known[row.id] = _to_message(row)
    return known


def _differences(first: Message, again: Message) -> list[str]:
    """The fields in which a message differs from the one that is stored under its id."""
    fields = ("content", "role", "name", "session")
    differs = [field for field in fields if getattr(first, field) != getattr(again, field)]
    return [*differs, "time"] if again.time not in (None, first.time) else differs


def _conflict(first: Message, differs: Sequence[str]) -> IdConflict:
    return IdConflict(
        f"id {first.id!r} is taken by message {first.seq or 'earlier in this call'}, which has another"
        f" {' and '.join(differs)}: nothing was stored; give the changed message an id of its own"
    )


def _new_id(now: datetime) -> str:
    """Random, and rising with time, so that the index of ids grows at its end."""
    return f"{to_us(now) // 1000:012x}{secrets.token_hex(10)}"


def _to_row(user: str, message: Message) -> dict[str, Any]:
    assert message.time is not None
    offset = message.time.utcoffset()
    return {
        "user": user,
        "seq": message.seq,
        "id": message.id,
        "session": message.session,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "time_us": to_us(message.time),
        "utc_offset_s": int(offset.total_seconds()) if offset else 0,
        "metadata": to_json(message.metadata),
    }


def _to_message(row: Row[Any]) -> Message:
    try:
        return Message(
            content=row.content,
            role=row.role,
            name=row.name,
            time=from_us(row.time_us, row.utc_offset_s),
            session=row.session,
            metadata=_metadata(row),
            id=row.id,
            seq=row.seq,
        )
    except (ArithmeticError, TypeError, ValueError) as error:
        raise StorageCorrupt(
            f"message {row.seq} of user {row.user!r} is damaged ({error}):"
            f" restore a copy, or forget(user={row.user!r}, seqs=[{row.seq}])"
        ) from error


def _metadata(row: Row[Any]) -> dict[str, Any]:
    metadata = json.loads(row.metadata) if row.metadata else {}
    if not isinstance(metadata, dict):
        raise TypeError("its metadata is no object")
    return metadata
