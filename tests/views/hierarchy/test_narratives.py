"""An episode's title and narrative without a model."""

import pytest
from hierarchy_talk import START, talk


@pytest.fixture
def episode(told):
    """The only one of these messages."""

    def episode(said):
        (found,) = told(None, said).user("ann").episodes()
        return found

    return episode


def test_a_narrative_has_every_message_with_its_speaker(episode):
    """Under a line on who talked when, word for word but for the dates."""
    text = episode(talk("Ann: I adopted a dog yesterday.", "Bob: What's its name?", "Ann: Rex.")).narrative
    assert text.splitlines() == [
        "On Monday 8 May 2023 at 13:56, Ann and Bob talked.",
        "Ann: I adopted a dog yesterday (7 May 2023).",
        "Bob: What's its name?",
        "Ann: Rex.",
    ]


def test_dates_count_from_the_message_s_own_day(episode):
    """Where an episode runs past midnight, the new day is announced and "yesterday" is another."""
    late = START.replace(hour=23, minute=50)
    text = episode(
        talk("Ann: I sang yesterday.", "Ann: I danced yesterday.", minutes=20, start=late)
    ).narrative
    assert "sang yesterday (7 May 2023)" in text
    assert "On Tuesday 9 May 2023 at 00:10:\nAnn: I danced yesterday (8 May 2023)." in text


def test_a_title_has_the_day_the_speakers_and_what_they_speak_of(episode):
    """The commonest words, a pair together, no name of a speaker in any form."""
    said = episode(
        talk(
            "Melanie: The charity race was on Saturday!",
            "Caroline: A charity race, Mel?",
            "Melanie: Yes, a charity race in Lisbon.",
        )
    ).title
    assert said.startswith("8 May 2023, Melanie and Caroline: charity, race")
    assert "Mel," not in said
    assert "Lisbon" in said


@pytest.mark.parametrize("odd", ["yd²", "½ cup", "№5", "ﬁne", "ǅ", "İstanbul", "x² + y²", "①"])
def test_a_title_takes_whatever_people_write(episode, odd):
    """Words that come apart when they are read again break no title."""
    messages = talk(
        f"Bea: I ordered linen {odd} cloth for Rosa.", f"Ann: Linen {odd}? And linen {odd} cloth again?"
    )
    assert episode(messages).title.startswith("8 May 2023")
