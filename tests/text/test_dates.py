"""Days named in a text: what a phrase means, what is not read, and that nothing breaks or stalls it."""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zibaldone.text.dates import find_days

SAID = date(2023, 5, 25)  # a Thursday

ROWS = dict(
    line.split("\t")
    for line in (Path(__file__).parents[1] / "data" / "dates.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
MEANINGS = {text: days for text, days in ROWS.items() if days != "-"}

NOTHING = ["", *(text for text, days in ROWS.items() if days == "-")]

phrases = st.sampled_from(
    [*MEANINGS, *NOTHING, "a", "of", "in the", "before", "and", " ", "-", ",", "9999", "İ"]
)


@pytest.mark.parametrize("text", MEANINGS)
def test_a_phrase_means_the_days_it_is_documented_to_mean(text: str) -> None:
    """Each kind of phrase is read as one range, counted from the day it was said, wherever it stands."""
    first, _, last = MEANINGS[text].partition(" ")
    for said in (text, f"Hello there; {text}"):
        found = [(days.first, days.last) for days in find_days(said, SAID)]
        assert found == [(date.fromisoformat(first), date.fromisoformat(last or first))]


@pytest.mark.parametrize("text", NOTHING)
def test_what_names_no_day_is_not_read(text: str) -> None:
    """Durations, what recurs, impossible dates, verbs and numbers are left alone."""
    assert find_days(text, SAID) == []


def test_the_phrase_is_located_in_the_text() -> None:
    """`start` and `end` are offsets in the text as given, after letters whose lower case is longer too."""
    text = "İİ: I went LAST friday, and on 5 July 2023 again"
    assert [text[days.start : days.end] for days in find_days(text, SAID)] == ["LAST friday", "5 July 2023"]


@given(text=st.text() | st.lists(phrases).map(" ".join), said=st.dates())
@example(text="\ud800 yesterday \0", said=date(2023, 5, 25))
def test_any_text_on_any_day_gives_ordered_ranges(text: str, said: date) -> None:
    """Nothing raises, and ranges are in order, well formed and inside the text."""
    end = 0
    for days in find_days(text, said):
        assert days.first <= days.last
        assert end <= days.start < days.end <= len(text)
        end = days.end


@pytest.mark.parametrize("text", ["May 3 - 2019 people came", "we met in May - March was cold", "from Jan"])
def test_what_only_looks_like_a_range(text: str) -> None:
    """Is none: no more than one month comes out."""
    assert all((days.last - days.first).days <= 31 for days in find_days(text, SAID))


@pytest.mark.parametrize("said", [date.min, date.max, date(1, 12, 31), date(9999, 1, 1)])
def test_the_ends_of_the_calendar_are_no_trap(said: date) -> None:
    """On the first and last days of the calendar a phrase that leads outside is left out; none raises."""
    for text in MEANINGS:
        find_days(text, said)
    assert find_days("yesterday", date.min) == find_days("tomorrow", date.max) == []


PIECES = (
    " |1|9-|1/|a |in |two |two  |the week before |last |will |week of |early in the |"
    "5 May to |5 may |between 5 may and |monday, |2023 |a couple of |january |in a few days |the |May, |"
    "jumped |day before yesterday |"
).split("|")
PIECES[-1] = "Sept" + " " * 50


@pytest.mark.parametrize("piece", PIECES)
def test_time_grows_with_the_length_of_the_text_only(piece: str) -> None:
    """30 kB of one fragment, repeated, take well under a second: quadratic search would take minutes."""
    start = time.process_time()
    find_days("today " + piece * (30_000 // len(piece)), SAID)
    assert time.process_time() - start < 5
