"""The message log: append-only, durable, the only source of truth.

Functions on a connection; whoever calls them owns the transaction.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from hashlib import blake2b
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    Row,
    Select,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    select,
    true,
    update,
)

from zibaldone.core import CORRECTS, EDITOR, Message
from zibaldone.core.validation import to_json
from zibaldone.errors import IdConflict, StorageCorrupt
from zibaldone.log import audit
from zibaldone.log.filters import Narrowing
from zibaldone.log.message_input import corrected_ids
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.columns import PLAIN_BEGINNING, seals_of
from zibaldone.storage.prepared import PreparedWrite
from zibaldone.storage.schema import (
    exports,
    forgotten_ids,
    message_files,
    messages,
    users,
)

ITEM_SESSIONS = PLAIN_BEGINNING  # a session so named is an item: its last message is what it says now
T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PER_STATEMENT = 500  # values in one IN (...)
_ROWS_PER_STATEMENT = 5000
_CORRECTING = f'"{CORRECTS}":'  # as it stands in metadata
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
    title: str = ""  # as its newest message has it; "" where it has none


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


@dataclass(frozen=True, slots=True)
class Sifted:
    """What of given messages an append would store."""

    fresh: list[Message]
    changed: int  # how many are known with another content
    forgotten: int  # how many were stored once, and forgotten


# Made once: every add and every recall asks them, and making one costs several times what asking it does.
_NEW_USER, _NEW_MESSAGES, _NEW_FILES = map(
    PreparedWrite, (users.insert(), messages.insert(), message_files.insert())
)
_TOUCHED = PreparedWrite(
    update(users)
    .where(users.c.user == bindparam("of"))
    .values({name: bindparam(name) for name in ("next_seq", "version", "deletions", "behind")})
)
_FETCHED = select(messages).where(
    messages.c.user == bindparam("of"), messages.c.seq.in_(bindparam("seqs", expanding=True))
)
_OF_IDS = select(messages).where(
    messages.c.user == bindparam("of"), messages.c.id.in_(bindparam("ids", expanding=True))
)
_STATE = select(users.c.next_seq, users.c.version, users.c.deletions).where(users.c.user == bindparam("of"))
_CORRECTIONS = (
    select(messages.c.user, messages.c.seq, messages.c.role, messages.c.metadata)
    .where(
        messages.c.user == bindparam("of"),
        messages.c.role == EDITOR,
        messages.c.metadata.contains(_CORRECTING),
    )
    .order_by(messages.c.seq)
)
_EDITED = (
    select(messages)
    .where(messages.c.user == bindparam("of"), messages.c.role == EDITOR)
    .order_by(messages.c.seq)
)
_OF_EDITORS = (
    select(messages.c.user, messages.c.seq, messages.c.role, messages.c.metadata)
    .where(messages.c.user == bindparam("of"), messages.c.role == EDITOR)
    .order_by(messages.c.seq)
)
_ORIGINS = select(messages.c.user, messages.c.seq, messages.c.id, messages.c.role, messages.c.metadata).where(
    messages.c.user == bindparam("of"), messages.c.seq.in_(bindparam("seqs", expanding=True))
)


def state(connection: Connection, user: str) -> UserState:
    """The user's counters; all zero for a user without messages."""
    row = connection.execute(_STATE, {"of": user}).first()
    return state_of(row) if row else UserState()


def state_of(row: Any) -> UserState:
    """The counters in a row of `users`."""
    return UserState(row.next_seq - 1, row.version, row.deletions)


def touch(connection: Connection, user: str, *, new: int = 0, deleted: bool = False) -> UserState:
    """Take `new` seqs for the user and raise the version; returns the counters afterwards.

    Workers look at the user again: whoever changes what views read or keep calls this.
    """
    before = state(connection, user)
    version = before.version + 1
    after = UserState(before.last_seq + new, version, version if deleted else before.deletions)
    values = {"next_seq": after.last_seq + 1, "version": version, "deletions": after.deletions, "behind": 1}
    if before.version:
        _TOUCHED.run(connection, [{"of": user, **values}])
    else:
        _NEW_USER.run(connection, [{"user": user, **values}])
    return after


