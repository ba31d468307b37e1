"""The time that a question asks about, and to which side it is open."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from zibaldone.text.dates import find_days
from zibaldone.text.periods import Period, asked_period

NOW = date(2024, 6, 12)  # a Wednesday

ROWS = dict(
    line.split("\t")
    for line in (Path(__file__).parents[1] / "data" / "periods.tsv").read_text(encoding="utf-8").splitlines()
)
ASKED = {question: days for question, days in ROWS.items() if days != "-"}
NOT_ASKED = ["", *(question for question, days in ROWS.items() if days == "-")]


@pytest.mark.parametrize(("question", "expected"), ASKED.items())
def test_a_time_that_is_asked_about(question: str, expected: str) -> None:
    """Its first and its last day; "-" where it is open."""
    period = asked_period(question, NOW)
    assert period is not None
    assert f"{period.first or '-'} {period.last or '-'}" == expected


@pytest.mark.parametrize("question", NOT_ASKED)
def test_a_question_about_any_time(question: str) -> None:
    """Nothing to filter by."""
    assert asked_period(question, NOW) is None


def test_a_period_holds_its_own_days() -> None:
    """Both ends belong to it, and an open side has none."""
    may = Period(date(2024, 5, 1), date(2024, 5, 31))
    assert may.holds(date(2024, 5, 1))
    assert may.holds(date(2024, 5, 31))
    assert not may.holds(date(2024, 6, 1))
    assert not may.holds(date(2024, 4, 30))
    assert Period(date(2024, 5, 1), None).holds(date.max)
    assert Period(None, date(2024, 5, 1)).holds(date.min)


@pytest.mark.parametrize("text", ["May 3 - 2019 people came", "we met in May - March was cold", "from Jan"])
def test_what_only_looks_like_a_range(text: str) -> None:
    """Is none: no more than one month comes out."""
    assert all((days.last - days.first).days <= 31 for days in find_days(text, NOW))


@pytest.mark.parametrize("text", ["from 31 December 9999 on", "before 1 January 0001", "since March " * 500])
def test_odd_times_raise_nothing(text: str) -> None:
    """Not even at the ends of the calendar."""
    asked_period(text, NOW)


def test_a_month_is_none_that_is_a_word_of_another_language():
    """Who asks in English of a Mai or an Abril asks of no month."""
    assert asked_period("What did Mai say to me in the kitchen about the tea?", date(2025, 10, 3)) is None
