"""Facts of an episode, told so that they stand alone."""

import pytest
from hierarchy_talk import talk
from hypothesis import given, settings
from hypothesis import strategies as st
from zibaldone.text.facts import facts

from zibaldone.text.sentences import sentences
from zibaldone.views.hierarchy.nodes import statements


def texts(*lines):
    return [one.text for one in statements(talk(*lines))]


def test_a_fact_is_told_of_its_speaker_with_its_date():
    """And its words are kept as they stand."""
    (one,) = statements(talk("Bea: I adopted a puppy yesterday!"))
    assert one.text == 'Bea: "I adopted a puppy yesterday (7 May 2023)!"'
    assert one.verbatim == "I adopted a puppy yesterday!"


@pytest.mark.parametrize(
    "line",
    [
        "Bea: Hi Ann! How are you?",
        "Bea: Thanks, Ann! That's so sweet.",
        "Bea: You are such a brave and caring person.",
        "Bea: Wow, congrats!",
        "Bea: Where did you buy that painting?",
    ],
)
def test_courtesies_and_questions_are_no_facts(line):
    """They pass neither the test of utility nor that of persistence."""
    assert texts("Ann: Good to see you!", line) == []


def test_a_short_answer_is_told_with_its_question():
    """The words are those of the answer alone."""
    (one,) = statements(talk("Ann: How long have you been married?", "Bea: Five years already!"))
    assert one.text == 'Asked "How long have you been married?", Bea: "Five years already!"'
    assert one.verbatim == "Five years already!"
    assert one.seq == 2
    assert set(one.sources) == {1, 2}


def test_a_question_told_with_an_answer_is_the_last_that_somebody_else_asked():
    """A message between them is no source, and who asks and answers alone states nothing."""
    asked = "Ann: Which instrument does your sister play?"
    between = statements(talk("Bea: My sister Ida is here.", asked, "Bea: The harp."))
    assert [one.sources for one in between] == [(1,), (3, 2)]
    assert statements(talk("Bea: Which instrument does your sister play?", "Bea: The harp.")) == []


PARTS = (
    "I play the bassoon.",
    "It is old and heavy.",
    "My sister Eva lives in Graz.",
    "Thanks!",
    "Do you like plums?",
    "Yes, since 2019.",
    "I went to Rome yesterday.",
    "We sold the house in Linz. [image: a red house]",
    "你好，我住在上海。",
    "You rock",
)
conversations = st.lists(
    st.tuples(st.sampled_from(["Ann", "Bea"]), st.lists(st.sampled_from(PARTS), min_size=1, max_size=5)),
    min_size=1,
    max_size=10,
)


def lines_of(conversation):
    return [f"{name}: {' '.join(parts)}" for name, parts in conversation]


@settings(max_examples=60, deadline=None)
@given(conversations)
def test_every_fact_is_in_exactly_one_statement(conversation):
    """Word for word in its message; no sentence is in two, and none of the facts is lost."""
    messages = talk(*lines_of(conversation))
    told = facts(messages)
    for message in messages:
        mine = [fact for fact in told if fact.message is message]
        for start, end in sentences(message.content):
            assert sum(fact.start <= start and end <= fact.end for fact in mine) <= 1
    kept = [(one.seq, one.verbatim) for one in statements(messages)]
    assert sorted(kept) == sorted((fact.message.seq, fact.verbatim) for fact in told)
    content = {message.seq: message.content for message in messages}
    assert all(verbatim and verbatim in content[seq] for seq, verbatim in kept)
