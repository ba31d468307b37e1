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
- 6/3/2023 has the month first if it can, 3.6.2023 the day. A lone year, a lone "April", "May", "June", "March"
  and a lone short name ("Oct", "Fri") count only after a word such as "in", "since" or "on".

Not read: "recently", "soon", durations ("for two weeks"), what recurs ("every Friday", "Fridays"), feasts,
times of day, events ("the week before the race"), years of two digits (but for 6/3/23).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, timedelta

Span = tuple[date, date]  # inclusive
Groups = tuple[str, ...]  # of a rule's pattern; "" where a group took no part


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
    while start := _START.search(low, at):
        at = start.end()
        if span := scan.read(start):
            at = scan.end
            scan.previous = span
            _append(found, Days(*span, start.start(), at), low)
    return found


def _append(found: list[Days], days: Days, low: str) -> None:
    """Add `days`; "from 3 May to 5 May" and "between August 11 and August 15, 2023" become one range."""
    before = found[-1] if found else None
    if before and days.start - before.end < 16 and (link := _LINK.fullmatch(low, before.end, days.start)):
        first = before.first
        if abs(days.last - first) > timedelta(366):  # the year stands in the second half only
            again = find_days(low[before.start : before.end], days.first)
            first = again[0].first if again else first
        if first <= days.last and (link[1] != "and" or low.endswith("between ", 0, before.start)):
            found[-1] = Days(first, days.last, before.start, days.end)
            return
    found.append(days)


_LINK = re.compile(r"\s(to|until|till|through|and)\s(?:the\s)?|\s?[-–]\s?")
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

# A text with none of these names no day: most need no more than this test.
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
_SHORT_NAME = re.compile(
    r"n (?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)"
).search


def _may_name_days(low: str) -> bool:
    for word in _TIME_WORDS:
        if word in low:
            return True
    return _DIGIT(low) is not None or _SHORT_NAME(low) is not None


class _Scan:
    """A text being read: `end` is where the phrase at hand ends, `previous` what the phrase before it named."""

    __slots__ = ("end", "previous", "said", "text")

    def __init__(self, text: str, said: date) -> None:
        self.text = text
        self.said = said
        self.end = 0
        self.previous: Span | None = None

    def read(self, start: re.Match[str], *, plain: bool = False) -> Span | None:
        """What the phrase that begins here means, by the first rule that makes sense of it; None if none does."""
        word = start.group()
        for pattern, meaning, modifies in _RULES["0" if word.isdecimal() else word]:
            if plain and modifies:
                continue
            if match := pattern.match(self.text, start.start()):
                self.end = match.end()
                with suppress(ValueError, OverflowError):
                    if span := meaning(self, start.start(), match.groups("")):
                        return span
        return None

    def anchor(self) -> Span | None:
        """What the phrase that begins where this one ends means; it is taken in."""
        start = _START.match(self.text, self.end)
        return self.read(start, plain=True) if start else None

    def before(self, start: int) -> tuple[str, str]:
        """The word before the phrase, and the one before that (cut, if they are long)."""
        earlier, word = ["", "", *self.text[max(0, start - 16) : start].replace("-", " ").split()][-2:]
        return word, earlier

    def looks_ahead(self, start: int) -> bool:
        """Whether the words just before the phrase speak of what is to come."""
        return _AHEAD.search(self.text, max(0, start - 60), start) is not None

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
        horizon = timedelta(0 if self.before(start)[0] == "since" else 120)
        return next((span for span in reversed(spans) if span[0] - self.said <= horizon), None)


# The words of the grammar
_NUMBERS = {"a": (1, 1), "an": (1, 1), "couple": (2, 3), "few": (2, 5), "several": (3, 7)} | {
    word: (n, n)
    for n, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}
