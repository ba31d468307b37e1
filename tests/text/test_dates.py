"""Days named in a text: what a phrase means, what is not read, and that nothing breaks or stalls it."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zibaldone.text.dates import find_days

SAID = date(2023, 5, 25)  # a Thursday

MEANINGS = {
    # numeric dates
    "2023-06-03": "2023-06-03",
    "at 2023-06-03T12:00:00Z": "2023-06-03",
    "2023/6/3": "2023-06-03",
    "am 3.6.2023 gesehen": "2023-06-03",
    "6/3/2023": "2023-06-03",
    "25/3/2023": "2023-03-25",
    "6/3/23": "2023-06-03",
    "6/3/99": "1999-06-03",
    "昨日は2023年6月3日です": "2023-06-03",
    "2023-06": "2023-06-01 2023-06-30",
    "2023年2月": "2023-02-01 2023-02-28",
    # a day of a month
    "on 5 July 2023": "2023-07-05",
    "the 5th of July, 2023": "2023-07-05",
    "July 5th, 2023": "2023-07-05",
    "3June, 2022": "2022-06-03",
    "Fri 5 May 2023": "2023-05-05",
    "Sunday, December 31": "2022-12-31",
    "May 3-5, 2021": "2021-05-03 2021-05-05",
    "29 February 2024": "2024-02-29",
    "31 February 2023": "2023-02-01 2023-02-28",
    "on 5 July": "2023-07-05",
    "on 5 December": "2022-12-05",
    "we will meet on 5 December": "2023-12-05",
    "on the 15th we met": "2023-05-15",
    "on the 28th.": "2023-04-28",
    "see you on the 28th": "2023-05-28",
    "the 15th of last month": "2023-04-15",
    # months, seasons, years
    "in May 2023": "2023-05-01 2023-05-31",
    "September": "2023-09-01 2023-09-30",
    "in October": "2022-10-01 2022-10-31",
    "planning it for October": "2023-10-01 2023-10-31",
    "since June": "2022-06-01 2022-06-30",
    "in june": "2023-06-01 2023-06-30",
    "in Oct": "2022-10-01 2022-10-31",
    "last May": "2022-05-01 2022-05-31",
    "next May": "2024-05-01 2024-05-31",
    "this July": "2023-07-01 2023-07-31",
    "the summer of 2022": "2022-06-01 2022-08-31",
    "winter 2022": "2022-12-01 2023-02-28",
    "last summer": "2022-06-01 2022-08-31",
    "next spring": "2024-03-01 2024-05-31",
    "over the summer": "2023-06-01 2023-08-31",
    "in 2022": "2022-01-01 2022-12-31",
    # days near
    "today": "2023-05-25",
    "this morning": "2023-05-25",
    "tonight": "2023-05-25",
    "yesterday": "2023-05-24",
    "last night": "2023-05-24",
    "the day before yesterday": "2023-05-23",
    "tomorrow": "2023-05-26",
    "the day after tomorrow": "2023-05-27",
    "the other day": "2023-05-18 2023-05-24",
    # weekdays and weekends
    "last Friday": "2023-05-19",
    "last tues": "2023-05-23",
    "last Thursday": "2023-05-18",
    "this Friday": "2023-05-26",
    "this past Monday": "2023-05-22",
    "next Thursday": "2023-06-01",
    "I went on Friday": "2023-05-19",
    "I'll go on Friday": "2023-05-26",
    "I will. Went Friday": "2023-05-19",
    "on Thursday": "2023-05-25",
    "on Fri": "2023-05-19",
    "this weekend": "2023-05-27 2023-05-28",
    "last weekend": "2023-05-20 2023-05-21",
    "over the weekend": "2023-05-20 2023-05-21",
    "plans for the weekend": "2023-05-27 2023-05-28",
    # weeks, months, years
    "last week": "2023-05-15 2023-05-21",
    "this week": "2023-05-22 2023-05-28",
    "next week": "2023-05-29 2023-06-04",
    "last month": "2023-04-01 2023-04-30",
    "next month": "2023-06-01 2023-06-30",
    "last year": "2022-01-01 2022-12-31",
    "the past week": "2023-05-18 2023-05-25",
    "the last three days": "2023-05-22 2023-05-25",
    "the next few weeks": "2023-05-25 2023-06-29",
    # counted
    "2 days ago": "2023-05-23",
    "two weeks ago": "2023-05-08 2023-05-14",
    "two weekends ago": "2023-05-13 2023-05-14",
    "a month ago": "2023-04-01 2023-04-30",
    "five years ago": "2018-01-01 2018-12-31",
    "a couple of days ago": "2023-05-22 2023-05-23",
    "a few days ago": "2023-05-20 2023-05-23",
    "a year or so ago": "2022-01-01 2022-12-31",
    "a year or two ago": "2021-01-01 2022-12-31",
    "two or three days ago": "2023-05-22 2023-05-23",
    "seven years now": "2016-01-01 2016-12-31",
    "in three days": "2023-05-28",
    "a week from now": "2023-05-29 2023-06-04",
    # beside and inside another phrase
    "the week of 3 June 2023": "2023-05-29 2023-06-04",
    "the weekend of 22 August 2022": "2022-08-20 2022-08-21",
    "the week before 9 June 2023": "2023-05-29 2023-06-08",
    "the week after 9 June 2023": "2023-06-10 2023-06-18",
    "the Friday before 15 July 2023": "2023-07-14",
    "the weekend after 3 June 2022": "2022-06-04 2022-06-05",
    "two weekends before 17 July 2023": "2023-07-08 2023-07-09",
    "two weeks before 11 August 2023": "2023-07-25 2023-07-31",
    "three days after yesterday": "2023-05-27",
    "the first weekend of August 2023": "2023-08-05 2023-08-06",
    "the third Saturday of June 2023": "2023-06-17",
    "the last Friday in May": "2023-05-26",
    "the second week of November": "2022-11-08 2022-11-14",
    "the last week of September 2023": "2023-09-24 2023-09-30",
    "the week before last": "2023-05-08 2023-05-14",
    "the week before.": "2023-05-15 2023-05-21",
    "early in August 2023": "2023-08-01 2023-08-10",
    "mid-June 2022": "2022-06-11 2022-06-20",
    "the end of last month": "2023-04-21 2023-04-30",
    "the end of the year": "2023-09-02 2023-12-31",
    "last week of school": "2023-05-15 2023-05-21",
    # from one to another
    "from 3 May to 5 May": "2023-05-03 2023-05-05",
    "between August 11 and August 15, 2021": "2021-08-11 2021-08-15",
    "December 28, 2022 - January 3, 2023": "2022-12-28 2023-01-03",
    "from 2016 to 2018": "2016-01-01 2018-12-31",
    "since 2016-2018": "2016-01-01 2018-12-31",
}

NOTHING = [
    "",
    "recently, soon, a while ago, one day, someday",
    "for two weeks",
    "three times a week, every Friday, each month, on Fridays",
    "Monday: rest. Tuesday: run.",
    "You may march on and fall asleep into a spring",
    "24/7/365, v1.2.2023, 10.0.0.1, 1/2, $2000, 555-2023",
    "2023-02-31, 2023-13-01, 45/45/2023, 0/0/2023",
    "the week before the race",
    "we haven't talked in a few days; I read it in two weeks",
    "feels like just yesterday, in today's world",
    "April said that June is in the army",
    "on the 2nd floor",
    "वह पिछले हफ्ते आया; la semana pasada; letzte Woche",
]

phrases = st.sampled_from(
    [*MEANINGS, *NOTHING, "a", "of", "in the", "before", "and", " ", "-", ",", "9999", "İ"]
)


@pytest.mark.parametrize("text", MEANINGS)
def test_a_phrase_means_the_days_it_is_documented_to_mean(text: str) -> None:
    """Each kind of phrase is read as one range, counted from the day it was said."""
    first, _, last = MEANINGS[text].partition(" ")
    found = [(days.first, days.last) for days in find_days(text, SAID)]
    assert found == [(date.fromisoformat(first), date.fromisoformat(last or first))]


@pytest.mark.parametrize("text", NOTHING)
def test_what_names_no_day_is_not_read(text: str) -> None:
    """Durations, what recurs, impossible dates, verbs and numbers are left alone."""
    assert find_days(text, SAID) == []


def test_the_phrase_is_located_in_the_text() -> None:
    """`start` and `end` are offsets in the text as given, after letters whose lower case is longer too."""
    text = "İİ: I went LAST friday, and on 5 July 2023 again"
    assert [text[days.start : days.end] for days in find_days(text, SAID)] == ["LAST friday", "5 July 2023"]


def test_a_lone_week_before_counts_from_what_was_named_before() -> None:
    """A lone "the week before" is the week before the last days named in the text."""
    found = find_days("Not on 14 June 2022 but the week before.", SAID)
    assert found[1].first == date(2022, 6, 6)
    assert found[1].last == date(2022, 6, 12)


@pytest.mark.parametrize("phrase", MEANINGS)
def test_a_phrase_is_found_wherever_it_stands(phrase: str) -> None:
    """The quick test that spares most texts the grammar hides no phrase, and neighbours don't change it."""
    alone = find_days(phrase, SAID)
    within = find_days(f"Hello there; {phrase}", SAID)
    assert [(d.first, d.last, d.start + 13, d.end + 13) for d in alone] == [
        (d.first, d.last, d.start, d.end) for d in within
    ]


