"""Kinds that a question asks for, and what belongs to them."""

import pytest

from zibaldone.text.kinds import asked_kinds, kind_named
from zibaldone.text.remembered import forget_texts


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What reptiles does Ana keep?", "reptiles"),
        ("which board games did we buy", "board games"),
        ("How many bicycles are there?", "bicycles"),
        ("Do I have any allergies?", "allergies"),
        ("Does Tom own a boat?", "boat"),
        ("What are my hobbies?", "hobbies"),
        ("What kinds of cheese do I like?", "cheese"),
    ],
)
def test_a_question_s_kind_is_read_from_its_grammar(question, first):
    """The noun behind "which", "how many", "any" and their like, with what narrows it."""
    assert asked_kinds(question)[0] == first


@pytest.mark.parametrize("question", ["When did I move?", "Where is the boat?", "What is it?", "Who is Tom?"])
def test_a_question_for_one_thing_asks_for_no_kind(question):
    """A time, a place and a person are asked for otherwise."""
    assert asked_kinds(question) == ()


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("reptiles", "tortois"),
        ("countries", "peru"),
        ("insects", "beetl"),
        ("pets", "gerbil"),  # nothing lies below "pet": what lies below "animal" counts
        ("dogs", "labrador"),  # short for "Labrador retriever"
        ("instruments", "bassoon"),  # short for "musical instruments"
        ("sports", "swim"),  # the stem of "swimming"
    ],
)
def test_members_of_a_kind_are_known_by_their_terms(kind, member):
    """Whatever lies below a kind, however deep."""
    assert (member,) in kind_named(kind).names


def test_names_of_several_words_are_members_too():
    """All of their terms, in order."""
    assert ("ice", "cream") in kind_named("desserts").names


@pytest.mark.parametrize(
    ("kind", "word"),
    [("countries", "us"), ("animals", "say"), ("instruments", "tortois"), ("pets", "bassoon")],
)
def test_a_word_that_mostly_means_something_else_is_no_member(kind, word):
    """Function words, verbs and other things."""
    assert (word,) not in kind_named(kind).names


@pytest.mark.parametrize("kind", ["things", "events", "zorblats", "called", "painted"])
def test_what_anything_may_be_is_no_kind(kind):
    """Nor is what nobody knows, nor a participle, though its stem is that of a noun ("calling")."""
    assert kind_named(kind) is None


def test_words_of_a_question_are_kept_no_longer_than_others():
    """They may be of what is to be forgotten."""
    kind_named("zorblats")
    forget_texts()
    assert kind_named.cache_info().currsize == 0
