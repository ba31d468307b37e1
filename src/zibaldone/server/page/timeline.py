"""The timeline: dated lines of sessions and notes, on a subject or of a stretch of time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from starlette.responses import Response

from zibaldone.errors import InvalidInput
from zibaldone.recall.timeline import TimelineLine
from zibaldone.server.page.page_auth import PageAction, PageCall

_LINES, _MOST_LINES = 100, 2000


async def timeline(call: PageCall) -> Response:
    """Lines in the order of time, month by month."""
    subject, limit = call.text("q"), call.number("lines", _LINES, most=_MOST_LINES)
    since, until = _day(call.text("since"), "from"), _day(call.text("until"), "to")
    lines = await call.memory.user(call.user).timeline(
        subject,
        since=since,
        until=until and until + timedelta(days=1),  # the day itself is meant, too
        limit=limit,
    )
    return call.page(
        "timeline_lines.html" if call.is_fragment else "timeline.html",
        subject=subject,
        since=call.text("since"),
        until=call.text("until"),
        months=[(month, list(some)) for month, some in groupby(lines, _month)],
        more=limit * 3 if len(lines) == limit < _MOST_LINES else None,
    )


def _month(line: TimelineLine) -> str:
    return f"{line.time:%B %Y}" if line.is_dated else "No date"


def _day(given: str, what: str) -> datetime | None:
    if not given:
        return None
    try:
        chosen = date.fromisoformat(given)
    except ValueError as error:
        raise InvalidInput(f"'{what}' is no day: write it as 2024-05-31") from error
    return datetime(chosen.year, chosen.month, chosen.day, tzinfo=UTC)


ACTIONS = (PageAction("/timeline", timeline),)
