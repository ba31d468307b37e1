"""A user's sessions: in the order of their first messages, or for people with titles, the newest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    and_,
    bindparam,
    exists,
    func,
    select,
    true,
    type_coerce,
)

from zibaldone.core import TIME_KNOWN, Message
from zibaldone.log.reading import ITEM_SESSIONS, PER_STATEMENT, checked_metadata, origins, time_in, to_us
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.columns import seals_of
from zibaldone.storage.schema import messages

_FIRST_WORDS = 120  # characters of the first message, where a session has no title
_LONGEST_TITLE = 300


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
class TitledSession:
    """One conversation of a user."""

    session: str
    title: str  # as it was imported; else the first words of its first message
    messages: int
    first_seq: int
    last_seq: int
    start: datetime  # of the message stored first (UTC)
    end: datetime  # of the message stored last
    is_dated: bool = True  # False: nobody knows when it was


class _Span(NamedTuple):
    """A session's first and last seq, and their times in microseconds."""

    session: str
    first: int
    last: int
    start: int
    end: int


def sessions(
    connection: Connection, user: str, *, prefix: str = "", after: int = 0, limit: int | None = None
) -> list[Session]:
    """The user's sessions, or those whose names begin so, in the order of their first messages.

    The first `limit` of those that begin above seq `after`: they cost as much as the messages on the way.
    """
    if limit is not None:
        begun = list(connection.execute(_begun(), {"of": user, "after": after, "most": limit}).scalars())
        batches = [and_(messages.c.session.in_(some)) for some in in_chunks(begun, PER_STATEMENT)]
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
    """Seqs of earlier versions of items: of each item's messages all but the last."""
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


def count_sessions(connection: Connection, user: str) -> int:
    """Count the user's sessions; no name is read."""
    query = select(func.count(messages.c.session.distinct())).where(messages.c.user == user)
    return connection.execute(query).scalar_one()


def _begins(prefix: str) -> list[ColumnElement[bool]]:
    """Build the conditions for sessions whose names begin with `prefix`; the index by session serves them."""
    if not prefix:
        return []
    c = messages.c
    return [c.session >= prefix, c.session < prefix[:-1] + chr(ord(prefix[-1]) + 1)]


def _plain_part(prefix: str) -> str:
    """Return the part of a prefix that is not sealed in sealed names."""
    return ITEM_SESSIONS if prefix.startswith(ITEM_SESSIONS) else ""