def append(
    connection: Connection, user: str, given: Sequence[Message], now: datetime, *, keep_first: bool = False
) -> Appended:
    """Store messages in the order given; an id that is known already adds nothing.

    A correction that names ids corrects the messages that have them here, whatever their seqs were elsewhere.

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
        complete = message
        if message.time is None or message.id is None:
            complete = replace(message, time=message.time or now, id=message.id or _new_id(now))
        if complete.id is not None:
            known[complete.id] = complete
        fresh.append(position)
        stored.append(complete)
    if fresh:
        first_seq = touch(connection, user, new=len(fresh)).last_seq - len(fresh) + 1
        for seq, position in enumerate(fresh, first_seq):
            stored[position] = replace(stored[position], seq=seq, files=())
        _settle_corrections(connection, user, stored, fresh)
        audit.note(connection, user, "write", len(fresh))
        for batch in in_chunks(fresh, _ROWS_PER_STATEMENT):
            _NEW_MESSAGES.run(connection, [_to_row(user, stored[position]) for position in batch])
        file_rows = [
            {"user": user, "seq": stored[position].seq, "place": place, "data": data}
            for position in fresh
            for place, data in enumerate(given[position].files)
            if data is not None
        ]
        if file_rows:
            _NEW_FILES.run(connection, file_rows)
        if len(fresh) < len(given):  # the same id twice in one call: both are the one that was stored
            by_id = {stored[position].id: stored[position] for position in fresh}
            stored = [by_id.get(message.id, message) for message in stored]
    return Appended(stored, len(fresh), changed)


def sift(connection: Connection, user: str, given: Sequence[Message], *, again: bool) -> Sifted:
    """The messages that are not stored yet; what was forgotten is no more, unless `again`."""
    ids = [message.id for message in given if message.id is not None]
    known = _by_id(connection, user, ids)
    gone = set() if again else _forgotten(connection, user, [own for own in ids if own not in known])
    changed = sum(1 for m in given if (first := known.get(m.id or "")) is not None and _differences(first, m))
    fresh = [message for message in given if message.id not in known and message.id not in gone]
    forgotten = sum(message.id in gone for message in given)
    return Sifted(fresh, changed, forgotten)


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
    given = {"of": user, "after": after, "of_session": session, "to": to, "most": limit}
    rows = connection.execute(
        _reading(*(given[name] is not None for name in ("of_session", "to", "most"))), given
    )
    return [_to_message(row) for row in rows]


@cache
def _reading(in_session: bool, to_some: bool, limited: bool) -> Select[Any]:  # noqa: FBT001 - flags of one caller
    c = messages.c
    query = select(messages).where(c.user == bindparam("of"), c.seq > bindparam("after")).order_by(c.seq)
    if in_session:
        query = query.where(c.session == bindparam("of_session"))
    if to_some:
        query = query.where(c.seq <= bindparam("to"))
    return query.limit(bindparam("most", type_=Integer)) if limited else query


def last(connection: Connection, user: str, session: str, *, before: int, most: int) -> list[Message]:
    """The last `most` messages of a session below seq `before`, in the order of their seqs."""
    c = messages.c
    query = select(messages).where(c.user == user, c.session == session, c.seq < before)
    return [_to_message(row) for row in connection.execute(query.order_by(c.seq.desc()).limit(most))][::-1]


def select_messages(
    connection: Connection,
    user: str,
    narrowing: Narrowing,
    *,
    session: str | None = None,
    after: int = 0,
    before: int | None = None,
    limit: int | None = None,
    newest: bool = False,
) -> list[Message]:
    """The first `limit` messages between two seqs that a narrowing lets in, or the newest; in order."""
    given = {"of": user, "after": after, "of_session": session, "before": before}
    query = _selecting(session is not None, before is not None, newest)
    if conditions := _conditions(narrowing, sealed=seals_of(connection) is not None):
        query = query.where(*conditions)
    looked_at = (narrowing.metadata, narrowing.roles, narrowing.exclude_seqs or None)
    if looked_at == (None,) * 3 and not narrowing.without_noise:
        limited = query if limit is None else query.limit(limit)
        taken = [_to_message(row) for row in connection.execute(limited, given)]
    else:
        taken = []
        with connection.execute(query, given) as rows:
            for row in rows:
                if len(taken) == limit:
                    break
                if _lets_in(narrowing, message := _to_message(row)):
                    taken.append(message)
    return taken[::-1] if newest else taken


@cache
def _selecting(in_session: bool, before_some: bool, newest: bool) -> Select[Any]:  # noqa: FBT001 - flags of one caller
    c = messages.c
    query = select(messages).where(c.user == bindparam("of"), c.seq > bindparam("after"))
    if in_session:
        query = query.where(c.session == bindparam("of_session"))
    if before_some:
        query = query.where(c.seq < bindparam("before"))
    return query.order_by(c.seq.desc() if newest else c.seq)


def find(connection: Connection, user: str, which: int | str) -> Message | None:
    """The message of a seq, or of an id."""
    if isinstance(which, int):
        return fetch(connection, user, [which]).get(which)
    return _by_id(connection, user, [which]).get(which)


def fetch(connection: Connection, user: str, seqs: Sequence[int]) -> dict[int, Message]:
    """The messages of these seqs, those that exist."""
    messages_by_seq = {}
    for batch in in_chunks(seqs, _PER_STATEMENT):
        for row in connection.execute(_FETCHED, {"of": user, "seqs": batch}):
            messages_by_seq[row.seq] = _to_message(row)
    return messages_by_seq


def origins(connection: Connection, user: str, seqs: Iterable[int]) -> dict[int, Message]:
    """The messages of these seqs, those that exist, without what they say: who, where, and metadata."""
    known = {}
    for batch in in_chunks(sorted(seqs), _PER_STATEMENT):
        for row in connection.execute(_ORIGINS, {"of": user, "seqs": batch}):
            known[row.seq] = Message(
                "", role=row.role, metadata=checked_metadata(row), id=row.id, seq=row.seq
            )
    return known


def present(connection: Connection, user: str, seqs: Iterable[int]) -> set[int]:
    """Which of these seqs are still in the log."""
    c = messages.c
    return {
        seq
        for batch in in_chunks(sorted(seqs), _PER_STATEMENT)
        for seq in connection.execute(select(c.seq).where(c.user == user, c.seq.in_(batch))).scalars()
    }


def sessions(
    connection: Connection, user: str, *, prefix: str = "", after: int = 0, limit: int | None = None
) -> list[Session]:
    """The user's sessions, or those whose names begin so, in the order of their first messages.

    The first `limit` of those that begin above seq `after`: they cost as much as the messages on the way.
    """
    if limit is not None:
        begun = list(connection.execute(_begun(), {"of": user, "after": after, "most": limit}).scalars())
        batches = [and_(messages.c.session.in_(some)) for some in in_chunks(begun, _PER_STATEMENT)]
    else:
        batches = [and_(true())]
    held = [session for batch in batches for session in _sessions(connection, user, prefix, batch)]
    return [session for session in held if session.first_seq > after]


@cache
def _begun() -> Select[Any]:
    """Names of the first sessions that begin above a seq."""
    m, earlier = messages.c, messages.alias().c
    before = exists().where(earlier.user == m.user, earlier.session == m.session, earlier.seq < m.seq)
    first = select(m.session).where(m.user == bindparam("of"), m.seq > bindparam("after"), ~before)
    return first.order_by(m.seq).limit(bindparam("most", type_=Integer))


def _sessions(
    connection: Connection, user: str, prefix: str, among: ColumnElement[bool]
) -> Iterator[Session]:
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
        .where(c.user == user, among)
        .where(*_begins(prefix if seals_of(connection) is None else _plain_part(prefix)))
        .group_by(c.session)
        .order_by(func.min(c.seq))
    )
    rows = [row for row in connection.execute(query) if row.session.startswith(prefix)]
    newest = origins(connection, user, [row.last for row in rows])
    for row in rows:
        yield Session(
            row.session,
            row.n,
            row.first,
            row.last,
            time_in(user, row.session, row.start),
            time_in(user, row.session, row.end),
            _title(newest[row.last]),
        )


def _title(message: Message) -> str:
    title = message.metadata.get("title")
    return title if isinstance(title, str) else ""


def overwritten(connection: Connection, user: str) -> frozenset[int]:
    """Seqs of what items said before: of each item's messages all but the last."""
    return frozenset(connection.execute(_overwritten(), {"of": user}).scalars())


