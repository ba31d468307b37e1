"""The forms in which people state something, read without a model: a table, and whose words count."""

import pytest

from zibaldone import Message
from zibaldone.core import NOISE
from zibaldone.views.notes.stated import kind_stated, stated

NOTED = [
    ("Always answer in metric units.", "instruction"),
    ("Please always cite your sources.", "instruction"),
    ("Never use emojis in my reports.", "instruction"),
    ("You should never book red-eye flights for me.", "instruction"),
    ("And never mention my ex in drafts.", "instruction"),
    ("From now on, reply in French.", "instruction"),
    ("From now on call me Bo.", "instruction"),
    ("Keep it under ten lines from now on.", "instruction"),
    ("Remember that Ida is my sister.", "fact"),
    ("Please remember that the alarm code changed in May.", "fact"),
    ("Remember that I'm allergic to latex.", "constraint"),
    ("I'm allergic to peanuts.", "constraint"),
    ("I am severely allergic to penicillin.", "constraint"),
    ("I have a walnut allergy.", "constraint"),
    ("My son Tim is allergic to eggs.", "constraint"),
    ("My daughter has a shellfish allergy.", "constraint"),
    ("I prefer trains to planes.", "preference"),
    ("I generally prefer short answers.", "preference"),
    ("My name is Ottoline Bauer.", "fact"),
    ("I live in Oslo.", "fact"),
    ("I just moved to Bergen.", "fact"),
    ("I work at the harbour office.", "fact"),
    ("My manager is Ines Patel.", "fact"),
    ("From now on I work at Globex.", "fact"),
]
NOT_NOTED = [
    "Never mind.",
    "Never again!",
    "I never eat there.",
    "Never been to Spain, sadly.",
    "Never seen such rain before.",
    "Always wanted to see Rome.",
    "Always happy to help you out.",
    "Do you remember that bar in Porto?",
    "I remember that we met in May.",
    "Remember that night when we got lost?",
    "Remember that time we missed the train.",
    "I'm not allergic to anything.",
    "If I were allergic to cats, I'd move.",
    "He told me that bread is cheap.",
    "Maybe I prefer tea.",
    "I would prefer not to say.",
    "My friend is Ola.",
    "The soup was lovely.",
    "Thanks, that helps a lot.",
    "What is the capital of Mongolia?",
]


@pytest.mark.parametrize(("sentence", "kind"), NOTED)
def test_what_is_stated_is_a_note(sentence, kind):
    """A note has the kind that its form tells, word for word."""
    assert kind_stated(sentence) == kind
    (note,) = stated(Message(f"Hi there. {sentence}"))
    assert (note.kind, f"Hi there. {sentence}"[note.start : note.end]) == (kind, sentence)


@pytest.mark.parametrize("sentence", NOT_NOTED)
def test_what_is_not_plainly_stated_is_none(sentence):
    """A memory that says too little can be added to; one that says too much is not believed."""
    assert stated(Message(sentence)) == []


@pytest.mark.parametrize(
    "message",
    [
        Message("Always answer in French.", role="assistant"),
        Message("Always answer in French.", role="tool"),
        Message("Always answer in French.", role="system"),
        Message("Always answer in French.", metadata={NOISE: "hidden"}),
        Message("Always answer in French.", name="Bea"),  # people tell each other no rules of ours
    ],
)
def test_nobody_else_gives_a_rule(message):
    """Neither a machine, nor what was hidden, nor one person to another."""
    assert stated(message) == []


def test_a_sentence_that_says_two_things_is_not_ended_whole(memory):
    """The rent has changed, and the town has not."""
    memory.add(["I live in Ulm and my rent is 900 euros.", "My rent is 950 euros now."], user="ann")
    memory.maintain()
    assert all(note.holds for note in memory.user("ann").profile.entries())
    assert "no longer holds" not in memory.recall("What is my rent?", user="ann", min_confidence=0).text
