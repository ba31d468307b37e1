"""Facts of an episode, told so that they stand alone."""

import pytest
from hierarchy_talk import EMBEDDER, Known, talk
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.text.facts import facts
from zibaldone.text.sentences import sentences
from zibaldone.views.hierarchy.nodes import settle, statements


def texts(*lines):
    return [one.text for one in statements(talk(*lines))]


def learn(memory, messages, episode=1):
    """Distil the messages into the memory, as a view would."""
    background = memory.background(episode, len(memory.semantics) + 1)
    found = settle([[one] for one in statements(messages)], messages, background, EMBEDDER.embed)
    memory.semantics.extend(found.new)
    return found


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


def test_a_list_s_number_is_part_of_its_item():
    """Alone it is no fact, and it makes none of what stands behind it."""
    lines = "Tips:\n1. Hotels near Alfama cost 90 euros.\n2. Have fun!\n3. Tram 28 passes the castle.\n4."
    found = facts(talk(f"Bob: {lines}"))
    assert [one.verbatim for one in found] == [
        "1. Hotels near Alfama cost 90 euros.",
        "3. Tram 28 passes the castle.",
    ]


def test_a_number_alone_is_no_fact():
    """Unless it answers a question, which says what of."""
    assert texts("Ann: The rain is here.", "Bob: 100. 4711!") == []
    assert texts("Ann: How old is Rex the dog?", "Bob: 12.") == [
        'Asked "How old is Rex the dog?", Bob: "12."'
    ]


def test_the_name_of_whom_one_talks_to_makes_nothing_specific():
    """A nickname neither; the same sentence that names somebody else is a fact."""
    assert texts("Joanna: Hello.", "Bea: So proud of you, Jo!") == []
    assert len(texts("Joanna: Hello.", "Bea: So proud of you and Martha!")) == 1


def test_an_echo_is_no_fact():
    """Who only says again what the other said adds nothing."""
    assert texts("Ann: My brother plays the cello in Graz.", "Bea: The cello in Graz!")[1:] == []


def test_a_sentence_that_leans_on_another_is_one_fact_with_it():
    """It is understood with the sentence that it leans on."""
    (one,) = statements(talk("Bea: I bought a violin in Rome. It was made by an old master."))
    assert one.verbatim == "I bought a violin in Rome. It was made by an old master."


def test_a_short_answer_is_told_with_its_question():
    """The words are those of the answer alone."""
    (one,) = statements(talk("Ann: How long have you been married?", "Bea: Five years already!"))
    assert one.text == 'Asked "How long have you been married?", Bea: "Five years already!"'
    assert one.verbatim == "Five years already!"
    assert one.seq == 2
    assert set(one.sources) == {1, 2}


def test_a_question_told_with_an_answer_is_the_last_that_somebody_else_asked():
    """What stands between them is no source, and who asks and answers alone states nothing."""
    asked = "Ann: Which instrument does your sister play?"
    between = statements(talk("Bea: My sister Ida is here.", asked, "Bea: The harp."))
    assert [one.sources for one in between] == [(1,), (3, 2)]
    assert statements(talk("Bea: Which instrument does your sister play?", "Bea: The harp.")) == []


def test_yes_is_a_fact_when_the_question_carries_one():
    """And none to a question that carries nothing."""
    asked = ("Ann: Did you finish the marathon in Boston?", "Bea: Yes!")
    assert texts(*asked) == ['Asked "Did you finish the marathon in Boston?", Bea: "Yes!"']
    assert texts("Ann: Really?", "Bea: Yes!") == []


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
def test_every_fact_is_in_exactly_one_statement_of_one_semantic(conversation):
    """Word for word in its message; no sentence is in two, and none of the facts is lost."""
    messages, memory = talk(*lines_of(conversation)), Known()
    told = facts(messages)
    for message in messages:
        mine = [fact for fact in told if fact.message is message]
        for start, end in sentences(message.content):
            assert sum(fact.start <= start and end <= fact.end for fact in mine) <= 1
    found = learn(memory, messages)
    kept = [(one.seq, one.verbatim) for semantic in found.new for one in semantic.statements]
    assert sorted(kept) == sorted((fact.message.seq, fact.verbatim) for fact in told)
    content = {message.seq: message.content for message in messages}
    assert all(verbatim and verbatim in content[seq] for seq, verbatim in kept)


@settings(max_examples=30, deadline=None)
@given(conversations, conversations)
def test_what_is_known_loses_nothing_either(first, second):
    """Over two episodes, each fact is a statement of a new semantic."""
    memory = Known()
    learn(memory, talk(*lines_of(first)))
    before = len(memory.semantics)
    messages = talk(*lines_of(second))
    found = learn(memory, messages, episode=2)
    kept = [one for semantic in found.new for one in semantic.statements]
    assert len(kept) == len(facts(messages))
    assert [semantic.id for semantic in found.new] == list(range(before + 1, before + 1 + len(found.new)))
    assert found.vectors.shape == (len(found.new), 64)