@cache
def _overwritten() -> Select[Any]:
    c = messages.c
    mine = c.user == bindparam("of")
    changed = (
        select(c.session, func.max(c.seq).label("last"))
        .where(mine, *_begins(ITEM_SESSIONS))
        .group_by(c.session)
        .having(func.count() > 1)
        .subquery()
    )
    query = select(c.seq).join(changed, c.session == changed.c.session)
    return query.where(mine, c.seq < changed.c.last)


def all_users(connection: Connection, after: str = "", limit: int | None = None) -> list[str]:
    """Users that have, or had, messages, in the order of their names: the first `limit` behind `after`."""
    query = select(users.c.user).where(users.c.user > after).order_by(users.c.user).limit(limit)
    return list(connection.execute(query).scalars())


def versions(connection: Connection, user: str | None = None) -> dict[str, int]:
    """The version of every user, or of the one given."""
    query = select(users.c.user, users.c.version)
    if user is not None:
        query = query.where(users.c.user == user)
    return {row.user: row.version for row in connection.execute(query)}


def is_noise(row: Any) -> bool:
    """True if a row with metadata is of a message that is noise."""
    return bool(row.metadata) and Message("", metadata=checked_metadata(row)).is_noise


def count(connection: Connection, user: str, *, after: int = 0) -> int:
    """How many messages the user has above seq `after`."""
    query = select(func.count()).select_from(messages).where(messages.c.user == user, messages.c.seq > after)
    return connection.execute(query).scalar_one()


