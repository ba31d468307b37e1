"""The timeline: dated lines of what was done and asked, on a subject or of a stretch of time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from starlette.responses import Response

from zibaldone.core import Evidence
from zibaldone.errors import InvalidInput
from zibaldone.search.request import EVERYTHING
from zibaldone.server.page.door import PageAction, PageCall

_BUDGET, _MOST_BUDGET = 1200, 12_000  # tokens of lines on a page


async def timeline(call: PageCall) -> Response:
    """Lines in the order of time, month by month."""
    subject, room = call.text("q"), call.number("room", _BUDGET, most=_MOST_BUDGET)
    since, until = _day(call.text("since"), "from"), _day(call.text("until"), "to")
    recalled = await call.memory.recall(
        subject or EVERYTHING,
        user=call.user,
        since=since,
        until=until and until + timedelta(days=1),  # the day itself is meant, too
        budget_tokens=room,
        views=["timeline"],
        floor=0.0,
    )
    lines = sorted(recalled.evidence, key=lambda line: (line.time, line.sources))
    return call.page(
        "timeline_lines.html" if call.is_fragment else "timeline.html",
        subject=subject,
        since=call.text("since"),
        until=call.text("until"),
        months=[(month, list(some)) for month, some in groupby(lines, _month)],
        more=room * 3 if lines and room < _MOST_BUDGET and recalled.tokens > room * 0.8 else None,
    )


def _month(line: Evidence) -> str:
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
