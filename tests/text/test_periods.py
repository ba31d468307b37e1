"""The time that a question asks about, and to which side it is open."""

from __future__ import annotations

from datetime import date

import pytest

from zibaldone.text.dates import find_days
from zibaldone.text.periods import Period, asked_period

NOW = date(2024, 6, 12)  # a Wednesday

ASKED = {
    "What happened between March and May?": "2024-03-01 2024-05-31",
    "from March to May": "2024-03-01 2024-05-31",
    "from Nov to Feb": "2023-11-01 2024-02-29",
    "what changed from early April to mid May": "2024-04-01 2024-05-21",
    "What did I do in the first week of June?": "2024-06-01 2024-06-07",
    "during the first two weeks of May": "2024-05-01 2024-05-14",
    "in the last three days of May": "2024-05-29 2024-05-31",
    "in the second half of 2023": "2023-07-01 2023-12-31",
    "the plans of Q1 2024": "2024-01-01 2024-03-31",
    "in the first quarter of 2024": "2024-01-01 2024-03-31",
    "from 3 to 9 May": "2024-05-03 2024-05-09",
    "between the 3rd and the 10th of May": "2024-05-03 2024-05-10",
    "from 2024-01-01 to 2024-01-27": "2024-01-01 2024-01-27",
    "from March 15, 2024 till April 2, 2024": "2024-03-15 2024-04-02",
    "What did I learn in 2022 and 2023?": "2022-01-01 2023-12-31",
    "Who did I meet in May?": "2024-05-01 2024-05-31",
    "What did we do on 5 May?": "2024-05-05 2024-05-05",
    "What did I say yesterday?": "2024-06-11 2024-06-11",
    "What did I do last month?": "2024-05-01 2024-05-31",
    "What has changed since spring?": "2024-03-01 -",
    "since I moved in May": "2024-05-01 -",
    "from March until now": "2024-03-01 -",
    "How did it go after 3 May 2024?": "2024-05-04 -",
    "Where did I go before the trip in 2023?": "- 2023-12-31",
    "What did I read before March?": "- 2024-02-29",
    "until last May": "- 2024-05-31",
    "up to the end of April": "- 2024-04-30",
    "What did I do in October?": "2023-10-01 2023-10-31",
    "between April and July": "2024-04-01 2024-07-31",
    "How did I sleep for the past month?": "2024-05-12 2024-06-12",
    "after May 2022 and before June 2023": "2022-06-01 2023-05-31",
}
NOT_ASKED = (
    "Where is my appointment now?",
    "What is my schedule today?",
    "What is planned for next week?",
    "When is the deadline of June 3?",
    "Was it before or after May 3?",
    "When did Ann move to Lisbon?",
    "How have I progressed over time?",
    "What are all my goals for this year?",
    "Which guests did I plan for 3 to 5 May?",
    "May I ask what you know?",
    "",
)


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