@given(text=st.text() | st.lists(phrases).map(" ".join), said=st.dates())
@example(text="\ud800 yesterday \0", said=date(2023, 5, 25))
def test_any_text_on_any_day_gives_ordered_ranges(text: str, said: date) -> None:
    """Nothing raises, and ranges are in order, well formed and inside the text."""
    end = 0
    for days in find_days(text, said):
        assert days.first <= days.last
        assert end <= days.start < days.end <= len(text)
        end = days.end


@pytest.mark.parametrize("said", [date.min, date.max, date(1, 12, 31), date(9999, 1, 1)])
def test_the_ends_of_the_calendar_are_no_trap(said: date) -> None:
    """On the first and last days of the calendar a phrase that leads outside is left out; none raises."""
    for text in MEANINGS:
        find_days(text, said)
    assert find_days("yesterday", date.min) == find_days("tomorrow", date.max) == []


PIECES = (
    " |1|9-|1/|a |in |two |two  |the week before |last |will |week of |early in the |first week of |"
    "5 May to |5 may |between 5 may and |monday, |2023 |a couple of |january |in a few days |the |May, |"
    "jumped |day before yesterday |"
).split("|")
PIECES[-1] = "Sept" + " " * 50


@pytest.mark.parametrize("piece", PIECES)
def test_time_grows_with_the_length_of_the_text_only(piece: str) -> None:
    """100 kB of one fragment, repeated, take well under a second: quadratic search would take minutes."""
    start = time.process_time()
    find_days("today " + piece * (100_000 // len(piece)), SAID)
    assert time.process_time() - start < 5
