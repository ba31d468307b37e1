"""What people ask about themselves is answered by what they told in other words."""

import pytest

FILLER = "What is a fair price for curtains?"


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("i moved to Ghent last week, third floor no lift", "where do I live"),
        ("hi, frieda here, 71, learning to use this phone", "how old am i?"),
        ("hi, frieda here, 71, learning to use this phone", "what's my name"),
        ("on my feet all day at the salon, need better shoes", "What do I do for work?"),
        ("91.2 this morning", "what do i weigh now"),
        ("guten tag, ich bin Frieda, 71, und lerne das Handy", "Wie alt bin ich?"),
    ],
)
def test_a_young_memory_answers_what_is_asked_about_oneself(memory, said, question):
    """With the floor as it is by default, under which nothing is recalled."""
    memory.add([said, {"role": "assistant", "content": "Fine, tell me more."}, FILLER], user="ann")
    assert said in memory.recall(question, user="ann", budget_tokens=300).text


@pytest.mark.parametrize("question", ["what's my blood type?", "What is my passport number?"])
def test_what_nobody_told_is_still_unknown(memory, question):
    memory.add(["i moved to Ghent last week, third floor no lift", FILLER], user="ann")
    assert not memory.recall(question, user="ann", budget_tokens=300).tokens


def test_among_many_messages_what_tells_comes_first(talk):
    talk.fill()
    talk.say("[a] Ann: The cat next door lives on the roof.")
    (moved,) = talk.say("[b] Ann: just moved to Ghent, boxes everywhere")
    talk.fill()
    assert talk.ranked("Where do I live?")[0] == moved


def test_of_a_named_speaker_it_is_what_they_told(talk):
    talk.fill()
    talk.say("[a] Bea: The cat next door lives on the roof.")
    _, moved = talk.say("[b] Zed: We just moved to Split.", "[c] Bea: just moved to Riga, boxes everywhere")
    talk.fill()
    assert talk.ranked("Where does Bea live?")[0] == moved
