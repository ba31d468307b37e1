"""Which sentences carry facts."""

import pytest

from zibaldone.text.salience import carries_fact, is_echo, is_phatic, names
from zibaldone.text.words import terms

FACTS = [
    "I moved to Lisbon.",
    "The rent is 900 euros.",
    "My sister plays the bassoon.",
    "It opens on Tuesday.",
]
FACTS += [
    "Did you see Marguerite in Vienna?",
    "The flat has a view of the river.",
    "犬が好きです。",
    "Мы переехали.",
]
FILLER = [
    "Hi!",
    "Thanks so much!",
    "Wow, that's awesome.",
    "Take care, bye!",
    "Sounds great.",
    "How nice!",
    "",
    "...",
]


@pytest.mark.parametrize("sentence", [*FACTS, *FILLER])
def test_which_sentences_carry_facts(sentence):
    """Names, numbers, statements, subjects, other scripts do; greetings, thanks, exclamations do not."""
    assert carries_fact(sentence) == (sentence in FACTS)
    assert is_phatic(sentence) == (sentence in FILLER)


def test_a_question_back_is_no_fact():
    """A question that names nothing says nothing; it is not mere politeness either."""
    assert not carries_fact("And your flat?")
    assert not is_phatic("And your flat?")


def test_names_are_runs_of_capitals():
    """Whole names, not the sentence's first word, the pronoun or a day of the week."""
    found = names("Yesterday I met Anna Karenina of Yasnaya Polyana on Monday, at Joe's.")
    assert found == ["Anna Karenina of Yasnaya Polyana", "Joe"]
    assert names("Lisbon is hot") == []
    assert names("Aunt Marge came") == ["Marge"]


def test_an_echo_says_nothing_of_its_own():
    """Only the other's words again; a word more, or one's own case, is no echo."""
    heard = set(terms("I joined the orchestra in Vienna"))
    assert is_echo("The orchestra in Vienna!", heard)
    assert not is_echo("The orchestra and the choir!", heard)
    assert not is_echo("I joined the orchestra too", heard)
