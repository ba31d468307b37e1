"""The days that a text names or implies, against the day on which it was said; without a model.

A grammar of English phrases, and of numeric dates in a text of any language (2023-06-03, 2023/6/3, 3.6.2023,
6/3/2023, 2023年6月3日). Words of other languages are not read. What a phrase is taken to mean:

- A week runs from Monday to Sunday. "last week" is the whole week before this one; "last month" and "last
  year" likewise. "the past week" and "the last three days" reach up to the day it was said.
- "last Friday" is the latest Friday before that day, "next Friday" the first after it, "this Friday" the one
  of its week. A bare "Friday" is past, unless the sentence looked ahead before it ("will", "going to").
- A month, season or day of a month without a year: the latest that began before the day it was said or
  begins within 120 days of it; after words that look ahead the next one; after "since" the latest past one.
- "two days ago" is a day; "two weeks ago" that day and three on either side; "two months ago" a calendar
  month, "two years ago" a calendar year. "a couple" is 2 to 3, "a few" 2 to 5, "several" 3 to 7. "seven years
  now" names the year in which something began. "the other day" is one of the last seven.
- "early", "mid" and "late" are thirds. Seasons are the north's: summer is June to August, and the winter of
  2022 begins in December 2022.
- "between March and May" is one range, and so is "from Nov to Feb"; "Q1 2024" is as in a calendar.
- 6/3/2023 has the month first if it can, 3.6.2023 the day. A lone year and a lone "March", "April", "May" or
  "June" count only after a word such as "in" or "since", short names only in "in Oct", "on Fri", "last Fri".

Not read: "recently", "soon", durations ("for two weeks"), what recurs ("every Friday", "Fridays"), feasts,
times of day, events, what is counted from them or from a day (of "the week before 9 June" the day is read),
years of two digits (but for 6/3/23), parts of a month or a year ("the first week of May": May is read) but
for thirds.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, timedelta

Span = tuple[date, date]  # the first and the last day
DAY = timedelta(1)
Groups = tuple[str, ...]  # of a rule's pattern; "" where a group took no part

# The English words of dates.
NUMBERS = {"a": (1, 1), "an": (1, 1), "couple": (2, 3), "few": (2, 5), "several": (3, 7)}
NUMBERS |= {"one": (1, 1), "two": (2, 2), "three": (3, 3), "four": (4, 4), "five": (5, 5), "six": (6, 6)}
NUMBERS |= {"seven": (7, 7), "eight": (8, 8), "nine": (9, 9), "ten": (10, 10), "twelve": (12, 12)}
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
UNIT = r"(day|night|week|weekend|month|year)s?\b"
NUMBER = rf"((?:a\s)?(?:couple(?:\sof)?|few)|\d{{1,3}}|{'|'.join(NUMBERS)})"


def one_day(day: date) -> Span:
    """The range of one day."""
    return day, day


def month_of(year: int, month: int) -> Span:
    """A whole month."""
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def monday(day: date) -> date:
    """The Monday of the week that the day is in."""
    return day - day.weekday() * DAY


def next_weekday(day: date, weekday: int, sign: int) -> date:
    """The first such weekday after `day` (sign 1), or the latest before it (-1)."""
    return day + sign * ((weekday - day.weekday()) * sign % 7 or 7) * DAY


def moved(unit: str, day: date, n: int) -> date:
    """`day` moved by n units; by months and years to the same day of the month, or to the month's last."""
    if unit not in ("month", "year"):
        return day + n * (7 if unit.startswith("week") else 1) * DAY
    months = day.year * 12 + day.month - 1 + n * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def period(unit: str, day: date) -> Span:
    """The week, the weekend of the week, the month or the year that `day` is in; else the day itself."""
    if unit == "week":
        return monday(day), monday(day) + 6 * DAY
    if unit == "weekend":
        return monday(day) + 5 * DAY, monday(day) + 6 * DAY
    if unit == "month":
        return month_of(day.year, day.month)
    return (date(day.year, 1, 1), date(day.year, 12, 31)) if unit == "year" else one_day(day)


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