def count_sessions(connection: Connection, user: str) -> int:
    """How many there are; no name of one is read."""
    query = select(func.count(messages.c.session.distinct())).where(messages.c.user == user)
    return connection.execute(query).scalar_one()


def files(connection: Connection, user: str, seq: int) -> dict[int, bytes]:
    """The bytes that were kept of a message's attachments, by place."""
    c = message_files.c
    query = select(c.place, c.data).where(c.user == user, c.seq == seq)
    return {row.place: row.data for row in connection.execute(query)}


def faults(connection: Connection, user: str) -> list[str]:
    """Where the log disagrees with the user's counters, or files with it; and what of it cannot be read."""
    last = state(connection, user).last_seq
    m, f = messages.c, message_files.c
    above = select(m.seq).where(m.user == user, m.seq > last)
    on = and_(m.user == f.user, m.seq == f.seq)
    orphans = select(f.seq).outerjoin_from(message_files, messages, on).where(f.user == user, m.seq.is_(None))
    about = select(m.user, m.seq, m.time_us, m.utc_offset_s, m.metadata).where(m.user == user).order_by(m.seq)
    return [
        *(fault for row in connection.execute(about) for fault in _faults_of(row)),
        *(f"message {seq} is above the last seq {last}" for seq in connection.execute(above).scalars()),
        *(f"a file of message {seq}, which is not there" for seq in connection.execute(orphans).scalars()),
    ]


def _faults_of(row: Any) -> Iterator[str]:
    try:
        from_us(row.time_us, row.utc_offset_s)
        _metadata(row)
    except (ArithmeticError, TypeError, ValueError) as error:
        yield str(_damaged(row, error))


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


def seqs_within(connection: Connection, user: str, narrowing: Narrowing) -> frozenset[int] | None:
    """Seqs of the messages that a narrowing's roles, times and metadata let in; None: all."""
    c = messages.c
    if (narrowing.roles, narrowing.since, narrowing.until, narrowing.metadata) == (None,) * 4:
        return None
    sealed = seals_of(connection) is not None
    conditions = and_(c.user == user, *_conditions(narrowing, sealed=sealed))
    if narrowing.metadata is None and narrowing.roles is None:
        return frozenset(connection.execute(select(c.seq).where(conditions)).scalars())
    # Where only roles are asked for, the role says it of most messages.
    metadata = case((c.role == EDITOR, c.metadata)) if narrowing.metadata is None else c.metadata
    rows = connection.execute(select(c.user, c.seq, c.role, metadata.label("metadata")).where(conditions))
    return frozenset(
        row.seq
        for row in rows
        if _lets_in(narrowing, Message("", role=row.role, metadata=checked_metadata(row)))
    )


