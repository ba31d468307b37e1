"""The time that a question asks about: "between March and May", "since spring", "before the trip in 2023"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import regex

from zibaldone.text.dates import Days, find_days
from zibaldone.text.patterns import late
from zibaldone.text.sentences import sentence_around

# How the phrase of a time is bound into its question: what stands before it, up to a few words back.
_NOUNS = r"(?:\s+(?!(?:and|or|but|did|do|does|was|were|is|are)\b)[\p{L}'’-]+){0,4}?(?:\s+(?:in|on|of|from))?"
_AFTER = late(
    rf"\b(?:since|starting|beginning|(?P<from>from)|(?P<behind>after|following|later\s+than)){_NOUNS}\s*$",
    regex.IGNORECASE,
)
_BEFORE = late(
    rf"\b(?:before|prior\s+to|earlier\s+than|preceding|(?P<to>until|till|by|up\s+to)){_NOUNS}\s*$",
    regex.IGNORECASE,
)
_WITHIN = late(
    r"\b(?:in|on|at|during|between|within|over|throughout|from|through|across|(?P<of>of|around|about))"
    r"(?:\s+(?:the|early|late|mid))?\s*$",
    regex.IGNORECASE,
)
_ONWARDS = late(
    r"^\s*(?:on|onwards?|(?:up\s+)?(?:until|till|to|through)\s+(?:now|today|date))\b", regex.IGNORECASE
)
# Phrases that are a time of their own, with nothing before them.
_ADVERB = late(
    r"^(?:(?:last|this|past|previous|early|late)\s|yesterday|(?:a|an|\d+|\w+)\s(?:few\s)?\w+\sago\b|day\sbefore)",
    regex.IGNORECASE,
)
_IN = late(r"\b(?:in|during)\s*$", regex.IGNORECASE)
_EITHER = late(r"\b(?:before|after)\s+or\s+(?:before|after)\b", regex.IGNORECASE)
_RANGE = late(r"\b(?:to|until|till|through|and)\b|[^-\d]\s?[-–]\s?", regex.IGNORECASE)
_LIST = late(r"\s*(?:,|and|or|,\s*(?:and|or))\s*", regex.IGNORECASE)
_MEANT_FOR = late(r"\bfor(?:\s+(?:the|early|late|mid))?\s*$", regex.IGNORECASE)
_PAST = late(r"(?:the\s+)?(?:last|past|previous)\b", regex.IGNORECASE)  # "for the past month"
_NOW = frozenset({"today", "tonight", "tomorrow", "this morning", "this afternoon", "this evening"})
_REACH = 80  # characters before a phrase that are looked at


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `first` to `last`, inclusive; None: open to that side. One of them is a day."""

    first: date | None
    last: date | None

    def holds(self, day: date) -> bool:
        """True if a day is in it."""
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


def asked_period(text: str, now: date) -> Period | None:
    """The time that a question, asked on the day `now`, asks about; None where it is about any time.

    Of several times it is all from the first to the last, and what lies between two open ones. A time that is
    still to come is no such time: what is planned for it was said before. Nor are today and now, of which one
    asks how things stand. Nor is a day that the question only names ("the deadline of 3 June"), or for which
    something is meant ("my goals for this year").
    """
    bounds: list[Period] = []
    clause, end = "", 0
    for days in find_days(text, now, past=True):
        if not (clause and _LIST.fullmatch(text[end : days.start])):  # "in 2023 and 2024": one "in" for both
            near = text[max(0, days.start - _REACH) : days.end]
            begins = len(near) - (days.end - days.start)
            sentence, _ = sentence_around(near, begins, len(near))
            clause = regex.split(r"[;,]", near[sentence:begins])[-1]
        end = days.end
        if bound := _bound(clause, text, days, now):
            bounds.append(bound)
    if not bounds:
        return None
    closed = [bound for bound in bounds if bound.first and bound.last]
    firsts = [bound.first for bound in closed if bound.first] or [b.first for b in bounds if b.first]
    lasts = [bound.last for bound in closed if bound.last] or [b.last for b in bounds if b.last]
    first, last = min(firsts, default=None), max(lasts, default=None)
    if first and last and last < first:
        return None
    return Period(first, last)


def _bound(clause: str, text: str, days: Days, now: date) -> Period | None:
    """Return the period that one phrase asks about, given the words of `clause` before it, or None."""
    phrase = text[days.start : days.end]
    if days.first > now or phrase.lower() in _NOW or _EITHER.search(clause):
        return None
    if _MEANT_FOR.search(clause) and not _PAST.match(phrase):
        return None
    if _RANGE.search(phrase):
        return Period(days.first, days.last)
    in_it = _IN.search(clause) is not None  # "before the trip in 2023": some day of it
    if before := _BEFORE.search(clause):
        whole = in_it or before["to"] is not None
        return Period(None, days.last if whole else _day_before(days.first))
    if (after := _AFTER.search(clause)) and not (after["from"] and not _ONWARDS.match(text[days.end :])):
        return Period(_day_after(days.last) if after["behind"] and not in_it else days.first, None)
    within = _WITHIN.search(clause)
    if within and (days.first < days.last or not within["of"]):
        return Period(days.first, days.last)
    return Period(days.first, days.last) if _ADVERB.match(phrase) else None


def _day_before(day: date) -> date:
    return date.fromordinal(max(1, day.toordinal() - 1))


def _day_after(day: date) -> date:
    return date.fromordinal(min(date.max.toordinal(), day.toordinal() + 1))
