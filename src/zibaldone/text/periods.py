"""The time that a question asks about: "between March and May", "since spring", "before the trip in 2023"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import regex

from zibaldone.text.dates import find_days
from zibaldone.text.patterns import late

# What opens a time to one side, up to four words before it and in the same clause.
_OPENS = late(
    r"\b(?:(?P<onwards>since|after|following)|before|prior\s+to|until|till|by|up\s+to)"
    r"(?:\s+(?!(?:and|or|but)\b)[\p{L}'’-]+){0,4}\s*$",
    regex.IGNORECASE,
)
_CLAUSE = late(r"[.;:,!?]")
_REACH = 80  # characters before a time that are looked at


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `first` to `last`, inclusive; None: open to that side. One of them is a day."""

    first: date | None
    last: date | None


def asked_period(text: str, now: date) -> Period | None:
    """The time that a question, asked on the day `now`, names; None where it names none.

    Of several times it is all from the first to the last. The day after which or before which something is
    asked is in it. Today is no such time, nor is a time to come: what is planned for it was said before.
    """
    firsts: list[date] = []
    lasts: list[date] = []
    for days in find_days(text, now, past=True):
        if days.first > now or days.first == days.last == now:
            continue
        before = _CLAUSE.split(text[max(0, days.start - _REACH) : days.start])[-1]
        opened = _OPENS.search(before)
        if opened is None or opened["onwards"]:
            firsts.append(days.first)
        if opened is None or not opened["onwards"]:
            lasts.append(days.last)
    first, last = min(firsts, default=None), max(lasts, default=None)
    if (first or last) is None or (first and last and last < first):
        return None
    return Period(first, last)
