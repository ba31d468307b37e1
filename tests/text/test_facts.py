"""What the sentences of a conversation are worth, and which of them make one fact."""

from datetime import UTC, datetime

import pytest

from zibaldone.core import Message
from zibaldone.text.facts import Worth, facts_of, heard_before

NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)


def talk(*lines):
    """Messages of "Name: words", with seqs from 1."""
    pairs = [line.split(": ", 1) for line in lines]
    return [Message(words, name=name, time=NOON, seq=seq) for seq, (name, words) in enumerate(pairs, 1)]


def last_of(*lines):
    """The last message, and what was heard before it."""
    *_, (message, heard) = heard_before(talk(*lines))
    return message, heard


@pytest.mark.parametrize(
    ("line", "worth"),
    [
        ("Hey Ann! Thanks, Ann.", Worth.COURTESY),
        ("Good luck, Martha!", Worth.COURTESY),
        ("It was awesome!", Worth.PHRASE),
        ("The cello in Graz!", Worth.ECHO),
        ("What flavour?", Worth.ASIDE),
        ("100. 4711!", Worth.ASIDE),
        ("Did you buy that painting in a shop?", Worth.REMARK),
        ("Your garden has such lovely roses.", Worth.REMARK),
        ("Roses smell.", Worth.STATEMENT),
        ("I painted a boat.", Worth.NEWS),
        ("Your roses are from Portugal.", Worth.SPECIFIC),
    ],
)
def test_what_a_sentence_is_worth(line, worth):
    """From courtesies to what has a name in it; an echo is of what somebody else just said."""
    message, heard = last_of("Ann: My brother plays the cello in Graz.", f"Bea: {line}")
    assert {sentence.worth for sentence in heard.sentences_of(message)} == {worth}


def told(*lines, **how):
    """The texts of the facts of the last message."""
    return [fact.text for fact in facts_of(*last_of(*lines), **how)]


TALE = "Bea: Hey Ann! I ran a race. It was in Oslo. What a day! I like tea from Ceylon. Thanks!"


def test_a_fact_alone_and_with_what_is_said_besides():
    """What leans on it is always told with it; the rest, less courtesies, for who wants the whole."""
    assert told(TALE) == ["I ran a race. It was in Oslo.", "I like tea from Ceylon."]
    assert told(TALE, whole=True) == ["I ran a race. It was in Oslo. What a day!", "I like tea from Ceylon."]


def test_an_item_of_a_list_is_a_fact_of_its_own():
    """Without its mark, even where it would lean on the line before."""
    lines = "Bea: Plan:\n- I paint the boat red.\n- It needs 3 coats.\n12) The harbour of Oslo is near."
    assert told(lines, whole=True)[-3:] == [
        "I paint the boat red.",
        "It needs 3 coats.",
        "The harbour of Oslo is near.",
    ]


def test_thanks_for_a_question_answer_nothing():
    """They are short, and no fact; what leans on the question is an answer to it."""
    question = "Ann: How did the painting in the hall turn out?"
    assert told(question, "Bea: Thanks for the interest!") == []
    (fact,) = facts_of(*last_of(question, "Bea: It was gorgeous and huge!"))
    assert fact.question == "How did the painting in the hall turn out?"


def test_what_explains_itself_needs_no_question():
    """A yes with a sentence behind it is told without."""
    lines = "Ann: Have you done events for other causes?", "Bea: Yes, we helped a shelter for cats in Oslo."
    (fact,) = facts_of(*last_of(*lines), whole=True)
    assert fact.question == ""
