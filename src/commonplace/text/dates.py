"""The days that a text names or implies, against the day on which it was said; without a model.

A grammar of English phrases, and of numeric dates in a text of any language (2023-06-03, 2023/6/3, 3.6.2023,
6/3/2023, 2023年6月3日). Words of other languages are not read. What a phrase is taken to mean:

- A week runs from Monday to Sunday. "last week" is the whole week before this one; "last month" and "last
  year" likewise. "the past week" and "the last three days" reach up to the day it was said.
- "last Friday" is the latest Friday before that day, "next Friday" the first after it, "this Friday" the one
  of its week. A bare "Friday" is past, unless words that look ahead ("will", "going to") stand before it.
- A month, season or day of a month without a year: the latest that began before the day it was said or begins
  within 120 days of it; after words that look ahead the next one; after "since" the latest past one.
- "two days ago" is a day; "two weeks ago" that day and three on either side; "two months ago", "two years ago"
  a calendar month, a calendar year. "a couple" is 2 to 3, "a few" 2 to 5, "several" 3 to 7. "seven years now"
  names the year in which something began. "the other day" is one of the last seven.
- "the week before 9 June" reaches from the Monday of the week before to 8 June, since people mean either;
  "the week of 9 June" is its calendar week. A lone "the week before" counts from the last days named in the
  text, or from the day it was said.
- "early", "mid" and "late" are thirds. Seasons are the north's: summer is June to August, and the winter of
  2022 begins in December 2022.
- 6/3/2023 has the month first if it can, 3.6.2023 the day. A lone year, and a lone "April", "May", "June",
  "March", count only after a word such as "in" or "since".

Not read: "recently", "soon", durations ("for two weeks"), what recurs ("every Friday", "Fridays"), feasts,
times of day, events ("the week before the race"), years of two digits (but for 6/3/23).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, timedelta

Span = tuple[date, date]  # inclusive
Groups = list[str]  # of a rule's pattern; "" where a group took no part


@dataclass(frozen=True, slots=True)
class Days:
    """An inclusive range of days, and the phrase `text[start:end]` that names it."""

    first: date
    last: date
    start: int
    end: int


def find_days(text: str, said: date) -> list[Days]:
    """The days that `text`, said on `said`, names or implies, in the order of the text; never raises.

    Phrases do not overlap. One that leads out of the calendar (years 1 to 9999) or names a day that does not
    exist is left out. Takes time linear in the length of the text.
    """
    low = text.lower()
    if not _may_name_days(low):
        return []
    if len(low) != len(text):  # a letter grew, as İ does: keep the offsets
        low = text.translate(_ASCII_LOWER)
    scan = _Scan(low, said)
    found: list[Days] = []
    at = 0
    while match := _ANY.search(low, at):
        span = scan.read(match)
        if span is None and match.lastgroup in _MODIFIERS:  # "last week of school": read "last week"
            match = _PLAIN.match(low, match.start()) or match
            span = scan.read(match)
        at = scan.end
        if span is not None:
            scan.previous = span
            _append(found, Days(*span, match.start(), at), low)
    return found


def _append(found: list[Days], days: Days, low: str) -> None:
    """Add `days`; "from 3 May to 5 May" and "between August 11 and August 15, 2023" become one range."""
    before = found[-1] if found else None
    if before and days.start - before.end < 16 and (link := _LINK.fullmatch(low, before.end, days.start)):
        first = before.first
        if abs(days.last - first) > timedelta(366):  # the year stands in the second half only
            again = find_days(low[before.start : before.end], days.first)
            first = again[0].first if again else first
        opened = low.endswith("between ", 0, before.start) or link[1] != "and"
        if opened and first <= days.last:
            found[-1] = Days(first, days.last, before.start, days.end)
            return
    found.append(days)


_LINK = re.compile(r"\s(to|until|till|through|and)\s(?:the\s)?|\s?[-–]\s?")
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

# A text with none of these names no day. Testing them takes a tenth of the time of the grammar.
_TIME_WORDS = (
    *("day", "week", "month", "year", "last ", "next ", "night", "ago", "tomorrow", "summer", "winter"),
    *(
        "spring",
        "fall",
        "autumn",
        "uary",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "ember",
        "octob",
    ),
)
_DIGIT = re.compile("[0-9]").search
_SHORT_NAME = re.compile(r"n (?:mon|tue|wed|thu|fri|sat|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)").search


def _may_name_days(low: str) -> bool:
    for word in _TIME_WORDS:
        if word in low:
            return True
    return _DIGIT(low) is not None or _SHORT_NAME(low) is not None


# Pieces of the rules' patterns. White space is bounded everywhere, so that no text makes a search quadratic.
_FULL_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)(?![a-z])"
)
_MONTH = rf"({_FULL_MONTH}|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)(?![a-z]))\.?"
_FULL_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day(?![a-z])"
_WEEKDAY = rf"(?:{_FULL_WEEKDAY}|(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)(?![a-z]))"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:\s?[-–]\s?(\d{1,2})(?:st|nd|rd|th)?(?![\d:]))?"
_YEAR = r"((?:1[5-9]|20)\d\d)(?!\d|[.,]\d|\s?%)"
_UNIT = r"(day|night|week|weekend|month|year)"
_FIRST_MONTHS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_SEASON = rf"({'|'.join(_FIRST_MONTHS)})(?![a-z])"
_NUMBERS = {"a": (1, 1), "an": (1, 1), "couple": (2, 3), "few": (2, 5), "several": (3, 7)} | {
    word: (n, n)
    for n, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 1
    )
}
_NUMBER = rf"((?:a\s)?(?:couple(?:\sof)?|few)|\d{{1,3}}|{'|'.join(_NUMBERS)})"
_ORDINALS = {"last": 0, "first": 1, "second": 2, "third": 3, "fourth": 4}
_STEPS = {"last": -1, "previous": -1, "past": -1, "this past": -1, "this": 0}  # every other word: 1
_BEFORE_NAME = "|".join(
    f"(?<={word} )"
    for word in (
        *("in", "since", "during", "until", "till", "from", "by", "of", "before", "after", "around"),
        *("through", "for", "between", "early", "mid", "late", "year"),
    )
)
_AFTER_PREPOSITION = rf"(?:{_BEFORE_NAME}|(?<=mid-))"
_LOOKS_AHEAD = re.compile(
    r"\b(?:will|won't|gonna|going to|plan(?:s|ning)?|see you|can't wait|looking forward|until|upcoming)\b|'ll\b"
)


class _Scan:
    """A text being read: `end` is where the phrase at hand ends, `previous` what the phrase before it named."""

    __slots__ = ("end", "previous", "said", "text")

    def __init__(self, text: str, said: date) -> None:
        self.text = text
        self.said = said
        self.end = 0
        self.previous: Span | None = None

    def read(self, match: re.Match[str]) -> Span | None:
        """What a phrase means; None if it names no day of the calendar."""
        rule, groups = _RULES[match.lastgroup or ""]
        at = match.re.groupindex[match.lastgroup or ""]
        self.end = match.end()
        with suppress(ValueError, OverflowError):
            return rule(self, match.start(), [group or "" for group in match.groups()[at : at + groups]])
        return None

    def anchor(self) -> Span | None:
        """What the phrase that begins where this one ends means; it is taken in."""
        match = _PLAIN.match(self.text, self.end)
        return self.read(match) if match else None

    def looks_ahead(self, start: int) -> bool:
        """Whether the words just before the phrase speak of what is to come."""
        return _LOOKS_AHEAD.search(self.text, max(0, start - 60), start) is not None

    def nearest(self, of_year: Callable[[int], Span], step: int | None, start: int) -> Span | None:
        """Of what comes every year: the last (-1), this (0), the next (1), or the one most likely meant."""
        spans = []
        for year in range(max(MINYEAR, self.said.year - 4), min(MAXYEAR, self.said.year + 4) + 1):
            with suppress(ValueError, OverflowError):
                spans.append(of_year(year))
        if step == 0:
            return min(spans, key=lambda span: max(span[0] - self.said, self.said - span[1]), default=None)
        if step == 1:
            return next((span for span in spans if span[0] > self.said), None)
        if step == -1:
            return next((span for span in reversed(spans) if span[1] < self.said), None)
        if self.looks_ahead(start):
            return next((span for span in spans if span[1] >= self.said), None)
        horizon = timedelta(0 if self.text.endswith("since ", 0, start) else 120)
        return next((span for span in reversed(spans) if span[0] - self.said <= horizon), None)


_Rule = Callable[[_Scan, int, Groups], Span | None]
_RULES: dict[str, tuple[_Rule, int]] = {}
_PATTERNS: dict[str, str] = {}


def _rule(pattern: str) -> Callable[[_Rule], _Rule]:
    """Register how phrases of this pattern are read. Where two rules match at one place, the first counts."""

    def register(rule: _Rule) -> _Rule:
        name = rule.__name__.strip("_")
        _RULES[name] = rule, re.compile(pattern).groups
        _PATTERNS[name] = f"(?P<{name}>{pattern})"
        return rule

    return register


# Rules that modify the phrase after them. "the week before", "first weekend of", "early in"


@_rule(
    rf"(?:({'|'.join(_ORDINALS)})\s|{_NUMBER}\s)?(?:{_UNIT}s?|({_WEEKDAY}))"
    r"\s(?:(before|prior\sto|preceding)|(after|following)|of|in)\s(?:the\s)?"
)
def _beside(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """The week before 9 June, two weeks after 3 May, the week of 3 May, the first weekend of August."""
    ordinal, number, unit, weekday, before, after = groups
    anchor = scan.anchor()
    if anchor is None:
        return None
    first, last = anchor
    if not (before or after):
        return _part_of(anchor, ordinal, unit, weekday)
    base, sign = (first, -1) if before else (last, 1)
    if weekday:
        return _one(_next_weekday(base, _weekday_number(weekday), sign))
    if number:
        return _around(unit, base, number, sign)
    if unit == "week":
        return (
            (_monday(base) - timedelta(7), base - _DAY_LONG)
            if before
            else (base + _DAY_LONG, _monday(base) + timedelta(13))
        )
    if unit == "weekend" and after:
        return _period("weekend", _next_weekday(base, 5, 1))
    return _period(unit, _step(unit, base, sign))


def _part_of(whole: Span, ordinal: str, unit: str, weekday: str) -> Span | None:
    """The week of a day, or the first, second ... last week, weekend, Friday ... of a longer time."""
    first, last = whole
    if not ordinal:
        if unit == "weekend" and first == last:
            return _period("weekend", first - timedelta(2))  # the nearest: Monday's is just over
        return _period("week", first) if unit == "week" and first == last else None
    n = _ORDINALS[ordinal] - 1
    if unit == "week":
        start = first + timedelta(7 * n) if n >= 0 else last - timedelta(6)
        return start, start + timedelta(6)
    if unit in ("day", "night", "month", "year"):
        return _period(unit, _step(unit, first, n) if n >= 0 else last)
    number = 5 if unit else _weekday_number(weekday)
    day = (
        _next_weekday(first - _DAY_LONG, number, 1) + timedelta(7 * n)
        if n >= 0
        else _next_weekday(last + _DAY_LONG, number, -1)
    )
    return _period(unit, day) if unit else _one(day)


@_rule(
    r"(?:(early)|(mid(?:dle\sof)?)|late|(beginning\sof|start\sof)|end\sof)[\s-](?:in\s)?(?:the\s(?:(week|month|year)\b)?)?"
)
def _third(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Early in June, mid-May, the end of last month, the beginning of the year."""
    early, middle, beginning, unit = groups
    whole = _period(unit, scan.said) if unit else scan.anchor()
    if whole is None or whole[0] == whole[1]:
        return None
    first, last = whole
    third = (last - first + _DAY_LONG) // 3
    if early or beginning:
        return first, first + third - _DAY_LONG
    return (first + third, last - third) if middle else (last - third + _DAY_LONG, last)


