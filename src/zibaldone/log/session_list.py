"""A user's sessions: in the order of their first messages, or for people with titles, the newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    func,
    select,
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
    """A session's first and last seq, its size, and the times of the two in microseconds."""

    session: str
    first: int
    last: int
    n: int  # messages
    start: int
    end: int


def sessions(
    connection: Connection, user: str, *, prefix: str = "", after: int = 0, limit: int | None = None
) -> list[Session]:
    """The user's sessions, or those whose names begin so, in the order of their first messages.

    The first `limit` of those that begin above seq `after`.
    """
    c = messages.c
    first = func.min(c.seq)
    query = (
        select(
            c.session,
            func.count().label("n"),
            first.label("first"),
            func.max(c.seq).label("last"),
            func.min(c.time_us).label("start"),
            func.max(c.time_us).label("end"),
        )
        .where(c.user == user, *_begins(prefix if seals_of(connection) is None else _plain_part(prefix)))
        .group_by(c.session)
        .having(first > after)
        .order_by(first)
        .limit(limit)
    )
    rows = [row for row in connection.execute(query) if row.session.startswith(prefix)]
    newest = origins(connection, user, [row.last for row in rows])
    return [
        Session(
            row.session,
            row.n,
            row.first,
            row.last,
            time_in(user, row.session, row.start),
            time_in(user, row.session, row.end),
            _title(newest[row.last]),
        )
        for row in rows
    ]


def _title(message: Message) -> str:
    title = message.metadata.get("title")
    return title if isinstance(title, str) else ""


def overwritten(connection: Connection, user: str) -> frozenset[int]:
    """Seqs of earlier versions of items: of each item's messages all but the last."""
    c = messages.c
    mine = c.user == user
    changed = (
        select(c.session, func.max(c.seq).label("last"))
        .where(mine, *_begins(ITEM_SESSIONS))
        .group_by(c.session)
        .having(func.count() > 1)
        .subquery()
    )
    query = select(c.seq).join(changed, c.session == changed.c.session).where(mine, c.seq < changed.c.last)
    return frozenset(connection.execute(query).scalars())


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
    spans = [
        span
        for span in (_spans(connection, user) if within is None else _spans_within(connection, user, within))
        if (among is None or span.session in among)
        and (since is None or span.end >= to_us(since))
        and (until is None or span.start < to_us(until))
    ]
    spans.sort(key=lambda span: (span.end, span.last), reverse=True)
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
    return [
        TitledSession(
            span.session,
            beginnings[span.first][0] or span.session,
            span.n,
            span.first,
            span.last,
            time_in(user, span.session, span.start),
            time_in(user, span.session, span.end),
            beginnings[span.first][1],
        )
        for span in shown
    ], len(spans)


def _spans(connection: Connection, user: str) -> Iterator[_Span]:
    """The span of each session; the index by session has all that is grouped."""
    c, begun, ended = messages.c, messages.alias().c, messages.alias().c
    spans = (
        select(
            c.session, func.min(c.seq).label("first"), func.max(c.seq).label("last"), func.count().label("n")
        )
        .where(c.user == user, ~c.session.startswith(ITEM_SESSIONS, autoescape=True))
        .group_by(c.session)
        .subquery()
    )
    query = (
        select(spans, begun.time_us, ended.time_us)
        .where(begun.user == user, begun.seq == spans.c.first)
        .where(ended.user == user, ended.seq == spans.c.last)
    )
    return map(_Span._make, connection.execute(query))


def _spans_within(connection: Connection, user: str, within: Collection[int]) -> Collection[_Span]:
    """The span of each session, of these seqs alone."""
    m = messages.c
    spans: dict[str, _Span] = {}
    for row in connection.execute(select(m.session, m.seq, m.time_us).where(m.user == user).order_by(m.seq)):
        if row.seq in within and not row.session.startswith(ITEM_SESSIONS):
            before = spans.get(row.session, _Span(row.session, row.seq, 0, 0, row.time_us, 0))
            spans[row.session] = before._replace(last=row.seq, n=before.n + 1, end=row.time_us)
    return spans.values()


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