_ORDINALS = {"last": 0, "first": 1, "second": 2, "third": 3, "fourth": 4}
_UNITS = ("day", "night", "week", "weekend", "month", "year")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the first month
_STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "upcoming": 1}
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SHORT_WEEKDAYS = "mon tue tues wed thu thur thurs fri sat sun".split()
_SHORT_MONTHS = "jan feb mar apr jun jul aug sep sept oct nov dec".split()
_MONTHS = "january february march april may june july august september october november december".split()
_PREPOSITIONS = frozenset(
    "in since during until till from by of before after around through for between early mid late year".split()
)
_AHEAD = re.compile(
    r"\b(?:will|won't|gonna|going to|plan(?:s|ning)?|see you|can't wait|looking forward|until|upcoming|for the)\b|'ll\b"
)
_BACK = re.compile(
    r"(?:n't|\b(?:not|never|been|was|were|did|had|can|once|twice|times|\w{2,20}ed))\b[^.!?]*\Z"
)

# Pieces of patterns. White space is bounded everywhere, so that no text makes a search quadratic.
_MONTH = rf"({'|'.join([*_MONTHS, *_SHORT_MONTHS])})(?![a-z])\.?"
_WEEKDAY = rf"({'|'.join([*_WEEKDAYS, *_SHORT_WEEKDAYS])})(?![a-z])"
_SEASON = rf"({'|'.join(_SEASONS)})(?![a-z])"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:\s?[-–]\s?(\d{1,2})(?:st|nd|rd|th)?(?![\d:]))?"
_YEAR = r"((?:1[5-9]|20)\d\d)(?!\d|[.,]\d|\s?%)"
_UNIT = rf"({'|'.join(_UNITS)})s?\b"
_NUMBER = rf"((?:a\s)?(?:couple(?:\sof)?|few)|\d{{1,3}}|{'|'.join(_NUMBERS)})"

_Meaning = Callable[[_Scan, int, Groups], Span | None]
# By the word a phrase begins with ("0": a number), in the order in which they are tried.
_RULES: dict[str, list[tuple[re.Pattern[str], _Meaning, bool]]] = defaultdict(list)


def _rule(pattern: str, *starts: Iterable[str], modifies: bool = False) -> Callable[[_Meaning], _Meaning]:
    """Register what phrases of this pattern mean, which begin with one of the words `starts`."""

    def register(meaning: _Meaning) -> _Meaning:
        for words in starts:
            for word in words:
                _RULES[word].append((re.compile(pattern, re.ASCII), meaning, modifies))
        return meaning

    return register