def seqs_without(connection: Connection, user: str, narrowing: Narrowing) -> frozenset[int]:
    """Seqs of the messages that a narrowing leaves out by their session or by what they say."""
    c = messages.c
    without = set(narrowing.exclude_seqs)
    if narrowing.exclude_session is not None:
        query = select(c.seq).where(c.user == user, c.session == narrowing.exclude_session)
        without.update(connection.execute(query).scalars())
    for some in in_chunks(sorted(narrowing.repeated), _PER_STATEMENT):
        # Compared here: where a query says "content = ...", SQLite has no use for the index of lengths.
        given = {f"content_{place}": content for place, content in enumerate(some)}
        same_length = connection.execute(_as_long_as(len(some)), {"of": user, **given})
        without.update(row.seq for row in same_length if row.content in narrowing.repeated)
    return frozenset(without)


@cache
def _as_long_as(contents: int) -> Select[Any]:
    """Messages as long as any of so many contents."""
    c = messages.c
    given = (bindparam(f"content_{place}", type_=c.content.type) for place in range(contents))
    lengths = [func.length(content) for content in given]
    return select(c.seq, c.content).where(c.user == bindparam("of"), func.length(c.content).in_(lengths))


def quoting(connection: Connection, user: str, seqs: Sequence[int]) -> list[int]:
    """Seqs of editors' messages whose metadata quotes any of these: an edit keeps the words it changed."""
    c = messages.c
    query = select(messages).where(c.user == user, c.role == EDITOR).order_by(c.seq)
    gone = set(seqs)
    quotes: list[int] = []
    for row in connection.execute(query):
        if row.seq in gone:
            continue
        message = _to_message(row)
        sources = message.metadata.get("sources")
        quoted = [*message.corrects, *(sources if isinstance(sources, list) else ())]
        if any(seq in gone for seq in quoted if isinstance(seq, int)):
            quotes.append(row.seq)
            gone.add(row.seq)  # an edit of an edit
    return quotes


def editors(connection: Connection, user: str) -> list[Message]:
    """What people told by editing, in the order of seqs."""
    return [_to_message(row) for row in connection.execute(_EDITED, {"of": user})]


def corrections(connection: Connection, user: str) -> dict[int, int]:
    """By the seq of each message that was corrected, the seq of what holds now in its place."""
    newest: dict[int, int] = {}
    of_first: dict[int, list[int]] = {}  # two who correct at once do not know of each other
    corrections = _CORRECTIONS if seals_of(connection) is None else _OF_EDITORS
    for row in connection.execute(corrections, {"of": user}):
        edit = Message("", role=row.role, metadata=checked_metadata(row), seq=row.seq)
        if corrected := edit.corrects:
            earlier = of_first.setdefault(corrected[0], [])
            newest.update(dict.fromkeys((*corrected, *earlier), row.seq))
            earlier.append(row.seq)
    return newest


def versions_of(connection: Connection, user: str, message: Message) -> list[Message]:
    """A message as it was first stored, and its corrections in the order in which they were made."""
    first = message.corrects[0] if message.corrects else message.seq
    later = [edit for edit in editors(connection, user) if first in edit.corrects]
    return [*fetch(connection, user, [first]).values(), *later]


def note_export(connection: Connection, user: str, path: str, now: datetime) -> None:
    """That messages, or what was made of them, were written to this file or folder."""
    at = and_(exports.c.user == user, exports.c.path == path)
    if not connection.execute(update(exports).where(at).values(time_us=to_us(now))).rowcount:
        connection.execute(exports.insert().values(user=user, path=path, time_us=to_us(now)))


def damaged(connection: Connection, user: str, seqs: Sequence[int]) -> list[int]:
    """Which of the messages cannot be read."""
    unreadable = []
    for batch in in_chunks(seqs, _PER_STATEMENT):
        try:
            fetch(connection, user, batch)
        except StorageCorrupt:
            for seq in batch:
                try:
                    fetch(connection, user, [seq])
                except StorageCorrupt:
                    unreadable.append(seq)
    return unreadable


