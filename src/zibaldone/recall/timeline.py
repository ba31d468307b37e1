"""A user's timeline: a line per session, and what a model noted of plans, decisions and facts, by day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.log.session_list import TitledSession, titled_sessions
from zibaldone.text.words import terms
from zibaldone.views.notes import UserNote
from zibaldone.views.notes.note import BY_HAND, STATED
from zibaldone.views.notes.stated import is_persons, own_statements

_MOST_SESSIONS = 10_000
_LOOKED_AT = 8  # messages of a session, for its first statement
_LONGEST = 160  # characters of it


@dataclass(frozen=True, slots=True)
class TimelineFilter:
    """Which lines: those of a subject, a session, a time."""

    subject: str
    session: str | None
    since: datetime | None
    until: datetime | None

    def is_then(self, session: str, time: datetime) -> bool:
        """True if a line of this session and time may be one of them."""
        begun = self.since is None or time >= self.since
        return self.session in (None, session) and begun and (self.until is None or time < self.until)

    def is_about(self, text: str) -> bool:
        """True if it has a word of the subject, or there is none."""
        wanted = set(terms(self.subject))
        return not wanted or not wanted.isdisjoint(terms(text))


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


def session_lines(connection: Connection, user: str, within: TimelineFilter, most: int) -> list[TimelineLine]:
    """Return a line for each of the newest `most` sessions that match and state something, oldest first.

    A line is the session's title and first statement.
    """
    sessions, _ = titled_sessions(connection, user, limit=_MOST_SESSIONS)
    matching = (titled for titled in sessions if within.is_then(titled.session, titled.start))
    lines = (_line(connection, user, titled) for titled in matching)
    newest = islice((line for line in lines if line and within.is_about(line.text)), most)
    return list(newest)[::-1]


def note_lines(notes: Sequence[UserNote], within: TimelineFilter) -> list[TimelineLine]:
    """Lines of notes that a model made, in the order of time; what people state stands in their sessions."""
    return [
        TimelineLine(note.time, note.text, note.session, note.sources, note.kind, note.is_dated, note.holds)
        for note in notes
        if note.made_by not in (STATED, BY_HAND)
        and within.is_then(note.session, note.time)
        and within.is_about(note.text)
    ]


def _line(connection: Connection, user: str, titled: TitledSession) -> TimelineLine | None:
    messages = log.read(connection, user, session=titled.session, limit=_LOOKED_AT)
    for message in filter(is_persons, messages):
        if text := _statement(message.content):
            is_titled = message.metadata.get("title") or messages[0].metadata.get("title")
            whole = f"{titled.title}: {text}" if is_titled and not text.startswith(titled.title) else text
            return TimelineLine(
                titled.start, whole, titled.session, (message.seq,), "session", message.is_dated
            )
    return None


def _statement(content: str) -> str:
    """The first sentence that its author states, of two content words or more; else the beginning."""
    for start, end in (*own_statements(content), (0, len(content))):
        text = " ".join(content[start:end].split())
        if len(terms(text)) > 1:
            return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
    return ""


def text_of(lines: Sequence[TimelineLine]) -> str:
    """One line each, with its day."""
    return "\n".join(f"{line.time.date() if line.is_dated else '(no date)'}  {line.text}" for line in lines)