_MODIFIERS = frozenset(_RULES)

# Dates


@_rule(
    r"(\d{4})(?:-(\d\d)-(\d\d)|/(\d{1,2})/(\d{1,2})|\.(\d{1,2})\.(\d{1,2})|年(\d{1,2})月(?:(\d{1,2})日)?)(?!\d)"
)
def _year_first(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """2023-06-03, 2023/6/3, 2023.6.3, 2023年6月3日, 2023年6月."""
    year, month, *day = (int(group) for group in groups if group)
    return _one(date(year, month, day[0])) if day else _month(year, month)


@_rule(r"((?:1[5-9]|20)\d\d)-(0[1-9]|1[0-2])(?![\d-])")
def _year_month(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """2023-06."""
    return _month(int(groups[0]), int(groups[1]))


@_rule(r"(\d{1,2})(?:/(\d{1,2})/(\d{4}|\d\d)|-(\d{1,2})-(\d{4})|(\.)(\d{1,2})\.(\d{4}))(?![\d/])")
def _year_last(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """6/3/2023, 6/3/23, 6-3-2023, 3.6.2023."""
    month, day, year = (int(group) for group in groups if group not in ("", "."))
    if groups[5] or month > 12:
        month, day = day, month
    century = 0 if year > 99 else 1900 if year > 68 else 2000
    return _one(date(century + year, month, day))


@_rule(
    rf"(?:{_WEEKDAY}[\s,]{{1,3}})?(?:the\s)?(?:{_DAY}\s{{0,2}}(?:of\s)?{_MONTH}|{_MONTH}\s{{0,2}}(?:the\s)?{_DAY})"
    rf"(?:[\s,]{{1,3}}{_YEAR})?"
)
def _day_of_month(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """5 July, the 5th of July 2023, Wed 5 July, July 5th, 2023, May 3-5."""
    first, last = groups[0] or groups[4], groups[1] or groups[5]
    month, year = _month_number(groups[2] or groups[3]), groups[6]

    def of_year(year: int) -> Span:
        return date(year, month, int(first)), date(year, month, int(last or first))

    span = of_year(int(year)) if year else scan.nearest(of_year, None, start)
    return span if span and span[0] <= span[1] else None


@_rule(rf"{_MONTH}[\s,]{{1,3}}(?:of\s)?{_YEAR}|{_SEASON}\s(?:of\s)?{_YEAR}")
def _part_of_year(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """May 2023, the summer of 2022."""
    month, year, season, season_year = groups
    return _season(int(season_year), season) if season else _month(int(year), _month_number(month))


# Relative to the day it was said


@_rule(
    r"(last|this\spast|past|previous|this\scoming|this|next|coming|upcoming)\s"
    rf"(?:(week|weekend|month|year)\b|{_SEASON}|({_WEEKDAY})|{_MONTH}|(night)\b|(morning|afternoon|evening)\b)"
)
def _named(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Last week, this past weekend, next summer, last Friday, next May, last night, this morning."""
    which, unit, season, weekday, month, night, hours = groups
    said, step = scan.said, _STEPS.get(which, 1)
    if unit in ("week", "month", "year") and "past" in which:
        return _step(unit, said, -1), said
    if unit:
        return _period(unit, _step(unit, said, step))
    if season:
        return scan.nearest(lambda year: _season(year, season), step, start)
    if month:
        return scan.nearest(lambda year: _month(year, _month_number(month)), step, start)
    if weekday:
        number = _weekday_number(weekday)
        return _one(_next_weekday(said, number, step) if step else _monday(said) + timedelta(number))
    return _one(said + timedelta(step)) if night or step == 0 else None


@_rule(rf"(last|past|next|coming)\s{_NUMBER}\s{_UNIT}s?\b")
def _running(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """The last three days, the next few weeks: up to the day it was said, or from it."""
    which, number, unit = groups
    days = _number(number)[1]
    if which in ("last", "past"):
        return _step(unit, scan.said, -days), scan.said
    return scan.said, _step(unit, scan.said, days)


@_rule(r"(later|earlier)\sthis\s(week|month|year)\b")
def _rest(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Later this month, earlier this week."""
    first, last = _period(groups[1], scan.said)
    return (scan.said, last) if groups[0] == "later" else (first, scan.said)


@_rule(
    rf"{_NUMBER}\s{_UNIT}s?(?:\sor\s(?:so|two|three))?\s(?:(ago|back)\b|(now)\b|from\snow\b)|in\s{_NUMBER}\s{_UNIT}s?\b"
)
def _ago(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Two weeks ago, a year or so ago, seven years now, a month from now, in three days."""
    number, unit, past, now, ahead, ahead_unit = groups
    if now and unit not in ("month", "year"):
        return None
    return _around(unit or ahead_unit, scan.said, number or ahead, -1 if past or now else 1)


@_rule(
    r"(the\sday\sbefore\syesterday)\b|(?<!like )(?<!like just )(yesterday)\b|(today|tonight)\b|(tomorrow)\b"
    r"|(the\sday\safter\stomorrow)\b|the\sother\s(?:day|night)\b"
)
def _near(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Yesterday, today, tomorrow, the other day."""
    for day, group in enumerate(groups, -2):
        if group:
            return _one(scan.said + timedelta(day))
    return scan.said - timedelta(7), scan.said - _DAY_LONG


@_rule(
    r"the\s(day|week|weekend|month|year)\s(before|after)(?=\s?(?:[.,;:!?)]|\Z))|(week|weekend)\sbefore\slast\b"
)
def _lone_beside(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """The week before, the year after; the weekend before last."""
    unit, which, before_last = groups
    if before_last:
        return _period(before_last, _step(before_last, scan.said, -2))
    first, last = scan.previous or (scan.said, scan.said)
    return _period(unit, _step(unit, first, -1) if which == "before" else _step(unit, last, 1))


# Bare names


@_rule(
    rf"((?!march|april|may|june){_FULL_MONTH})|{_AFTER_PREPOSITION}({_FULL_MONTH})|(?<=in ){_MONTH}"
    rf"|(?:(?<=in )|(?<=since )|(?<=in the )|(?<=over the )|(?<=during the )){_SEASON}"
)
def _bare_name(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """September, in May, over the summer."""
    *months, season = groups
    if season:
        return scan.nearest(lambda year: _season(year, season), None, start)
    return scan.nearest(lambda year: _month(year, _month_number("".join(months))), None, start)


@_rule(rf"{_AFTER_PREPOSITION}{_YEAR}")
def _bare_year(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """In 2022."""
    return _period("year", date(int(groups[0]), 1, 1))


@_rule(
    rf"(?<!every )(?<!each )({_FULL_WEEKDAY})|(?<=on )({_WEEKDAY})"
    r"|(?:(?<=over the )|(?<=at the )|(?<=on the )|(?<=during the ))weekend\b"
)
def _bare_weekday(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """On Friday, over the weekend."""
    weekday = groups[0] or groups[1]
    ahead = scan.looks_ahead(start)
    number = _weekday_number(weekday) if weekday else 5
    # The day it was said may itself be meant.
    base = scan.said + timedelta(-1 if ahead else 1)
    day = _next_weekday(base, number, 1 if ahead else -1)
    return _one(day) if weekday else _period("weekend", day)


_ANY = re.compile(rf"\b(?:{'|'.join(_PATTERNS.values())})", re.ASCII)
_PLAIN = re.compile(
    rf"\b(?:{'|'.join(p for name, p in _PATTERNS.items() if name not in _MODIFIERS)})", re.ASCII
)

# The calendar

_DAY_LONG = timedelta(1)


def _one(day: date) -> Span:
    return day, day


def _month(year: int, month: int) -> Span:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _season(year: int, season: str) -> Span:
    first = date(year, _FIRST_MONTHS[season], 1)
    return first, _period("month", _step("month", first, 2))[1]


def _monday(day: date) -> date:
    return day - timedelta(day.weekday())


def _next_weekday(day: date, weekday: int, sign: int) -> date:
    """The first such weekday after `day` (sign 1), the latest before it (-1)."""
    gap = (weekday - day.weekday()) * sign % 7
    return day + timedelta(sign * (gap or 7))


def _step(unit: str, day: date, n: int) -> date:
    """`day` moved by n units; by months and years to the same day of the month, or the month's last."""
    if unit in ("month", "year"):
        months = day.year * 12 + day.month - 1 + n * (12 if unit == "year" else 1)
        year, month = months // 12, months % 12 + 1
        return date(year, month, min(day.day, monthrange(year, month)[1]))
    return day + timedelta(n * (7 if unit.startswith("week") else 1))


def _period(unit: str, day: date) -> Span:
    """The calendar week, weekend (of that week), month or year that `day` is in; the day itself for others."""
    if unit == "week":
        return _monday(day), _monday(day) + timedelta(6)
    if unit == "weekend":
        return _monday(day) + timedelta(5), _monday(day) + timedelta(6)
    if unit == "month":
        return _month(day.year, day.month)
    return (date(day.year, 1, 1), date(day.year, 12, 31)) if unit == "year" else _one(day)


def _around(unit: str, day: date, number: str, sign: int) -> Span:
    """What "two weeks ago" (sign -1) or "in a few days" (sign 1) spans, counted from `day`."""
    spans = []
    for n in _number(number):
        then = _step(unit, day, sign * n)
        spans.append((then - timedelta(3), then + timedelta(3)) if unit == "week" else _period(unit, then))
    return min(spans)[0], max(spans)[1]


def _number(word: str) -> tuple[int, int]:
    word = word.removesuffix("of").split()[-1]
    return (int(word), int(word)) if word.isdecimal() else _NUMBERS[word]


def _month_number(name: str) -> int:
    return "janfebmaraprmayjunjulaugsepoctnovdec".index(name[:3]) // 3 + 1


def _weekday_number(name: str) -> int:
    return "montuewedthufrisatsun".index(name[:3]) // 3
