"""Allergies, diets, medicines and disabilities come with advice on what they bear on."""

import pytest

from zibaldone import Memory, Message
from zibaldone.core import PROFILE
from zibaldone.views.profile.constraints import areas_of


@pytest.mark.parametrize(
    ("statement", "areas"),
    [
        ("I'm severely allergic to shellfish.", {"food"}),
        ("I don't eat pork, and my son Tim has a peanut allergy.", {"food"}),
        ("I've been vegan since college.", {"food"}),
        ("I take 20 mg of lisinopril every morning.", {"medicine", "alcohol"}),
        ("I'm allergic to penicillin.", {"medicine"}),
        ("I have a bad knee.", {"exercise"}),
        ("I'm in a wheelchair, so stairs are out.", {"travel", "exercise"}),
        ("I wear hearing aids.", {"hearing"}),
        ("I'm colour-blind.", {"sight"}),
        ("I'm allergic to cats.", {"animals"}),
        ("I'm allergic to figs, latex and cow's milk.", {"medicine", "food"}),
        ("I take insulin to manage my diabetes.", {"medicine", "alcohol"}),
        ("My wife's vegan, and I use a wheelchair for longer distances.", {"food", "travel", "exercise"}),
    ],
)
def test_a_constraint_bears_on_areas(statement, areas):
    """Whatever its words are."""
    assert areas_of(statement) == areas


@pytest.mark.parametrize(
    "statement",
    [
        "I'm allergic to meetings.",
        "I can't eat another bite.",
        "I don't eat out much.",
        "I'm no longer vegetarian.",
        "I'm vegetarian for a week.",
        "I'm not eating meat tonight.",
        "I used to be diabetic.",
        "My brother's friend is vegetarian.",
        "I'm writing a vegan cookbook.",
        "I can't walk the dog today.",
        "If I'm pregnant, I'll tell you.",
        "I have a cat and a dog.",
        "I'm blind to fashion.",
        "I'm deaf to his complaints.",
        "My wife's vegan friend is coming over.",
        "My daughter's pregnant teacher left.",
        "I'm a vegan chef, but we're vegetarian-friendly.",
        "I have diabetes patients all day.",
        "I use LaTeX for my papers.",
        "We use lithium batteries in the shed.",
        "I need a walker for Rex.",
        "I'm allergic to people who eat fish.",
        "I'm sensitive to the price of eggs.",
        "I don't eat alone.",
    ],
)
def test_what_constrains_nobody_bears_on_nothing(statement):
    """A figure of speech, a thing of the past, somebody else, an evening, a word before a noun."""
    assert not areas_of(statement)


@pytest.mark.parametrize(
    "note",
    ["User is vegetarian.", "Peanut allergy.", "Diet: vegan", "Doesn't eat meat.", "Ann keeps kosher."],
)
def test_a_note_of_the_user_needs_no_subject(note):
    """What a program remembers is told of its user, in its own words; a person says "I"."""
    assert areas_of(note, noted=True) == {"food"}


def test_a_note_that_denies_constrains_nothing():
    """What is no longer so, or never was."""
    for note in ("User is no longer vegan.", "User is not allergic to anything.", "Likes vegan restaurants."):
        assert not areas_of(note, noted=True)


TOLD = {PROFILE: "fact"}


@pytest.fixture
def memory(tmp_path):
    """A constraint from a chat, two from what a program remembers, and other facts."""
    with Memory(tmp_path / "memory") as opened:
        notes = ["User is vegetarian.", "Uses a wheelchair.", "Lives in Oslo with two kids."]
        opened.add([Message(note, session="told", metadata=TOLD) for note in notes], user="ann")
        opened.add(["I take warfarin every evening.", "I drive a Nissan Leaf."], user="ann")
        yield opened


def standing(memory, question):
    """What stands in the recall."""
    found = memory.recall(question, user="ann", floor=0)
    return {unit.text for unit in found.evidence if unit.standing}


@pytest.mark.parametrize("maintained", [False, True])
def test_constraints_come_with_advice_on_their_area(memory, maintained):
    """No word is shared; the others stay away."""
    if maintained:
        memory.maintain(user="ann")
    assert standing(memory, "What should I cook tonight?") == {"User is vegetarian."}
    assert standing(memory, "What can I take for a headache?") == {"I take warfarin every evening."}
    assert standing(memory, "Can you recommend a hotel in Lisbon?") == {"Uses a wheelchair."}
    assert standing(memory, "How can I learn Python quickly?") == set()


def test_constraints_are_for_advice(memory):
    """Not for what is asked of the past, though it is about food."""
    assert standing(memory, "When did Nate attend a cooking show?") == set()


@pytest.mark.parametrize(
    "question",
    [
        "Can you run this script and tell me what it prints?",
        "Make a table of the results by month.",
        "How do I get rid of cookies in Firefox?",
        "Could you walk me through this contract?",
        "How do I travel back in the git history?",
    ],
)
def test_a_word_of_an_area_does_not_make_a_question_of_it(memory, question):
    """What is nearer to something that constrains nobody is not of the area."""
    assert standing(memory, question) == set()


def test_an_edited_constraint_is_matched_by_its_new_words(memory):
    """A person's words count as a program's do, and a retired one constrains nothing."""
    profile = memory.profile("ann")
    diet, chair = profile.entries()[:2]
    profile.edit(diet, "Eats vegan, keeps kosher.")
    profile.retire(chair)
    assert standing(memory, "What should I cook tonight?") == {"Eats vegan, keeps kosher."}
    assert standing(memory, "Can you recommend a hotel in Lisbon?") == set()
