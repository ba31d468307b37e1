"""A user's timeline: a line per session, and what a model noted of plans, decisions and facts, by day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.log.session_list import TitledSession, titled_sessions
from zibaldone.text.words import terms
from zibaldone.views.notes import UserNote
from zibaldone.views.notes.note import BY_HAND, STATED
from zibaldone.views.notes.stated import is_persons, own_statements

_MOST_SESSIONS = 10_000
_LOOKED_AT = 8  # messages of a session, for its first statement
_LONGEST = 160  # characters of it


class TimelineFilter(TypedDict):
    """Which lines: those of a subject, a session, a time."""

    subject: str
    session: str | None
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """One line of what happened on a day."""

    time: datetime
    text: str
    session: str
    sources: tuple[int, ...]
    kind: str  # "session", or the note's
    is_dated: bool = True
    holds: bool = True  # False: a later message ended it


def session_lines(
    connection: Connection,
    user: str,
    *,
    most: int,
    subject: str,
    session: str | None,
    since: datetime | None,
    until: datetime | None,
) -> list[TimelineLine]:
    """Return a line for each of the newest `most` sessions that match and state something, oldest first.

    A line is the session's title and first statement.
    """
    sessions, _ = titled_sessions(connection, user, limit=_MOST_SESSIONS)
    lines: list[TimelineLine] = []
    for titled in sessions:
        if len(lines) == most:
            break
        if session in (None, titled.session) and _is_between(titled.start, since, until):
            line = _line(connection, user, titled)
            if line is not None and _is_about(line.text, subject):
                lines.append(line)
    return lines[::-1]


def note_lines(
    notes: Sequence[UserNote],
    *,
    subject: str,
    session: str | None,
    since: datetime | None,
    until: datetime | None,
) -> list[TimelineLine]:
    """Lines of notes that a model made, in the order of time; what people state stands in their sessions."""
    return [
        TimelineLine(note.time, note.text, note.session, note.sources, note.kind, note.is_dated, note.holds)
        for note in notes
        if note.made_by not in (STATED, BY_HAND)
        and session in (None, note.session)
        and _is_between(note.time, since, until)
        and _is_about(note.text, subject)
    ]


def _line(connection: Connection, user: str, titled: TitledSession) -> TimelineLine | None:
    messages = log.read(connection, user, session=titled.session, limit=_LOOKED_AT)
    opening = next(filter(None, (_statement(message) for message in messages if is_persons(message))), None)
    if opening is None:
        return None
    text, message = opening
    title = titled.title if message.metadata.get("title") or messages[0].metadata.get("title") else ""
    whole = f"{title}: {text}" if title and not text.startswith(title) else text
    return TimelineLine(titled.start, whole, titled.session, (message.seq,), "session", message.is_dated)


def _statement(message: Message) -> tuple[str, Message] | None:
    """The first sentence that its author states, of three words or more; else the beginning."""
    for start, end in own_statements(message.content):
        text = " ".join(message.content[start:end].split())
        if len(terms(text)) > 1:
            return _short(text), message
    text = " ".join(message.content.split())
    return (_short(text), message) if len(terms(text)) > 1 else None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def _is_between(time: datetime, since: datetime | None, until: datetime | None) -> bool:
    return (since is None or time >= since) and (until is None or time < until)


def _is_about(text: str, subject: str) -> bool:
    """True if it has a word of the subject, or there is none."""
    wanted = set(terms(subject))
    return not wanted or not wanted.isdisjoint(terms(text))


def text_of(lines: Sequence[TimelineLine]) -> str:
    """One line each, with its day."""
    return "\n".join(f"{line.time.date() if line.is_dated else '(no date)'}  {line.text}" for line in lines)
