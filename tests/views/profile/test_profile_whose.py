"""Whose words a clause is: what is reported, supposed, made up or asked to be written is no entry."""

import pytest

from zibaldone import Memory

NOTHING = [
    # reported
    "My neighbours say I am a vegetarian and I have four cats.",
    "According to this quiz I prefer mountains and I hate beaches.",
    "I thought I was allergic to pollen.",
    # supposed
    "Assume I live in Denmark and I have two kids.",
    "Imagine we decided to move to Lima and I have a dog.",
    "It's not as if I hate the sea and I prefer trains.",
    # made up, or asked to be written
    "In my novel, I live in a tower and I have a raven called Poe.",
    "A motto for the firm: we never sleep, I have ten years of experience.",
    "Translate into Greek: I am a nurse, I have two sons and I prefer tea.",
    "Write a poem about a king who always answers in French.",
    "Tell me a story where nobody ever uses emojis.",
    "Let's role-play. I have a shop and I prefer cash.",
    "You are the doctor, I'm the patient. I have asthma and I take warfarin.",
    "I need a prompt for our support bot. Always answer in Polish. Never use emojis.",
    # for one answer
    "Please don't use any tables in the summary.",
    # the same in other languages
    "Meine Nachbarn behaupten gern, ich bin Vegetarier.",
    "In meinem Traum wohne ich in Lima.",
    "Usa siempre el mismo abrigo, mi tío.",
    "En mi cuento soy vegetariano y vivo en Lima.",
    "Selon le test, je suis allergique au lait.",
    "No meu conto chamo-me Rui.",
]
READ = [
    ("My neighbours say I'm strange, but I prefer tea to coffee.", "preference"),
    ("My doctor says I have asthma.", "fact"),
    ("If it matters, I prefer trains to buses.", "preference"),
    ("As I told the clinic, I'm allergic to penicillin.", "preference"),
    ("Write a poem about a king. From now on always answer in French.", "instruction"),
    ("You are an expert cook. I'm vegetarian.", "fact"),
    ("Quick note: I'm a nurse.", "fact"),
    ("I wonder if my decision to keep the van was right.", "decision"),
    ("Mein Arzt sagt, ich habe Diabetes.", "fact"),
    ("Usa siempre gramos.", "instruction"),
]


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path) as memory:
        yield memory


def kinds(memory, text):
    memory.add([{"role": "user", "content": text}], user="ann")
    return {entry.kind for entry in memory.profile("ann").entries()}


@pytest.mark.parametrize("text", NOTHING)
def test_what_the_speaker_does_not_say_of_themselves_is_no_entry(memory, text):
    """Whoever else says it, supposes it, plays it or has it written."""
    assert kinds(memory, text) == set()


@pytest.mark.parametrize(("text", "kind"), READ)
def test_what_stands_beside_such_a_clause_is_read(memory, text, kind):
    """A report ends at "but", a condition at its comma, and one believes one's doctor."""
    assert kind in kinds(memory, text)