@dataclass(frozen=True, slots=True)
class Days:
    """An inclusive range of days, and the phrase `text[start:end]` that names it."""

    first: date
    last: date
    start: int
    end: int

    @property
    def ordinals(self) -> tuple[int, int]:
        """Ordinals of the first and the last day."""
        return self.first.toordinal(), self.last.toordinal()


def find_days(text: str, today: date) -> list[Days]:
    """The days that `text`, said on `today`, names or implies, in the order of the text; never raises.

    Phrases do not overlap. One that leads out of the calendar (years 1 to 9999) is left out; of 31 February
    the month is read. Takes time linear in the length of the text.
    """
    low = text.lower()
    if len(low) != len(text):  # a letter grew, as İ does: keep the offsets
        low = text.translate(_ASCII_LOWER)
    scan = _Scan(low, today)
    named: list[Days] = []
    at = 0
    while word := _FIRST_WORD.search(low, at):
        at = word.end()
        if span := scan.read(word):
            at = scan.end
            scan.previous, scan.previous_end = span, at
            _append(named, Days(*span, word.start(), at), low)
    return named


def _append(named: list[Days], days: Days, low: str) -> None:
    """Add `days`; "from 3 May to 5 May" and "between August 11 and August 15, 2023" become one range."""
    before = named[-1] if named else None
    if before and days.start - before.end < 16 and (link := _LINK.fullmatch(low, before.end, days.start)):
        first, last = before.first, days.last
        if abs(days.last - first) > 366 * DAY and before.end - before.start < 32:
            # The year stands in the second half only.
            again = find_days(f"in {low[before.start : before.end]}", days.first)
            first = again[0].first if again else first
        if link[1] and last < first < moved("year", last, 1) and not _YEAR.search(low, days.start, days.end):
            last = moved("year", last, 1)  # from November to February, between March and May in April
        if first <= last and (link[1] != "and" or low.endswith("between ", 0, before.start)):
            named[-1] = Days(first, last, before.start, days.end)
            return
    named.append(days)


_LINK = re.compile(r"\s(to|until|till|through|and)\s(?:the\s)?|\s?[-–]\s?")
_LINKED_MONTH = re.compile(rf"(?:\s(?:to|until|till|through|and)\s|\s?[-–]\s?){MONTH}(?!\s?\d)")
_YEAR = re.compile(r"\d{4}")
_NO_PART = rf"(?!\s(?:of|in)\s(?:the\s)?(?:{'|'.join(MONTHS)}))"  # "the last week of May"
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class _Scan:
    """A text being read: the phrase at hand is `text[start:end]`; the one before it named `previous`."""

    __slots__ = ("end", "previous", "previous_end", "start", "text", "today")

    def __init__(self, text: str, today: date) -> None:
        self.text = text
        self.today = today
        self.start = self.end = 0
        self.previous: Span | None = None
        self.previous_end = 0

    def read(self, word: re.Match[str], *, simple: bool = False) -> Span | None:
        """Return the days of the phrase that begins with `word`, by the first matching rule, or None."""
        for pattern, meaning, compound in _RULES["0" if word[0].isdecimal() else word[0]]:
            if (match := pattern.match(self.text, word.start())) and not (simple and compound):
                self.start, self.end = match.span()
                with suppress(ValueError, OverflowError):
                    if span := meaning(self, match.groups("")):
                        return span
        return None

    def anchor(self) -> Span | None:
        """Read the phrase that begins where this one ends, and extend this one over it."""
        word = _FIRST_WORD.match(self.text, self.end)
        return self.read(word, simple=True) if word else None

    def before(self) -> list[str]:
        """The word before the phrase, and the one before that; cut if they are long, "" if there are none."""
        words = self.text[max(0, self.start - 16) : self.start].replace("-", " ").split()
        return [*words[:-3:-1], "", ""]

    def is_linked(self) -> bool:
        """True if it is the second half of a range: "between March" stands before, "and" between."""
        return bool(self.previous and _LINK.fullmatch(self.text, self.previous_end, self.start))

    def follows_year(self) -> bool:
        """True if the phrase before named a whole year."""
        return self.previous is not None and self.previous == period("year", self.previous[0])

    def opens_range(self) -> bool:
        """True if it is the first half of one: "from" or "between" stands before, and a month follows."""
        word = self.before()[0]
        return word in ("from", "between") and _LINKED_MONTH.match(self.text, self.end) is not None

    def looks_ahead(self) -> bool:
        """True if the words just before the phrase speak of what is to come."""
        return AHEAD.search(self.text, max(0, self.start - 60), self.start) is not None

    def nearest(self, of_year: Callable[[int], Span], step: int | None) -> Span | None:
        """Choose a year's occurrence: the last (-1), this (0), the next (1), or (None) the likeliest."""
        today = self.today
        spans = []
        for year in range(max(MINYEAR, today.year - 4), min(MAXYEAR, today.year + 4) + 1):
            with suppress(ValueError, OverflowError):
                spans.append(of_year(year))
        if step == 0:
            return min(spans, key=lambda span: max(span[0] - today, today - span[1]), default=None)
        if step == 1:
            return next((span for span in spans if span[0] > today), None)
        if step == -1:
            return next((span for span in reversed(spans) if span[1] < today), None)
        if self.looks_ahead():
            return next((span for span in spans if span[1] >= today), None)
        horizon = 0 if self.before()[0] == "since" else 120
        return next((span for span in reversed(spans) if span[0] - today <= horizon * DAY), None)


