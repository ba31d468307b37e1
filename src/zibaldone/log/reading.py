"""Reading the message log: functions on a connection; their caller owns the transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Row,
    Select,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal,
    select,
)

from zibaldone.core import CORRECTS, EDITOR, Message
from zibaldone.errors import StorageCorrupt
from zibaldone.log.filters import Narrowing
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.columns import PLAIN_BEGINNING, seals_of
from zibaldone.storage.schema import message_files, messages, users

ITEM_SESSIONS = PLAIN_BEGINNING  # a session so named is an item: its last message is what it says now
PER_STATEMENT = 500  # values in one IN (...)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CORRECTING = f'"{CORRECTS}":'  # as it stands in metadata
# Made once: every recall asks them, and making one costs several times what asking it does.
_FETCHED = select(messages).where(
    messages.c.user == bindparam("of"), messages.c.seq.in_(bindparam("seqs", expanding=True))
)
_OF_IDS = select(messages).where(
    messages.c.user == bindparam("of"), messages.c.id.in_(bindparam("ids", expanding=True))
)
_STATE = select(users.c.next_seq, users.c.version, users.c.deletions).where(users.c.user == bindparam("of"))
_EDITED = (
    select(messages)
    .where(messages.c.user == bindparam("of"), messages.c.role == EDITOR)
    .order_by(messages.c.seq)
)
_ABOUT = select(messages.c.user, messages.c.seq, messages.c.id, messages.c.role, messages.c.metadata).where(
    messages.c.user == bindparam("of")
)
_OF_EDITORS = _ABOUT.where(messages.c.role == EDITOR).order_by(messages.c.seq)
_CORRECTIONS = _OF_EDITORS.where(messages.c.metadata.contains(_CORRECTING))
_AMONG = messages.c.seq.in_(bindparam("seqs", expanding=True))
_ORIGINS = _ABOUT.where(_AMONG)
_PRESENT = select(messages.c.seq).where(messages.c.user == bindparam("of"), _AMONG)
_ALL = Narrowing()


@dataclass(frozen=True, slots=True)
class UserState:
    """The counters by which caches and cursors know what changed."""

    last_seq: int = 0  # the highest seq ever given to this user, forgotten ones included
    version: int = 0
    deletions: int = 0


def state(connection: Connection, user: str) -> UserState:
    """The user's counters; all zero for a user without messages."""
    row = connection.execute(_STATE, {"of": user}).first()
    return UserState(row.next_seq - 1, row.version, row.deletions) if row else UserState()


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
    before = None if to is None else to + 1
    return select_messages(connection, user, _ALL, session=session, after=after, before=before, limit=limit)


def last(connection: Connection, user: str, session: str, *, before: int, most: int) -> list[Message]:
    """The last `most` messages of a session below seq `before`, in the order of their seqs."""
    return select_messages(connection, user, _ALL, session=session, before=before, limit=most, newest=True)


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
    c = messages.c
    conditions = _conditions(narrowing, sealed=seals_of(connection) is not None)
    query = select(messages).where(c.user == user, c.seq > after, *conditions)
    if session is not None:
        query = query.where(c.session == session)
    if before is not None:
        query = query.where(c.seq < before)
    query = query.order_by(c.seq.desc() if newest else c.seq)
    in_sql = limit is not None and not (
        narrowing.metadata or narrowing.roles is not None or narrowing.exclude_seqs or narrowing.without_noise
    )
    taken: list[Message] = []
    with connection.execute(query.limit(limit) if in_sql else query) as rows:
        for row in rows:
            if len(taken) == limit:
                break
            if _lets_in(narrowing, message := _to_message(row)):
                taken.append(message)
    return taken[::-1] if newest else taken


def find(connection: Connection, user: str, which: int | str) -> Message | None:
    """The message of a seq, or of an id."""
    if isinstance(which, int):
        return fetch(connection, user, [which]).get(which)
    return fetch_by_id(connection, user, [which]).get(which)


def fetch(connection: Connection, user: str, seqs: Sequence[int]) -> dict[int, Message]:
    """The messages of these seqs, those that exist."""
    return {row.seq: _to_message(row) for row in _rows(connection, _FETCHED, user, "seqs", seqs)}


def _rows(
    connection: Connection, query: Select[Any], user: str, name: str, values: Sequence[Any]
) -> Iterator[Row[Any]]:
    """The rows of a user that a query gives for these values of a parameter."""
    for batch in in_chunks(values, PER_STATEMENT):
        yield from connection.execute(query, {"of": user, name: batch})


def origins(connection: Connection, user: str, seqs: Iterable[int]) -> dict[int, Message]:
    """The messages of these seqs, those that exist, without what they say: who, where, and metadata."""
    return {
        row.seq: Message("", role=row.role, metadata=checked_metadata(row), id=row.id, seq=row.seq)
        for row in _rows(connection, _ORIGINS, user, "seqs", sorted(seqs))
    }


