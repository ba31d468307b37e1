"""A user's sessions for people: with titles, the newest first, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Select, and_, func, select, type_coerce

from zibaldone.log import ITEM_SESSIONS, checked_metadata, time_in
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.columns import seals_of
from zibaldone.storage.schema import messages

_FIRST_WORDS = 120  # characters of the first message, where a session has no title
_LONGEST_TITLE = 300
_PER_STATEMENT = 500  # values in one IN (...)


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


def titled_sessions(
    connection: Connection, user: str, *, most: int, skip: int = 0, words: str = ""
) -> tuple[list[TitledSession], int]:
    """`most` sessions after the first `skip`, those that ended last before others; and how many there are.

    With `words`, those in whose title or name all of them stand. What items say is in no session.
    """
    spans = connection.execute(_spans(user)).all()
    wanted = words.casefold().split()
    if wanted:
        titles = _beginnings(connection, user, [span.first for span in spans])
        spans = [
            span
            for span in spans
            if all(word in f"{titles[span.first][0]} {span.session}".casefold() for word in wanted)
        ]
    shown = spans[skip : skip + most]
    beginnings = _beginnings(connection, user, [span.first for span in shown])
    counts = _counts(connection, user, [span.session for span in shown])
    return [
        TitledSession(
            span.session,
            beginnings[span.first][0] or span.session,
            counts[span.session],
            span.first,
            span.last,
            time_in(user, span.session, beginnings[span.first][1]),
            time_in(user, span.session, span.end),
        )
        for span in shown
    ], len(spans)


def _spans(user: str) -> Select[tuple[str, int, int, int]]:
    """Each session's name, first and last seq, and when it ended, by steps in the index from name to name.

    SQLite would otherwise go through every message.
    """
    m, other = messages.c, messages.alias()
    names = select(func.min(m.session).label("session")).where(m.user == user).cte(recursive=True)
    following = select(func.min(other.c.session)).where(
        other.c.user == user, other.c.session > names.c.session
    )
    names = names.union_all(select(following.scalar_subquery()).where(names.c.session.is_not(None)))
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
    end = m.time_us.label("end")
    return (
        select(spans.c.session, spans.c.first, spans.c.last, end)
        .join(messages, and_(m.user == user, m.seq == spans.c.last))
        .order_by(end.desc(), spans.c.last.desc())
    )


def _beginnings(connection: Connection, user: str, seqs: Sequence[int]) -> dict[int, tuple[str, int]]:
    """Of each message its title, or else its first words, and its time in microseconds."""
    m = messages.c
    words: ColumnElement[str] = m.content.label("words")  # sealed, it can only be opened whole
    if seals_of(connection) is None:
        words = type_coerce(func.substr(m.content, 1, _FIRST_WORDS), m.content.type).label("words")
    known = {}
    for some in in_chunks(seqs, _PER_STATEMENT):
        query = select(m.user, m.seq, m.time_us, m.metadata, words).where(m.user == user, m.seq.in_(some))
        for row in connection.execute(query):
            title = str(checked_metadata(row).get("title") or row.words[:_FIRST_WORDS])
            known[row.seq] = (" ".join(title.split())[:_LONGEST_TITLE], row.time_us)
    return known


def _counts(connection: Connection, user: str, sessions: Sequence[str]) -> dict[str, int]:
    m = messages.c
    counts: dict[str, int] = {}
    for some in in_chunks(sessions, _PER_STATEMENT):
        query = select(m.session, func.count().label("n")).where(m.user == user, m.session.in_(some))
        counts.update({row.session: row.n for row in connection.execute(query.group_by(m.session))})
    return counts
