"""A user's sessions for people: with titles, the newest first, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from zibaldone.log import ITEM_SESSIONS, from_us
from zibaldone.storage.schema import messages

_FIRST_WORDS = 120  # characters of the first message, where a session has no title
_LONGEST_TITLE = 300


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
    m = messages.c
    # Counted in an index alone; what an index has not got is looked up of two messages of each session.
    spans = (
        select(
            m.session, func.count().label("n"), func.min(m.seq).label("first"), func.max(m.seq).label("last")
        )
        .where(m.user == user)
        .group_by(m.session)
        .subquery()
    )
    first, last = messages.alias(), messages.alias()
    query = (
        select(
            spans.c.session,
            spans.c.n,
            spans.c.first,
            spans.c.last,
            first.c.time_us.label("start"),
            last.c.time_us.label("end"),
            func.coalesce(
                func.json_extract(first.c.metadata, "$.title"), func.substr(first.c.content, 1, _FIRST_WORDS)
            ).label("title"),
        )
        .join(first, (first.c.user == user) & (first.c.seq == spans.c.first))
        .join(last, (last.c.user == user) & (last.c.seq == spans.c.last))
        .where(~spans.c.session.startswith(ITEM_SESSIONS, autoescape=True))
        .order_by(last.c.time_us.desc(), spans.c.last.desc())
    )
    wanted = words.casefold().split()
    rows = [
        row
        for row in connection.execute(query)
        if all(word in f"{row.title} {row.session}".casefold() for word in wanted)
    ]
    page = [
        TitledSession(
            row.session,
            " ".join(str(row.title).split())[:_LONGEST_TITLE] or row.session,
            row.n,
            row.first,
            row.last,
            from_us(row.start),
            from_us(row.end),
        )
        for row in rows[skip : skip + most]
    ]
    return page, len(rows)
