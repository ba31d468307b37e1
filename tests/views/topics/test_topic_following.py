"""Chains through names, and values that a later entry of the same wording replaces."""

from __future__ import annotations

import pytest
from topic_shelves import facts, ranked, shelf

from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.read.fact_chains import follow
from zibaldone.views.topics.read.index import Casing
from zibaldone.views.topics.read.ranking import EntryHit
from zibaldone.views.topics.read.reader_h import offline

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


def found(question: str, *texts: str) -> tuple[EntryHit, ...]:
    """Result of offline reading among entries with these texts."""
    return offline(ranked(question, shelf(facts(texts))))


def test_a_chain_is_followed_through_names_that_the_question_does_not_have() -> None:
    """All three links stand before the capital of a country that nothing leads to, and say why."""
    hits = found(QUESTION, *CHAIN)
    order = [one.place.entry.text for one in hits]
    links = [order.index(CHAIN[n]) for n in (0, 2, 5)]
    assert max(links) < min(order.index(CHAIN[4]), order.index(CHAIN[6]))
    assert max(links) < 6
    assert hits[links[2]].why == "followed"
    later = [one.place.entry.text for one in found(QUESTION, *CHAIN, "Marta Kolm was born in Lindeby.")]
    assert later.index(CHAIN[4]) < later.index(CHAIN[5])  # a superseded link is not followed


def test_a_name_that_everything_has_leads_nowhere() -> None:
    """Else every question about somebody known would be answered with all that is known of them."""
    texts = [f"Jon Marlo likes dish number {n} of the menu." for n in range(60)]
    reasons = {one.why for one in found("What does Jon Marlo like?", *texts)}
    assert reasons == {"selected"}


def test_of_a_repeated_wording_the_later_value_holds() -> None:
    """The earlier one is marked with the seq of the later, and stands behind."""
    entries = found(
        "Which firm does Ada Brent work for?",
        "Ada Brent works for Acme Works.",
        "The moon was full over the lake.",
        "Ada Brent works for Globex Partners.",
    )
    first, second = entries[0], entries[-1]
    assert (first.place.entry.first, first.later, first.superseded) == (3, None, False)
    assert (second.place.entry.first, second.later, second.superseded) == (1, 3, True)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Ada Brent works for Acme Works.", "Cleo Vane works for Globex Partners."),
        ("Ada Brent works for Acme Works.", "Ada Brent dreams of Globex Partners."),
        ("Wow, Ada Brent, that is great!", "Wow, Ada Brent, that is awesome!"),
        ("Ada Brent works for Acme Works.", "Ada Brent works for Acme Works."),
    ],
)
def test_other_wordings_subjects_and_exclamations_replace_nothing(earlier: str, later: str) -> None:
    """Nobody is told that something no longer holds on so little."""
    marked = [one for one in found("What of Ada Brent?", earlier, "It rained.", later) if one.superseded]
    assert marked == []


def test_who_talks_is_no_link_of_a_chain() -> None:
    """People call each other by their names in every other message."""
    said = (
        "Hey Marta, I was in Lindeby.",
        "Marta, Lindeby is lovely.",
        "The capital of Norland is Skarholm.",
    )
    calls = Document(
        "topic-0001", body=tuple(Entry(text, n, source="Marta") for n, text in enumerate(said, 1))
    )
    question = ranked("Which harbour did Marta like?", shelf(calls))
    assert question.index.casing.names(question.question.text)[-1] == ("Marta",)
    assert follow(question).rows == ()


def test_names_are_what_the_memory_writes_with_a_capital() -> None:
    """The first word of a sentence only when it is one elsewhere, or another follows."""
    casing = Casing(
        texts=["We met Marta in Lyon.", "Schools in Lyon are good schools.", "Marta's cat sleeps."]
    )
    assert casing.names("Schools near Lyon teach Marta's cat.") == [("Lyon",), ("Marta",)]
    assert casing.names("Shadows of Katan is a book.") == [("Katan",)]
    assert ("Isle", "of", "Man") in casing.names("He sailed to the Isle of Man.")
