"""Chains through names, and values that a later entry of the same wording replaces, as recalls show them."""

from __future__ import annotations

import pytest

from zibaldone import Message
from zibaldone.views.topics.read.index import Casing

CHAIN = (
    "Marta Kolm was born in Ostrava Nova.",
    "Petr Anders was born in Lindeby.",
    "Ostrava Nova is a town in Veldria.",
    "Lindeby is a town in Norland.",
    "The capital of Norland is Skarholm.",
    "The capital of Veldria is Tirmont.",
    "The capital of Estavia is Brennick.",
    *(f"Somebody bought {n} apples for the kitchen." for n in range(20)),
)
QUESTION = "What is the capital of the country in which the birthplace of Marta Kolm lies?"


@pytest.fixture
def found(opened):
    """The text of a recall among messages with these texts."""

    def found(question: str, *said: str | Message, budget_tokens: int = 1000) -> str:
        memory = opened()
        memory.add(list(said), user="ann")
        recalled = memory.recall(
            question, user="ann", views=["topics"], budget_tokens=budget_tokens, min_confidence=0
        )
        return recalled.text

    return found


@pytest.mark.parametrize(
    ("more", "links", "others"),
    [
        ((), (CHAIN[0], CHAIN[2], CHAIN[5]), (CHAIN[4], CHAIN[6])),
        # a superseded link is not followed
        (("Marta Kolm was born in Lindeby.",), (CHAIN[3], CHAIN[4]), (CHAIN[2], CHAIN[5])),
    ],
)
def test_a_chain_is_followed_through_names_that_the_question_does_not_have(found, more, links, others):
    """Its links come before the capital of a country that nothing leads to."""
    text = found(QUESTION, *CHAIN, *more, budget_tokens=60)
    assert all(link in text for link in links)
    assert not any(other in text for other in others)


def test_a_name_that_everything_has_leads_nowhere(found):
    """Else every question about somebody known would be answered with all that is known of them."""
    dishes = [f"Jon Marlo likes dish number {n} of the menu." for n in range(60)]
    races = [f"Boat race number {n} starts at the old pier." for n in range(8)]
    text = found("Where does the boat race of Jon Marlo start?", *dishes, *races, budget_tokens=110)
    assert "Jon" not in text


def test_of_a_repeated_wording_the_later_value_holds(found):
    """The earlier one is marked."""
    text = found(
        "Which firm does Ada Brent work for?",
        "Ada Brent works for Acme Works.",
        "The moon was full over the lake.",
        "Ada Brent works for Globex Partners.",
    )
    assert "Acme Works [superseded]." in text
    assert "Globex Partners." in text


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Ada Brent works for Acme Works.", "Cleo Vane works for Globex Partners."),
        ("Ada Brent works for Acme Works.", "Ada Brent dreams of Globex Partners."),
        ("Wow, Ada Brent, that is great!", "Wow, Ada Brent, that is awesome!"),
        ("Ada Brent works for Acme Works.", "Ada Brent works for Acme Works."),
    ],
)
def test_other_wordings_subjects_and_exclamations_replace_nothing(found, earlier, later):
    """Nobody is told that something no longer holds on so little."""
    text = found("What of Ada Brent?", earlier, "It rained.", later)
    assert later in text
    assert "superseded" not in text


def test_who_talks_is_no_link_of_a_chain(found):
    """People call each other by their names in every other message."""
    calls = [f"Marta, Lindeby is lovely in week {n}." for n in range(8)]
    harbours = [f"The harbour of island {n} is old." for n in range(8)]
    said = [Message(text, name="Marta") for text in (*calls, *harbours)]
    text = found("Which harbour of an island did Marta like?", *said, budget_tokens=110)
    assert "Lindeby" not in text


def test_names_are_what_the_memory_writes_with_a_capital() -> None:
    """The first word of a sentence only when it is one elsewhere, or another follows."""
    casing = Casing(
        texts=["We met Marta in Lyon.", "Schools in Lyon are good schools.", "Marta's cat sleeps."]
    )
    assert casing.names("Schools near Lyon teach Marta's cat.") == [("Lyon",), ("Marta",)]
    assert casing.names("Shadows of Katan is a book.") == [("Katan",)]
    assert ("Isle", "of", "Man") in casing.names("He sailed to the Isle of Man.")
