"""Relative dates inside a text."""

from datetime import date

import pytest

from zibaldone.text.dated_text import in_iso, resolved

SAID = date(2024, 9, 15)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("We are getting married in spring.", "We are getting married in spring (March to May 2025)."),
        ("The wedding is in June.", "The wedding is in June (June 2025)."),
        ("In spring we're off to Rome.", "In spring (March to May 2025) we're off to Rome."),
        ("I love hiking in spring.", "I love hiking in spring."),
        ("We got married in spring.", "We got married in spring (March to May 2024)."),
        ("I visited Oslo in May.", "I visited Oslo in May (May 2024)."),
        ("It's been quiet since June.", "It's been quiet since June (June 2024)."),
        ("I was in Rome in August.", "I was in Rome in August (August 2024)."),
    ],
)
def test_a_season_is_past_or_to_come_as_the_words_around_it_say(text, told):
    """And has no year where they do not say it."""
    assert resolved(text, SAID) == told


def test_days_can_be_written_as_numbers():
    """No more precise than they are known."""
    text = "I ran yesterday, last month and last year."
    assert resolved(text, SAID, in_iso) == (
        "I ran yesterday (2024-09-14), last month (2024-08) and last year (2023)."
    )