_Meaning = Callable[[_Scan, Groups], Span | None]
# By the word that a phrase begins with ("0": any number), in the order in which they are tried.
_RULES: dict[str, list[tuple[re.Pattern[str], _Meaning, bool]]] = defaultdict(list)


def _rule(pattern: str, *words: Iterable[str], compound: bool = False) -> Callable[[_Meaning], _Meaning]:
    """Register what phrases of this pattern mean. They begin with one of `words`.

    A compound phrase ends in another one, its anchor, which is no compound.
    """
    compiled = re.compile(pattern, re.ASCII)

    def register(meaning: _Meaning) -> _Meaning:
        for word in {word for some in words for word in some}:
            _RULES[word].append((compiled, meaning, compound))
        return meaning

    return register


@_rule(rf"q([1-4])\s?(?:of\s)?{YEAR}", ("q1", "q2", "q3", "q4"))
def _named_quarter(_: _Scan, groups: Groups) -> Span | None:
    """Q1 2024."""
    number, year = groups
    first = date(int(year), 3 * int(number) - 2, 1)
    return first, moved("month", first, 3) - DAY


@_rule(
    r"(?:(early)|(mid(?:dle\sof)?)|late|(beginning\sof|start\sof)|end\sof)[\s-](?:in\s)?"
    r"(?:the\s(?:(week|month|year)\b)?)?",
    ("early", "mid", "middle", "late", "beginning", "start", "end"),
    compound=True,
)
def _third(scan: _Scan, groups: Groups) -> Span | None:
    """Early in June, mid-May, the end of last month, the beginning of the year."""
    early, middle, beginning, unit = groups
    whole = period(unit, scan.today) if unit else scan.anchor()
    if whole is None or whole[0] == whole[1]:
        return None
    first, last = whole
    third = (last - first + DAY) // 3
    if early or beginning:
        return first, first + third - DAY
    return (first + third, last - third) if middle else (last - third + DAY, last)


@_rule(
    r"([12]\d{3})(?:-(\d\d)(?:-(\d\d)|(?!-))|([/.])(\d{1,2})\4(\d{1,2})|年(\d{1,2})月(?:(\d{1,2})日)?)(?!\d)",
    "0",
)
def _year_first(_: _Scan, groups: Groups) -> Span | None:
    """2023-06-03, 2023-06, 2023/6/3, 2023.6.3, 2023年6月3日, 2023年6月."""
    year, month, *day = (int(group) for group in groups if group.isdecimal())
    return one_day(date(year, month, day[0])) if day else month_of(year, month)


@_rule(r"(?<!\.)(\d{1,2})(?:/(\d{1,2})/(\d{4}|\d\d)|-(\d{1,2})-(\d{4})|(\.)(\d{1,2})\.(\d{4}))(?![\d/])", "0")
def _year_last(_: _Scan, groups: Groups) -> Span | None:
    """6/3/2023, 6/3/23, 6-3-2023, 3.6.2023."""
    month, day, year = (int(group) for group in groups if group.isdecimal())
    if "." in groups or month > 12:
        month, day = day, month
    return one_day(date(year + (0 if year > 99 else 1900 if year > 68 else 2000), month, day))


