"""Facts of an episode, told so that they stand alone."""

from hierarchy_talk import talk
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms
from zibaldone.views.hierarchy.nodes import statements


def test_a_fact_is_told_of_its_speaker_with_its_date():
    """And its words are kept as they stand."""
    (one,) = statements(talk("Bea: I adopted a puppy yesterday!"))
    assert one.text == 'Bea: "I adopted a puppy yesterday (7 May 2023)!"'
    assert one.verbatim == "I adopted a puppy yesterday!"


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
def test_every_sentence_is_one_statement(conversation):
    """Word for word in its message, in order, but for those without a content word."""
    messages = talk(*lines_of(conversation))
    said = [(one.seq, one.content[slice(*span)]) for one in messages for span in sentences(one.content)]
    kept = [(one.seq, one.verbatim) for one in statements(messages)]
    assert kept == [(seq, words) for seq, words in said if terms(words)]
