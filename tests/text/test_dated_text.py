"""Relative dates inside a text."""

from datetime import date

import pytest

from zibaldone.text.dated_text import in_iso, resolved

SAID = date(2024, 9, 15)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I love hiking in spring.", "I love hiking in spring."),
        ("We got married in June.", "We got married in June."),
        ("We got married last spring.", "We got married last spring (March to May 2024)."),
        ("I was in Rome in August.", "I was in Rome in August (August 2024)."),
        ("We met last week.", "We met last week (2 to 8 September 2024)."),
        ("It was two or three months ago.", "It was two or three months ago (June to July 2024)."),
        ("We met a few years ago.", "We met a few years ago (2019 to 2022)."),
        ("I go next month!", "I go next month (October 2024)!"),
        ("It was on 3 May 2021.", "It was on 3 May 2021."),
        ("It was yesterday (14 September 2024).", "It was yesterday (14 September 2024)."),
    ],
)
def test_a_relative_date_is_resolved_behind_its_words(text, told):
    """No more precise than it was said; a season has no year where it may be past or to come."""
    assert resolved(text, SAID) == told


def test_days_can_be_written_as_numbers():
    """No more precise than they are known."""
    text = "I ran yesterday, last month and last year."
    assert resolved(text, SAID, in_iso) == (
        "I ran yesterday (2024-09-14), last month (2024-08) and last year (2023)."
    )