@_rule(
    rf"(?:{WEEKDAY}[\s,]{{1,3}}(?:the\s)?)?(?:{DATE}\s{{0,2}}(?:of\s)?{MONTH}|{MONTH}\s{{0,2}}(?:the\s)?{DATE})"
    rf"(?:[\s,]{{1,3}}{YEAR})?",
    *("0", WEEKDAYS, SHORT_WEEKDAYS, MONTHS, SHORT_MONTHS),
)
def _day_of_month(scan: _Scan, groups: Groups) -> Span | None:
    """5 July, 5th of July 2023, Wed 5 July, July 5th, 2023, May 3-5."""
    _, first, last, name, other_name, other_first, other_last, year = groups
    month = month_number(name or other_name)
    days = int(first or other_first), int(last or other_last or first or other_first)

    def of_year(year: int) -> Span:
        return date(year, month, days[0]), date(year, month, days[1])

    span = of_year(int(year)) if year else scan.nearest(of_year, None)
    return span if span and span[0] <= span[1] else None


@_rule(
    r"(\d{1,2})(?:st|nd|rd|th)(?:\sof\s(last|this|next)\smonth\b"
    r"|(?=\s?(?:[.,;!?)]|\Z)|\s(?:and|at|after|with|for|to|i|we|it|was|but|so|when)\b))",
    "0",
)
def _nth(scan: _Scan, groups: Groups) -> Span | None:
    """The 15th of last month; on the 15th, if no noun follows."""
    number, which = groups
    day = moved("month", scan.today.replace(day=1), STEPS[which or "this"]).replace(day=int(number))
    if which:
        return one_day(day)
    if scan.before()[:2] != ["the", "on"]:
        return None
    return one_day(day if day <= scan.today or scan.looks_ahead() else moved("month", day, -1))


@_rule(rf"{MONTH}[\s,]{{1,3}}(?:of\s)?{YEAR}|{SEASON}\s(?:of\s)?{YEAR}", MONTHS, SHORT_MONTHS, SEASONS)
def _part_of_year(_: _Scan, groups: Groups) -> Span | None:
    """May 2023, the summer of 2022."""
    month, year, season, season_year = groups
    return season_of(int(season_year), season) if season else month_of(int(year), month_number(month))


@_rule(YEAR, "0")
def _bare_year(scan: _Scan, groups: Groups) -> Span | None:
    """In 2022; and the second year of "from 2016 to 2018", "2016-2018"."""
    words = scan.before()[:2]
    is_told = (
        words[0] in PREPOSITIONS
        or (scan.is_linked() and scan.follows_year())
        or any(len(word) == 4 and word.isdecimal() for word in words)
    )
    return period("year", date(int(groups[0]), 1, 1)) if is_told else None


@_rule(MONTH, MONTHS, SHORT_MONTHS)
def _bare_month(scan: _Scan, groups: Groups) -> Span | None:
    """September, in May, in Oct."""
    name, word = groups[0], scan.before()[0]
    in_range = scan.is_linked() or scan.opens_range()
    if name not in MONTHS and word != "in" and not in_range:
        return None
    if name in ("march", "april", "may", "june") and word not in PREPOSITIONS and not in_range:
        return None
    return scan.nearest(lambda year: month_of(year, month_number(name)), None)


@_rule(SEASON, SEASONS)
def _bare_season(scan: _Scan, groups: Groups) -> Span | None:
    """In spring, over the summer."""
    word, earlier, *_ = scan.before()
    if (earlier if word == "the" else word) not in ("in", "since", "over", "during", "for"):
        return None
    return scan.nearest(lambda year: season_of(year, groups[0]), None)


