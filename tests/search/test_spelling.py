"""Slips of the pen in a question."""

import pytest

from zibaldone.search.vocabulary import Vocabulary

USES = {"dentist": 3, "appointment": 2, "apartment": 5, "cat": 4, "garden": 1, "warden": 5, "2024a": 3}


def vocabulary(uses):
    """Words, each of them used so often."""
    made = Vocabulary()
    made.add([[word] * times for word, times in uses.items()])
    return made


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("dentst", "dentist"),  # a letter is missing
        ("dentisst", "dentist"),  # one too many
        ("dintist", "dentist"),  # another
        ("denitst", "dentist"),  # out of place
        ("apointmnet", "appointment"),  # two, in a long word
        ("dntst", None),  # two, in a short one
        ("cta", None),  # too short to say
        ("2024b", None),  # no word
        ("zeppelin", None),  # nothing like it
    ],
)
def test_a_slip_is_read_as_the_word_that_memory_has(written, meant):
    """One of four slips, two in a long word; else it is no slip of anything."""
    assert vocabulary(USES).meant(written) == meant


def test_of_two_words_as_near_the_more_used_is_meant():
    """And the nearer one before the more used."""
    assert vocabulary(USES).meant("xarden") == "warden"
    assert vocabulary(USES).meant("gardem") == "garden"


def test_a_question_with_a_slip_finds_what_was_meant(talk):
    """Of words that memory has otherwise; a word that it knows itself is left alone."""
    talk.fill()
    dentist, lodge = talk.say(
        "[a] Bea: My orthodontist moved to Vienna.", "[b] Bea: The orthodontics book is long."
    )
    assert talk.ranked("Where is the orthodntist?")[0] == dentist
    assert talk.ranked("Which orthodontics?")[0] == lodge