@_rule(
    rf"(?:({'|'.join(_ORDINALS)})\s|{_NUMBER}\s)?(?:{_UNIT}|{_WEEKDAY})"
    r"\s(?:(before|prior\sto|preceding)|(after|following)|of|in)\s(?:the\s)?",
    *(_ORDINALS, _NUMBERS, "0", _UNITS, _WEEKDAYS, _SHORT_WEEKDAYS),
    modifies=True,
)
def _beside(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """The week before 9 June, two weeks after 3 May, the week of 3 May, the first weekend of August."""
    ordinal, number, unit, weekday, before, after = groups
    anchor = scan.anchor()
    if anchor is None:
        return None
    if not (before or after):
        return _part_of(anchor, ordinal, unit, weekday)
    base, sign = (anchor[0], -1) if before else (anchor[1], 1)
    if weekday:
        return _one(_next_weekday(base, _weekday_number(weekday), sign))
    if number:
        return _around(unit, base, number, sign)
    if unit == "week":
        return (_monday(base) - 7 * _ONE, base - _ONE) if before else (base + _ONE, _monday(base) + 13 * _ONE)
    if unit == "weekend" and after:
        return _period(unit, _next_weekday(base, 5, 1))
    return _period(unit, _step(unit, base, sign))


def _part_of(whole: Span, ordinal: str, unit: str, weekday: str) -> Span | None:
    """The week of a day; or the first, second ... last week, weekend, Friday ... of a longer time."""
    first, last = whole
    if not ordinal:
        if first != last or unit not in ("week", "weekend"):
            return None
        return _period(unit, first - 2 * _ONE * (unit == "weekend"))  # the nearest: Monday's is just over
    n = _ORDINALS[ordinal] - 1
    if unit == "week":
        start = last - 6 * _ONE if n < 0 else first + 7 * n * _ONE
        return start, start + 6 * _ONE
    if unit in ("", "weekend"):
        number = _weekday_number(weekday) if weekday else 5
        day = _next_weekday(last + _ONE, number, -1) if n < 0 else _next_weekday(first - _ONE, number, 1)
        return _period(unit, day + 7 * max(0, n) * _ONE)
    return _period(unit, last if n < 0 else _step(unit, first, n))


@_rule(
    r"(?:(early)|(mid(?:dle\sof)?)|late|(beginning\sof|start\sof)|end\sof)[\s-](?:in\s)?"
    r"(?:the\s(?:(week|month|year)\b)?)?",
    ("early", "mid", "middle", "late", "beginning", "start", "end"),
    modifies=True,
)
def _third(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Early in June, mid-May, the end of last month, the beginning of the year."""
    early, middle, beginning, unit = groups
    whole = _period(unit, scan.said) if unit else scan.anchor()
    if whole is None or whole[0] == whole[1]:
        return None
    first, last = whole
    third = (last - first + _ONE) // 3
    if early or beginning:
        return first, first + third - _ONE
    return (first + third, last - third) if middle else (last - third + _ONE, last)


@_rule(r"(\d{4})(?:-(\d\d)-(\d\d)|([/.])(\d{1,2})\4(\d{1,2})|年(\d{1,2})月(?:(\d{1,2})日)?)(?!\d)", "0")
def _year_first(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """2023-06-03, 2023/6/3, 2023.6.3, 2023年6月3日, 2023年6月."""
    year, month, *day = (int(group) for group in groups if group.isdecimal())
    return _one(date(year, month, day[0])) if day else _month(year, month)


@_rule(r"((?:1[5-9]|20)\d\d)-(0[1-9]|1[0-2])(?![\d-])", "0")
def _year_month(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """2023-06."""
    return _month(int(groups[0]), int(groups[1]))


@_rule(r"(?<!\.)(\d{1,2})(?:/(\d{1,2})/(\d{4}|\d\d)|-(\d{1,2})-(\d{4})|(\.)(\d{1,2})\.(\d{4}))(?![\d/])", "0")
def _year_last(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """6/3/2023, 6/3/23, 6-3-2023, 3.6.2023."""
    month, day, year = (int(group) for group in groups if group.isdecimal())
    if groups[5] or month > 12:
        month, day = day, month
    return _one(date(year + (0 if year > 99 else 1900 if year > 68 else 2000), month, day))


@_rule(
    rf"(?:{_WEEKDAY}[\s,]{{1,3}}(?:the\s)?)?(?:{_DAY}\s{{0,2}}(?:of\s)?{_MONTH}|{_MONTH}\s{{0,2}}(?:the\s)?{_DAY})"
    rf"(?:[\s,]{{1,3}}{_YEAR})?",
    *("0", _WEEKDAYS, _SHORT_WEEKDAYS, _MONTHS, _SHORT_MONTHS),
)
def _day_of_month(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """5 July, 5th of July 2023, Wed 5 July, July 5th, 2023, May 3-5."""
    first, last = groups[1] or groups[5], groups[2] or groups[6] or groups[1] or groups[5]
    month, year = _month_number(groups[3] or groups[4]), groups[7]

    def of_year(year: int) -> Span:
        return date(year, month, int(first)), date(year, month, int(last))

    span = of_year(int(year)) if year else scan.nearest(of_year, None, start)
    return span if span and span[0] <= span[1] else None


@_rule(
    r"(\d{1,2})(?:st|nd|rd|th)(?:\sof\s(last|this|next)\smonth\b"
    r"|(?=\s?(?:[.,;!?)]|\Z)|\s(?:and|at|after|with|for|to|i|we|it|was|but|so|when)\b))",
    "0",
)
def _nth(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """The 15th of last month; on the 15th, if no noun follows."""
    month = _step("month", scan.said.replace(day=1), _STEPS[groups[1] or "this"])
    if not groups[1] and scan.before(start) != ("the", "on"):
        return None
    day = month.replace(day=int(groups[0]))
    return _one(day if groups[1] or day <= scan.said or scan.looks_ahead(start) else _step("month", day, -1))


@_rule(rf"{_MONTH}[\s,]{{1,3}}(?:of\s)?{_YEAR}|{_SEASON}\s(?:of\s)?{_YEAR}", _MONTHS, _SHORT_MONTHS, _SEASONS)
def _part_of_year(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """May 2023, the summer of 2022."""
    month, year, season, season_year = groups
    return _season(int(season_year), season) if season else _month(int(year), _month_number(month))


@_rule(_YEAR, "0")
def _bare_year(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """In 2022."""
    year = date(int(groups[0]), 1, 1)
    return _period("year", year) if scan.before(start)[0] in _PREPOSITIONS else None


@_rule(_MONTH, _MONTHS, _SHORT_MONTHS)
def _bare_month(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """September, in May."""
    name = groups[0]
    ambiguous = name in ("march", "april", "may", "june") or len(name) < 5 and name != "july"
    if ambiguous and scan.before(start)[0] not in _PREPOSITIONS:
        return None
    return scan.nearest(lambda year: _month(year, _month_number(name)), None, start)


@_rule(_SEASON, _SEASONS)
def _bare_season(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """In spring, over the summer."""
    word, earlier = scan.before(start)
    if (earlier if word == "the" else word) not in ("in", "since", "over", "during", "for"):
        return None
    return scan.nearest(lambda year: _season(year, groups[0]), None, start)


@_rule(
    r"(last|this\spast|past|previous|this\scoming|this|next|coming|upcoming)\s"
    rf"(?:(week|weekend|month|year)\b|{_SEASON}|{_WEEKDAY}|{_MONTH}|(night)\b|(morning|afternoon|evening)\b)",
    _STEPS,
)
def _named(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Last week, this past weekend, next summer, last Friday, next May, last night, this morning."""
    which, unit, season, weekday, month, night, _ = groups
    said, step = scan.said, _STEPS[which.split()[-1]]
    if unit:
        if unit != "weekend" and "past" in which:
            return _step(unit, said, -1), said
        return _period(unit, _step(unit, said, step))
    if season:
        return scan.nearest(lambda year: _season(year, season), step, start)
    if month:
        return scan.nearest(lambda year: _month(year, _month_number(month)), step, start)
    if weekday:
        number = _weekday_number(weekday)
        return _one(_next_weekday(said, number, step) if step else _monday(said) + number * _ONE)
    return _one(said + step * _ONE) if night or step == 0 else None


@_rule(rf"(last|past|next|coming)\s{_NUMBER}\s{_UNIT}", _STEPS)
def _running(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """The last three days, the next few weeks: up to the day it was said, or from it."""
    which, number, unit = groups
    end = _step(unit, scan.said, _STEPS[which] * _number(number)[1])
    return min(end, scan.said), max(end, scan.said)


@_rule(r"(later|earlier)\sthis\s(week|month|year)\b", ("later", "earlier"))
def _rest(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Later this month, earlier this week."""
    first, last = _period(groups[1], scan.said)
    return (scan.said, last) if groups[0] == "later" else (first, scan.said)


@_rule(
    rf"{_NUMBER}\s(?:or\s(two|three|four)\s)?{_UNIT}(?:\sor\s(?:so|(two|three)))?\s(?:(ago|back)|(now)|from\snow)\b",
    *(_NUMBERS, "0"),
)
def _ago(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Two weeks ago, a year or two ago, seven years now, a month from now."""
    number, other, unit, more, past, now = groups
    if now and unit not in ("month", "year"):
        return None
    sign = -1 if past or now else 1
    spans = [_around(unit, scan.said, n, sign) for n in (number, other or more) if n]
    return min(spans)[0], max(last for _, last in spans)


@_rule(rf"in\s(?!a\sday){_NUMBER}\s{_UNIT}", ("in",))
def _in(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """In three days; not after words that look back ("read it in three days")."""
    looks_back = _BACK.search(scan.text, max(0, start - 40), start)
    return None if looks_back else _around(groups[1], scan.said, groups[0], 1)


@_rule(
    r"(day\sbefore\syesterday)\b|(?<!like )(?<!like just )(yesterday)\b|(?<!in )(today|tonight)\b|(tomorrow)\b"
    r"|(day\safter\stomorrow)\b|(?<=the )other\s(?:day|night)\b",
    ("day", "yesterday", "today", "tonight", "tomorrow", "other"),
)
def _near(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Yesterday, today, tomorrow, the other day."""
    for days, group in enumerate(groups, -2):
        if group:
            return _one(scan.said + days * _ONE)
    return scan.said - 7 * _ONE, scan.said - _ONE


@_rule(
    r"(?<=the )(day|week|weekend|month|year)\s(before|after)(?=\s?(?:[.,;:!?)]|\Z))|(week|weekend)\sbefore\slast\b",
    _UNITS,
)
def _lone_beside(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """The week before, the year after; the weekend before last."""
    unit, which, before_last = groups
    if before_last:
        return _period(before_last, _step(before_last, scan.said, -2))
    first, last = scan.previous or (scan.said, scan.said)
    return _period(unit, _step(unit, first, -1) if which == "before" else _step(unit, last, 1))


@_rule(rf"(?:{_WEEKDAY}|weekend\b)(?!\s?[:|])", _WEEKDAYS, _SHORT_WEEKDAYS, ("weekend",))
def _bare_weekday(scan: _Scan, start: int, groups: Groups) -> Span | None:
    """Friday, on Fri, over the weekend; the day it was said may itself be meant."""
    word, earlier = scan.before(start)
    name = groups[0] or "saturday"
    if (
        word in ("every", "each")
        or (name in _SHORT_WEEKDAYS and word != "on")
        or (not groups[0] and (word != "the" or earlier not in ("over", "at", "on", "during", "for")))
    ):
        return None
    sign = 1 if scan.looks_ahead(start) else -1
    day = _next_weekday(scan.said - sign * _ONE, _weekday_number(name), sign)
    return _one(day) if groups[0] else _period("weekend", day)


# One alternative for each first letter: a word that begins no phrase is passed by quickly.
_START = re.compile(
    r"\b(?:\d+|(?:"
    + "|".join(
        f"{letter}(?:{'|'.join(word[1:] for word in sorted(_RULES) if word[0] == letter)})"
        for letter in sorted({word[0] for word in _RULES} - {"0"})
    )
    + ")(?![a-z]))",
    re.ASCII,
)

_ONE = timedelta(1)


def _one(day: date) -> Span:
    return day, day


def _month(year: int, month: int) -> Span:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _season(year: int, season: str) -> Span:
    first = date(year, _SEASONS[season], 1)
    return first, _period("month", _step("month", first, 2))[1]


def _monday(day: date) -> date:
    return day - day.weekday() * _ONE


def _next_weekday(day: date, weekday: int, sign: int) -> date:
    """The first such weekday after `day` (sign 1), or the latest before it (-1)."""
    return day + sign * ((weekday - day.weekday()) * sign % 7 or 7) * _ONE


def _step(unit: str, day: date, n: int) -> date:
    """`day` moved by n units; by months and years to the same day of the month, or to the month's last."""
    if unit not in ("month", "year"):
        return day + n * (7 if unit.startswith("week") else 1) * _ONE
    months = day.year * 12 + day.month - 1 + n * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def _period(unit: str, day: date) -> Span:
    """The week, the weekend of the week, the month or the year that `day` is in; else the day itself."""
    if unit == "week":
        return _monday(day), _monday(day) + 6 * _ONE
    if unit == "weekend":
        return _monday(day) + 5 * _ONE, _monday(day) + 6 * _ONE
    if unit == "month":
        return _month(day.year, day.month)
    return (date(day.year, 1, 1), date(day.year, 12, 31)) if unit == "year" else _one(day)


def _around(unit: str, day: date, number: str, sign: int) -> Span:
    """What "two weeks ago" (sign -1) or "in a few days" (sign 1) spans, counted from `day`."""
    ends = sorted(_step(unit, day, sign * n) for n in _number(number))
    if unit == "week":
        return ends[0] - 3 * _ONE, ends[1] + 3 * _ONE
    return _period(unit, ends[0])[0], _period(unit, ends[1])[1]


def _number(word: str) -> tuple[int, int]:
    word = word.removesuffix("of").split()[-1]
    return (int(word), int(word)) if word.isdecimal() else _NUMBERS[word]


def _month_number(name: str) -> int:
    return "janfebmaraprmayjunjulaugsepoctnovdec".index(name[:3]) // 3 + 1


def _weekday_number(name: str) -> int:
    return "montuewedthufrisatsun".index(name[:3]) // 3
