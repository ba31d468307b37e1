"""Dates inside a text: what its relative ones mean, and days in words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import regex

from zibaldone.core import Message
from zibaldone.text.dates import (
    DAY,
    MONTHS,
    SEASONS,
    SHORT_MONTHS,
    WEEKDAYS,
    Days,
    find_days,
    month_of,
    period,
)
from zibaldone.text.patterns import late

_MONTHS = tuple(name.capitalize() for name in MONTHS)
_YEAR = late(r"(?<!\d)\d{4}(?!\d)")
# A phrase that comes round every year, and says nothing of which one is meant.
_YEARLY = late(rf"\b(?:{'|'.join((*MONTHS, *SHORT_MONTHS, *SEASONS))})\b", regex.IGNORECASE)
_OF_WHICH = late(r"\b(?:last|this|next|past|coming|upcoming|previous|ago|year)\b", regex.IGNORECASE)
_AWAY = 60 * DAY  # nearer ones are what is meant


def resolved(text: str, today: date, write: Callable[[date, date], str] | None = None) -> str:
    """The text, said on that day, with what its relative dates mean in parentheses: "yesterday (7 May 2023)".

    `write` gives the first and the last day in words, by default `in_words`. What comes every year ("in
    spring") gets a year where it is near or past by 60 days at most, or its words tell which is meant.
    """
    pieces, at = [], 0
    for days in find_days(text, today):
        phrase = text[days.start : days.end].rstrip(" .,")
        end = days.start + len(phrase)
        explained = text[end:].lstrip(" .,").startswith("(")
        if not explained and not _YEAR.search(phrase) and _is_meant(phrase, days, today):
            pieces += [text[at:end], f" ({(write or in_words)(days.first, days.last)})"]
            at = end
    return "".join([*pieces, text[at:]])


def day_of(message: Message) -> date:
    """Return the day of a stored message."""
    assert message.time is not None  # what is stored has one
    return message.time.date()


def in_words(first: date, last: date) -> str:
    """A range of days, no more precise than it is: "7 May 2023", "June 2023", "2022"."""
    if first == last:
        return day_in_words(first)
    if (first, last) == period("year", first):
        return str(first.year)
    if (first, last) == month_of(first.year, first.month):
        return f"{_MONTHS[first.month - 1]} {first.year}"
    if first.day == 1 and last == month_of(last.year, last.month)[1]:
        return _whole_months(first, last)
    if first.year != last.year:
        return f"{day_in_words(first)} to {day_in_words(last)}"
    opening = f"{first.day}" if first.month == last.month else f"{first.day} {_MONTHS[first.month - 1]}"
    return f"{opening} to {day_in_words(last)}"


def in_iso(first: date, last: date) -> str:
    """A range of days, no more precise than it is: "2023-05-07", "2023-06", "2022"."""
    if first == last:
        return first.isoformat()
    if (first, last) == period("year", first):
        return f"{first.year:04d}"
    if (first, last) == period("month", first):
        return f"{first:%Y-%m}"
    return f"{first.isoformat()} to {last.isoformat()}"


def day_in_words(day: date, *, weekday: bool = False) -> str:
    """7 May 2023, or Sunday, 7 May 2023."""
    text = f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
    return f"{WEEKDAYS[day.weekday()].capitalize()}, {text}" if weekday else text


def _whole_months(first: date, last: date) -> str:
    if first.month == 1 and last.month == 12:
        return f"{first.year} to {last.year}"
    opening = _MONTHS[first.month - 1] + (f" {first.year}" if first.year != last.year else "")
    return f"{opening} to {_MONTHS[last.month - 1]} {last.year}"


def _is_meant(phrase: str, days: Days, today: date) -> bool:
    """False for a yearly phrase whose year nothing tells."""
    return today - days.last < _AWAY or not _YEARLY.search(phrase) or _OF_WHICH.search(phrase) is not None
