"""The English words of dates, and the pieces of patterns that they make."""

from __future__ import annotations

import re
from datetime import date

from zibaldone.text.calendar import DAY, Span, moved, period

NUMBERS = {"a": (1, 1), "an": (1, 1), "couple": (2, 3), "few": (2, 5), "several": (3, 7)}
NUMBERS |= {"one": (1, 1), "two": (2, 2), "three": (3, 3), "four": (4, 4), "five": (5, 5), "six": (6, 6)}
NUMBERS |= {"seven": (7, 7), "eight": (8, 8), "nine": (9, 9), "ten": (10, 10), "twelve": (12, 12)}
UNITS = ("day", "night", "week", "weekend", "month", "year")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the first month
STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "upcoming": 1}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SHORT_WEEKDAYS = ("mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
SHORT_MONTHS = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec")
PREPOSITIONS = (
    *("in", "since", "during", "until", "till", "from", "by", "of", "before", "after", "around", "through"),
    *("for", "between", "early", "mid", "late", "year"),
)
REST_OF_SENTENCE = r"\b[^.!?]*\Z"
AHEAD = re.compile(
    r"(?:'ll|\b(?:will|won't|gonna|going to|plan(?:s|ning)?|see you|can't wait|looking forward|until))"
    + REST_OF_SENTENCE
)
BACK = re.compile(
    r"(?:n't|\b(?:not|never|been|was|were|did|had|can|once|twice|times|\w{2,20}ed))" + REST_OF_SENTENCE
)

# Pieces of patterns. White space is bounded everywhere, so that no text makes the search quadratic.
MONTH = rf"({'|'.join(MONTHS + SHORT_MONTHS)})(?![a-z])\.?"
WEEKDAY = rf"({'|'.join(WEEKDAYS + SHORT_WEEKDAYS)})(?![a-z])"
SEASON = rf"({'|'.join(SEASONS)})(?![a-z])"
DATE = r"(\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:\s?[-–]\s?(\d{1,2})(?:st|nd|rd|th)?(?![\d:]))?"
YEAR = r"((?:1[5-9]|20)\d\d)(?!\d|[.,]\d|\s?%)"
UNIT = rf"({'|'.join(UNITS)})s?\b"
NUMBER = rf"((?:a\s)?(?:couple(?:\sof)?|few)|\d{{1,3}}|{'|'.join(NUMBERS)})"


def least_and_most(word: str) -> tuple[int, int]:
    """The least and the most that a number word means."""
    word = word.removesuffix("of").split()[-1]
    return (int(word), int(word)) if word.isdecimal() else NUMBERS[word]


def month_number(name: str) -> int:
    """1 to 12, by the first three letters."""
    return "janfebmaraprmayjunjulaugsepoctnovdec".index(name[:3]) // 3 + 1


def weekday_number(name: str) -> int:
    """0 (Monday) to 6, by the first three letters."""
    return "montuewedthufrisatsun".index(name[:3]) // 3


def season_of(year: int, season: str) -> Span:
    """A season, by the northern calendar."""
    first = date(year, SEASONS[season], 1)
    return first, period("month", moved("month", first, 2))[1]


def around(unit: str, day: date, count: str, sign: int) -> Span:
    """Return the span of "two weeks ago" (sign -1) or "in a few days" (sign 1), counted from `day`."""
    first, last = sorted(moved(unit, day, sign * n) for n in least_and_most(count))
    if unit == "week":
        return first - 3 * DAY, last + 3 * DAY
    return period(unit, first)[0], period(unit, last)[1]
