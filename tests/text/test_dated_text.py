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
    ],
)
def test_a_season_has_a_year_where_its_words_or_the_day_tell_it(text, told):
    """Else none, since it may be past or to come."""
    assert resolved(text, SAID) == told


def test_days_can_be_written_as_numbers():
    """No more precise than they are known."""
    text = "I ran yesterday, last month and last year."
    assert resolved(text, SAID, in_iso) == (
        "I ran yesterday (2024-09-14), last month (2024-08) and last year (2023)."
    )