def titled_sessions(
    connection: Connection,
    user: str,
    *,
    limit: int,
    after: int = 0,
    words: str = "",
    among: Collection[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    within: Collection[int] | None = None,
) -> tuple[list[TitledSession], int]:
    """The first `limit` sessions, those that ended last before others, and how many there are.

    With `after`, only those behind the session whose last message has this seq. With `words`, those in whose
    title or name all of them stand; `among` these names; with a time, those that were going on then; as far
    as they are `within` some seqs. Items are no sessions.
    """
    if within is None:
        few = [] if among is None or len(among) > PER_STATEMENT else list(among)
        rows: Iterable[Any] = connection.execute(_spans(few=bool(few)), {"of": user, "among": few})
    else:
        rows = _spans_within(connection, user, within)
    spans = [
        span
        for span in map(_Span._make, rows)
        if (among is None or span.session in among)
        and (since is None or span.end >= to_us(since))
        and (until is None or span.start < to_us(until))
    ]
    wanted = words.casefold().split()
    if wanted:
        titles = _beginnings(connection, user, [span.first for span in spans])
        spans = [
            span
            for span in spans
            if all(word in f"{titles[span.first][0]} {span.session}".casefold() for word in wanted)
        ]
    if after:
        at = select(messages.c.time_us).filter_by(user=user, seq=after)
        end = connection.execute(at).scalar() if within is None or after in within else None
        # A forgotten message, or another agent's, tells nothing but its place in the log.
        spans = [
            span
            for span in spans
            if (span.last < after if end is None else (span.end, span.last) < (end, after))
        ]
    shown = spans[:limit]
    beginnings = _beginnings(connection, user, [span.first for span in shown])
    counts = _counts(connection, user, [span.session for span in shown], within)
    return [
        TitledSession(
            span.session,
            beginnings[span.first][0] or span.session,
            counts[span.session],
            span.first,
            span.last,
            time_in(user, span.session, span.start),
            time_in(user, span.session, span.end),
            beginnings[span.first][1],
        )
        for span in shown
    ], len(spans)


@cache
def _spans(*, few: bool) -> Select[tuple[str, int, int, int, int]]:
    """The span of each session, or of each `among` a few names.

    By steps in the index from name to name: SQLite would otherwise go through every message.
    """
    m, other, user = messages.c, messages.alias(), bindparam("of", type_=messages.c.user.type)
    if not few:
        names = select(func.min(m.session).label("session")).where(m.user == user).cte(recursive=True)
        following = select(func.min(other.c.session)).where(
            other.c.user == user, other.c.session > names.c.session
        )
        names = names.union_all(select(following.scalar_subquery()).where(names.c.session.is_not(None)))
    else:
        among = m.session.in_(bindparam("among", expanding=True))
        names = select(m.session).where(m.user == user, among).distinct().cte()
    inside = and_(other.c.user == user, other.c.session == names.c.session)
    spans = (
        select(
            names.c.session,
            select(func.min(other.c.seq)).where(inside).scalar_subquery().label("first"),
            select(func.max(other.c.seq)).where(inside).scalar_subquery().label("last"),
        )
        .where(names.c.session.is_not(None), ~names.c.session.startswith(ITEM_SESSIONS, autoescape=True))
        .subquery()
    )
    begin, end = other.c.time_us.label("start"), m.time_us.label("end")
    return (
        select(spans.c.session, spans.c.first, spans.c.last, begin, end)
        .join(messages, and_(m.user == user, m.seq == spans.c.last))
        .join(other, and_(other.c.user == user, other.c.seq == spans.c.first))
        .order_by(end.desc(), spans.c.last.desc())
    )


def _spans_within(connection: Connection, user: str, within: Collection[int]) -> Iterable[_Span]:
    """The span of each session, of these seqs alone."""
    m = messages.c
    spans: dict[str, _Span] = {}
    for row in connection.execute(select(m.session, m.seq, m.time_us).where(m.user == user).order_by(m.seq)):
        if row.seq in within and not row.session.startswith(ITEM_SESSIONS):
            before = spans.get(row.session, _Span(row.session, row.seq, 0, row.time_us, 0))
            spans[row.session] = before._replace(last=row.seq, end=row.time_us)
    return sorted(spans.values(), key=lambda span: (-span.end, -span.last))


def _beginnings(connection: Connection, user: str, seqs: Sequence[int]) -> dict[int, tuple[str, bool]]:
    """Read each message's title, or else its first words, and whether its time is known."""
    m = messages.c
    words: ColumnElement[str] = m.content.label("words")  # sealed, it can only be opened whole
    if seals_of(connection) is None:
        words = type_coerce(func.substr(m.content, 1, _FIRST_WORDS), m.content.type).label("words")
    known = {}
    for some in in_chunks(seqs, PER_STATEMENT):
        query = select(m.user, m.seq, m.metadata, words).where(m.user == user, m.seq.in_(some))
        for row in connection.execute(query):
            metadata = checked_metadata(row)
            title = str(metadata.get("title") or row.words[:_FIRST_WORDS])
            is_dated = metadata.get(TIME_KNOWN) is not False
            known[row.seq] = (" ".join(title.split())[:_LONGEST_TITLE], is_dated)
    return known


def _counts(
    connection: Connection, user: str, sessions: Sequence[str], within: Collection[int] | None
) -> Counter[str]:
    m = messages.c
    counts: Counter[str] = Counter()
    for some in in_chunks(sessions, PER_STATEMENT):
        mine = m.user == user, m.session.in_(some)
        if within is None:
            query = select(m.session, func.count().label("n")).where(*mine).group_by(m.session)
            counts.update({row.session: row.n for row in connection.execute(query)})
        else:
            rows = connection.execute(select(m.session, m.seq).where(*mine))
            counts.update(row.session for row in rows if row.seq in within)
    return counts