def empty(connection: Connection, user: str, seqs: Sequence[int]) -> None:
    """Make damaged messages readable that are about to go: views look at them once more, and keep nothing."""
    for batch in in_chunks(seqs, _PER_STATEMENT):
        these = and_(messages.c.user == user, messages.c.seq.in_(batch))
        connection.execute(update(messages).where(these).values(time_us=0, utc_offset_s=0, **_NO_TEXT))


def sizes(connection: Connection, user: str, seqs: Sequence[int]) -> dict[int, int]:
    """By the seqs of those that are there, how long the message is with its files, in bytes."""
    m, f = messages.c, message_files.c
    bytes_of: dict[int, int] = {}
    of_text, of_file = func.length(cast(m.content, LargeBinary)), func.length(f.data)
    for batch in in_chunks(seqs, _PER_STATEMENT):
        of_content = select(m.seq, of_text).where(m.user == user, m.seq.in_(batch))
        of_files = select(f.seq, of_file).where(f.user == user, f.seq.in_(batch))
        for seq, size in chain(connection.execute(of_content), connection.execute(of_files)):
            bytes_of[seq] = bytes_of.get(seq, 0) + size
    return bytes_of


def remove(connection: Connection, user: str, seqs: Sequence[int]) -> int:
    """Delete messages; returns how many there were. Their seqs are never given again."""
    removed = delete_rows(connection, user, seqs)
    if removed:
        touch(connection, user, deleted=True)
        audit.note(connection, user, "forget", removed)
    return removed


def delete_rows(connection: Connection, user: str, seqs: Sequence[int]) -> int:
    """Delete messages as a step of a forgetting that was noted already; returns how many there were."""
    removed = 0
    for batch in in_chunks(seqs, _PER_STATEMENT):
        of_files = and_(message_files.c.user == user, message_files.c.seq.in_(batch))
        connection.execute(delete(message_files).where(of_files))
        note_forgotten(connection, user, batch)
        condition = and_(messages.c.user == user, messages.c.seq.in_(batch))
        removed += connection.execute(delete(messages).where(condition)).rowcount
    return removed


