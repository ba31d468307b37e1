"""Calendar arithmetic on inclusive ranges of days."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta

Span = tuple[date, date]  # the first and the last day
DAY = timedelta(1)


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