def present(connection: Connection, user: str, seqs: Iterable[int]) -> set[int]:
    """Those of the seqs that are still in the log."""
    return {row.seq for row in _rows(connection, _PRESENT, user, "seqs", sorted(seqs))}


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
    """Count the user's messages above seq `after`."""
    query = select(func.count()).select_from(messages).where(messages.c.user == user, messages.c.seq > after)
    return connection.execute(query).scalar_one()


def files(connection: Connection, user: str, seq: int) -> dict[int, bytes]:
    """The bytes that were kept of a message's attachments, by place."""
    c = message_files.c
    query = select(c.place, c.data).where(c.user == user, c.seq == seq)
    return {row.place: row.data for row in connection.execute(query)}


def faults(connection: Connection, user: str) -> list[str]:
    """List faults: seqs above the user's counter, files without a message, unreadable messages."""
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
    connection: Connection, user: str, *, session: str | None = None, before: datetime | None = None
) -> list[int]:
    """Seqs of the messages of a session, or that happened before a time; of all by default."""
    conditions: list[ColumnElement[bool]] = [messages.c.user == user]
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
    for some in in_chunks(sorted(narrowing.repeated), PER_STATEMENT):
        # Compared here: where a query says "content = ...", SQLite has no use for the index of lengths.
        lengths = [func.length(literal(content, c.content.type)) for content in some]
        query = select(c.seq, c.content).where(c.user == user, func.length(c.content).in_(lengths))
        same_length = connection.execute(query)
        without.update(row.seq for row in same_length if row.content in narrowing.repeated)
    return frozenset(without)


def quoting(connection: Connection, user: str, seqs: Sequence[int]) -> list[int]:
    """Seqs of editors' messages whose metadata quotes any of these: an edit keeps the words it changed."""
    gone = set(seqs)
    quotes: list[int] = []
    for row in connection.execute(_EDITED, {"of": user}):
        if row.seq in gone:  # it may be damaged
            continue
        message = _to_message(row)
        sources = message.metadata.get("sources")
        quoted = [*message.corrects, *(sources if isinstance(sources, list) else ())]
        if any(seq in gone for seq in quoted if isinstance(seq, int)):
            quotes.append(message.seq)
            gone.add(message.seq)  # an edit of an edit
    return quotes


def editors(connection: Connection, user: str) -> list[Message]:
    """Messages of the role `editor`, in the order of seqs."""
    return [_to_message(row) for row in connection.execute(_EDITED, {"of": user})]


def corrections(connection: Connection, user: str) -> dict[int, int]:
    """By the seq of each corrected message, the seq of the correction that holds now."""
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


def damaged(connection: Connection, user: str, seqs: Sequence[int]) -> list[int]:
    """Seqs of the messages that cannot be read."""
    unreadable = []
    for batch in in_chunks(seqs, PER_STATEMENT):
        try:
            fetch(connection, user, batch)
        except StorageCorrupt:
            for seq in batch:
                try:
                    fetch(connection, user, [seq])
                except StorageCorrupt:
                    unreadable.append(seq)
    return unreadable


def sizes(connection: Connection, user: str, seqs: Sequence[int]) -> dict[int, int]:
    """Bytes of each message with its files, by seq; without seqs that are not there."""
    m, f = messages.c, message_files.c
    bytes_of: dict[int, int] = {}
    of_text, of_file = func.length(cast(m.content, LargeBinary)), func.length(f.data)
    for batch in in_chunks(seqs, PER_STATEMENT):
        of_content = select(m.seq, of_text).where(m.user == user, m.seq.in_(batch))
        of_files = select(f.seq, of_file).where(f.user == user, f.seq.in_(batch))
        for seq, size in chain(connection.execute(of_content), connection.execute(of_files)):
            bytes_of[seq] = bytes_of.get(seq, 0) + size
    return bytes_of


def to_us(time: datetime) -> int:
    """Microseconds since 1970, exact."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_us(time_us: int, utc_offset_s: int = 0) -> datetime:
    """The inverse of to_us, on the clock of the given offset."""
    zone = timezone(timedelta(seconds=utc_offset_s)) if utc_offset_s else UTC
    return (_EPOCH + timedelta(microseconds=time_us)).astimezone(zone)


def time_in(user: str, session: str, time_us: int) -> datetime:
    """Read the time of a message of a session. Raises StorageCorrupt where no message can have it."""
    try:
        return from_us(time_us)
    except ArithmeticError as error:
        raise StorageCorrupt(
            f"a message of session {session!r} of user {user!r} is damaged ({error}): admin.check() names"
            " it, and forget(seqs=...) or a copy mends it"
        ) from error


def _conditions(narrowing: Narrowing, *, sealed: bool) -> list[ColumnElement[bool]]:
    """Build the SQL conditions of a narrowing; editors' roles and metadata are compared afterwards."""
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


def fetch_by_id(connection: Connection, user: str, ids: Sequence[str]) -> dict[str, Message]:
    """The messages of these ids, those that exist."""
    return {row.id: _to_message(row) for row in _rows(connection, _OF_IDS, user, "ids", ids)}


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
