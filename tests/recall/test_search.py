"""Memory.search: ranked passages, for people and for interfaces."""

import pytest


@pytest.fixture(scope="module")
def filled(shared_memory):
    """Thirty facts, and a greyhound."""
    shared_memory.add([f"Fact number {i} is about a kettle." for i in range(30)], user="ann")
    shared_memory.add("I adopted a greyhound from the shelter.", user="ann")
    return shared_memory


def test_the_best_comes_first(filled):
    """In the order of the ranker, each word for word, with its score."""
    found = filled.search("greyhound from a shelter", user="ann")
    assert found[0].text == "I adopted a greyhound from the shelter."
    assert found[0].sources == (31,)
    scores = [unit.score for unit in found]
    assert scores == sorted(scores, reverse=True)


def test_long_passages_are_no_fewer(memory):
    """The limit counts passages, not tokens."""
    memory.add([f"Kettle {i}. " + "It whistles in the morning. " * 30 for i in range(5)], user="ann")
    assert len(memory.search("kettle", user="ann", limit=8)) == 8


def test_nobody_finds_anything_in_nothing(memory):
    """A user without messages, and an empty question."""
    assert memory.search("kettle", user="nobody") == ()
    memory.add("Kettle.", user="ann")
    assert len(memory.search("", user="ann")) == 1


def test_how_many_are_asked_for_changes_no_order(opened):
    """Only what is shown is looked up in the log, and what corrects a passage may have been offered later."""
    memory = opened()
    memory.add([f"The garden has {n} gravel paths." for n in range(30)], user="ann")
    (gate,) = memory.add("The garden gate is blue.", user="ann")
    memory.update(gate.seq, "By now the garden's colour is green.", user="ann")
    many = memory.search("garden gate", user="ann", limit=30)
    assert gate.content not in [unit.text for unit in many]
    for limit in (1, 2, 5):
        assert memory.search("garden gate", user="ann", limit=limit) == many[:limit]


def test_what_took_a_place_is_shown_as_it_was_corrected(memory):
    """Though it was offered too late to be looked up before what it replaced."""
    user = "zoe"
    stored = memory.add(["My manager is Ines Patel.", "Soup.", "My manager is Tom Lee now."], user=user)
    memory.maintain(user=user, views=["notes"])
    corrected = memory.update(stored[2].seq, "My manager is Tom Leigh now.", user=user)
    (first,) = memory.search("manager Patel", user=user, limit=1)
    assert (first.sources, first.text) == ((corrected.seq,), corrected.content)


@pytest.mark.parametrize("limit", [1, 7, 20, 31, 1000])
@pytest.mark.parametrize("query", ["kettle", "quantum chromodynamics"])
def test_as_many_as_are_wanted(filled, query, limit):
    """However little they have of the question, and no more than there are; 20 unless said otherwise."""
    assert len(filled.search(query, user="ann", limit=limit)) == min(limit, 31)
    assert len(filled.search(query, user="ann")) == 20