@_rule(
    r"(last|this\spast|past|previous|this\scoming|this|next|coming|upcoming)\s"
    rf"(?:(week|weekend|month|year)\b|{SEASON}|{WEEKDAY}|{MONTH}|(night)\b|(?:morning|afternoon|evening)\b)"
    + _NO_PART,
    STEPS,
)
def _named(scan: _Scan, groups: Groups) -> Span | None:
    """Last week, this past weekend, next summer, last Friday, next May, last night, this morning."""
    which, unit, season, weekday, month, night = groups
    today, step = scan.today, STEPS[which.split()[-1]]
    if unit:
        running = "past" in which and unit != "weekend"
        return (moved(unit, today, -1), today) if running else period(unit, moved(unit, today, step))
    if season:
        return scan.nearest(lambda year: season_of(year, season), step)
    if month:
        return scan.nearest(lambda year: month_of(year, month_number(month)), step)
    if weekday:
        day = weekday_number(weekday)
        return one_day(next_weekday(today, day, step) if step else monday(today) + day * DAY)
    return one_day(today + step * DAY) if night or step == 0 else None


@_rule(rf"(last|past|next|coming)\s{NUMBER}\s{UNIT}" + _NO_PART, STEPS)
def _running(scan: _Scan, groups: Groups) -> Span | None:
    """The last three days, the next few weeks: up to the day it was said, or from it."""
    which, number, unit = groups
    end = moved(unit, scan.today, STEPS[which] * least_and_most(number)[1])
    return min(end, scan.today), max(end, scan.today)


@_rule(
    rf"{NUMBER}\s(?:or\s(two|three|four)\s)?{UNIT}(?:\sor\s(?:so|(two|three)))?"
    r"\s(?:(ago|back)|(now)|from\snow)\b",
    *(NUMBERS, "0"),
)
def _ago(scan: _Scan, groups: Groups) -> Span | None:
    """Two weeks ago, one or two years ago, a year or so ago, seven years now, a month from now."""
    number, other, unit, more, past, now = groups
    if now and unit not in ("month", "year"):
        return None
    sign = -1 if past or now else 1
    spans = [around(unit, scan.today, count, sign) for count in (number, other or more or number)]
    return min(spans)[0], max(spans)[1]


@_rule(rf"in\s(?!a\sday){NUMBER}\s{UNIT}", ("in",))
def _in(scan: _Scan, groups: Groups) -> Span | None:
    """In three days; not where the sentence looks back ("read it in three days")."""
    looks_back = BACK.search(scan.text, max(0, scan.start - 40), scan.start)
    return None if looks_back else around(groups[1], scan.today, groups[0], 1)


@_rule(
    r"(day\sbefore\syesterday)\b|(?<!like )(?<!like just )(yesterday)\b|(?<!in )(today|tonight)\b"
    r"|(tomorrow)\b|(day\safter\stomorrow)\b|(?<=the )other\s(?:day|night)\b",
    ("day", "yesterday", "today", "tonight", "tomorrow", "other"),
)
def _near(scan: _Scan, groups: Groups) -> Span | None:
    """Yesterday, today, tomorrow, the day after tomorrow, the other day."""
    for days, group in enumerate(groups, -2):
        if group:
            return one_day(scan.today + days * DAY)
    return scan.today - 7 * DAY, scan.today - DAY


@_rule(rf"(?:{WEEKDAY}|weekend\b)(?!\s?[:|]|\sbefore)" + _NO_PART, WEEKDAYS, SHORT_WEEKDAYS, ("weekend",))
def _bare_weekday(scan: _Scan, groups: Groups) -> Span | None:
    """Friday, on Fri, over the weekend, for the weekend; the day it was said may itself be meant."""
    name, word, earlier = groups[0], *scan.before()[:2]
    if not name and (word != "the" or earlier not in ("over", "at", "on", "during", "for")):
        return None
    if word in ("every", "each") or (name in SHORT_WEEKDAYS and word != "on"):
        return None
    sign = 1 if scan.looks_ahead() or (not name and earlier == "for") else -1
    day = next_weekday(scan.today - sign * DAY, weekday_number(name or "saturday"), sign)
    return one_day(day) if name else period("weekend", day)


# Grouped by first letter, so that a word that begins no phrase is passed by quickly.
_FIRST_WORD = re.compile(
    r"\b(?:\d+|(?:"
    + "|".join(
        f"{letter}(?:{'|'.join(word[1:] for word in _RULES if word[0] == letter)})"
        for letter in sorted({word[0] for word in _RULES} - {"0"})
    )
    + ")(?![a-z]))",
    re.ASCII,
)
