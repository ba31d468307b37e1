"""Who states what of themselves, and what contradicts it."""

import pytest

from zibaldone.text.statements import statements, supersedes


def one(sentence, speaker="Ann"):
    """The only statement of a sentence."""
    (found,) = statements(sentence, speaker)
    return found


@pytest.mark.parametrize(
    ("earlier", "later", "is_another"),
    [
        ("I live in Paris.", "I just moved to Rome.", True),
        ("My favorite colour is blue.", "My favorite colour is now green!", True),
        ("My email address is ann@old.example", "My email address has changed to ann@new.example", True),
        ("I work for Siemens.", "I started working at Bosch", True),
        ("I'm 29 years old.", "I just turned 30.", True),
        ("Our budget is 900 euros.", "Our budget was changed to 700 euros.", True),
        ("I live in Paris.", "I live in Paris now, near the river.", False),
        ("My favorite colour is blue.", "My favorite food is soup.", False),
        ("I live in Paris.", "I work as a teacher.", False),
        ("My rent is 900 euros.", "My rent is 900", False),
    ],
)
def test_another_value_supersedes(earlier, later, is_another):
    """Of one subject and relation; more words on one value, or another attribute, contradict nothing."""
    assert supersedes(one(later), one(earlier)) is is_another


def test_another_speaker_contradicts_nobody():
    """Bea's home is not Ann's."""
    assert not supersedes(one("I live in Rome.", "Bea"), one("I live in Paris.", "Ann"))


@pytest.mark.parametrize(
    "sentence",
    [
        "Do I live in Paris?",
        "I would live in Paris.",
        "I never lived in Paris, but I used to live in Rome.",
        "My friend is Bea.",
        "She lives in Paris.",
        "If I live in Paris one day",
    ],
)
def test_what_is_not_plain_is_not_read(sentence):
    """Questions, hopes, denials, attributes of many values, and others' affairs."""
    assert statements(sentence, "Ann") == []