def to_us(time: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_us(time_us: int, utc_offset_s: int = 0) -> datetime:
    """The inverse of to_us, on the clock of the given offset."""
    zone = timezone(timedelta(seconds=utc_offset_s)) if utc_offset_s else UTC
    return (_EPOCH + timedelta(microseconds=time_us)).astimezone(zone)


def time_in(user: str, session: str, time_us: int) -> datetime:
    """When a message of a session was. Raises StorageCorrupt for no time that a message can have."""
    try:
        return from_us(time_us)
    except ArithmeticError as error:
        raise StorageCorrupt(
            f"a message of session {session!r} of user {user!r} is damaged ({error}): check_integrity() names"
            " it, and forget(seqs=...) or a copy mends it"
        ) from error


def _begins(prefix: str) -> list[ColumnElement[bool]]:
    """What holds for sessions whose names begin so; the index by session serves it."""
    if not prefix:
        return []
    c = messages.c
    return [c.session >= prefix, c.session < prefix[:-1] + chr(ord(prefix[-1]) + 1)]


def _plain_part(prefix: str) -> str:
    """What of a beginning can be seen of sealed names."""
    return ITEM_SESSIONS if prefix.startswith(ITEM_SESSIONS) else ""


def _conditions(narrowing: Narrowing, *, sealed: bool) -> list[ColumnElement[bool]]:
    """What SQL can say of a narrowing; editors' roles and metadata are looked at afterwards."""
    c = messages.c
    conditions: list[ColumnElement[bool]] = []
    if narrowing.exclude_session is not None:
        conditions.append(c.session != narrowing.exclude_session)
    if narrowing.roles is not None:
        conditions.append(c.role.in_(sorted({*narrowing.roles, EDITOR})))
    if narrowing.since is not None:
        conditions.append(c.time_us >= to_us(narrowing.since))
    if narrowing.until is not None:
        conditions.append(c.time_us < to_us(narrowing.until))
    needed = narrowing.metadata.needs if narrowing.metadata and not sealed else ()
    written = (json.dumps(name, ensure_ascii=False) for name in needed)
    return [*conditions, *(c.metadata.contains(name, autoescape=True) for name in written)]


def _lets_in(narrowing: Narrowing, message: Message) -> bool:
    roles = narrowing.roles
    if (narrowing.without_noise and message.is_noise) or message.seq in narrowing.exclude_seqs:
        return False
    return (roles is None or message.role in roles or message.voice in roles) and (
        narrowing.metadata is None or narrowing.metadata.holds(message.metadata)
    )


def _settle_corrections(
    connection: Connection, user: str, stored: list[Message], fresh: Sequence[int]
) -> None:
    """Let corrections, of the new messages at these positions, name the seqs of their ids."""
    correcting = [position for position in fresh if corrected_ids(stored[position])]
    if not correcting:
        return
    new = {stored[position].id: stored[position].seq for position in fresh}
    elsewhere = {name for position in correcting for name in corrected_ids(stored[position])} - new.keys()
    seq_of = {name: known.seq for name, known in _by_id(connection, user, sorted(elsewhere)).items()}
    for position in correcting:
        edit = stored[position]
        seqs = [seq for name in corrected_ids(edit) if (seq := new.get(name) or seq_of.get(name))]
        correction = {**edit.metadata[CORRECTS], "seqs": seqs}
        stored[position] = replace(edit, metadata={**edit.metadata, CORRECTS: correction})


def note_forgotten(connection: Connection, user: str, seqs: Sequence[int]) -> None:
    """Note that these are forgotten, which are about to go: an import leaves them out.

    What is kept of an id is a digest.
    """
    for batch in in_chunks(seqs, _PER_STATEMENT):
        these = and_(messages.c.user == user, messages.c.seq.in_(batch))
        ids = list(connection.execute(select(messages.c.id).where(these)).scalars())
        new = {_id_digest(user, own) for own in set(ids) - _forgotten(connection, user, ids)}
        if new:
            rows = [{"user": user, "digest": digest} for digest in sorted(new)]
            connection.execute(forgotten_ids.insert(), rows)


def _forgotten(connection: Connection, user: str, ids: Sequence[str]) -> set[str]:
    """Those of the ids whose messages were forgotten."""
    gone: set[str] = set()
    for batch in in_chunks(ids, _PER_STATEMENT):
        of_digest = {_id_digest(user, own): own for own in batch}
        query = select(forgotten_ids.c.digest).where(
            forgotten_ids.c.user == user, forgotten_ids.c.digest.in_(of_digest)
        )
        gone.update(of_digest[digest] for digest in connection.execute(query).scalars())
    return gone


def _id_digest(user: str, message_id: str) -> str:
    return blake2b(f"{user}\0{message_id}".encode(), digest_size=16).hexdigest()


def _by_id(connection: Connection, user: str, ids: Sequence[str]) -> dict[str, Message]:
    known = {}
    for batch in in_chunks(ids, _PER_STATEMENT):
        for row in connection.execute(_OF_IDS, {"of": user, "ids": batch}):
            known[row.id] = _to_message(row)
    return known


def _differences(first: Message, again: Message) -> list[str]:
    """The fields in which a message differs from the one that is stored under its id."""
    fields = ("content", "role", "name", "session")
    differs = [field for field in fields if getattr(first, field) != getattr(again, field)]
    if first.session.startswith(ITEM_SESSIONS) and to_json(first.metadata) != to_json(again.metadata):
        differs.append("value")  # of which the content may say nothing
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
        raise _damaged(row, error) from error


def checked_metadata(row: Any) -> dict[str, Any]:
    """The metadata of a row with its user and seq. Raises StorageCorrupt."""
    try:
        return _metadata(row)
    except (TypeError, ValueError) as error:
        raise _damaged(row, error) from error


def _damaged(row: Any, error: Exception) -> StorageCorrupt:
    return StorageCorrupt(
        f"message {row.seq} of user {row.user!r} is damaged ({error}):"
        f" restore a copy, or forget(user={row.user!r}, seqs=[{row.seq}])"
    )


def _metadata(row: Any) -> dict[str, Any]:
    metadata = json.loads(row.metadata) if row.metadata else {}
    if not isinstance(metadata, dict):
        raise TypeError("its metadata is no object")
    return metadata
