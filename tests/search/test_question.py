"""A question, taken apart: words, people, days."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.question import Question, take_apart

TODAY = date(2024, 3, 1)
SPEAKERS = ("Caroline", "Melanie", "Will", "May", "José Ángel", "the Doctor")


def ask(text: str, today: date = TODAY, knows_of=lambda first, last: True, newest: date = TODAY) -> Question:
    """Take a question apart among some who spoke."""
    return take_apart(text, SPEAKERS, today, knows_of, newest)


def days(*spans: tuple[date, date]) -> tuple[tuple[int, int], ...]:
    """Spans of days as ordinals."""
    return tuple((first.toordinal(), last.toordinal()) for first, last in spans)


def test_terms_are_the_content_words():
    """Function words are left out, the rest is stemmed, and the surface forms stay for the embedder."""
    question = ask("What kind of paintings did she paint?")
    assert question.terms == (("kind", "kind"), ("paintings", "paint"), ("paint", "paint"))
    assert question.subject == "kind paintings paint"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("When did Caroline go?", ("Caroline",)),
        ("what does CAROLINE like", ("Caroline",)),
        ("Did Melanie's dog meet Caroline's cat?", ("Caroline", "Melanie")),
        ("Has José moved?", ("José Ángel",)),
        ("Where is ángel?", ("José Ángel",)),
        ("Who is Carol?", ()),
        ("", ()),
    ],
)
def test_the_speakers_that_a_question_names(text, named):
    """A part of a name is enough, in any case, and with an apostrophe behind it; a part of a word is not."""
    assert ask(text).speakers == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What does Will think?", ("Will",)),
        ("Will's dog", ("Will",)),
        ("What will Caroline do?", ("Caroline",)),
        ("Who is the doctor of Caroline?", ("Caroline", "the Doctor")),
        ("What is the matter?", ()),
        ("Where did May go?", ("May",)),
    ],
)
def test_names_that_are_also_words(text, named):
    """A function word names somebody only when it is written as a name."""
    assert ask(text).speakers == named


def test_may_in_small_letters_is_nobody():
    """The month and the verb are May only when written so."""
    assert ask("what may happen next").speakers == ()


def test_the_name_of_a_speaker_is_no_term():
    """Whom a question names tells who said it, not what was said."""
    assert [form for form, _ in ask("Does Caroline like Vienna?").terms] == ["like", "vienna"]


def test_days_are_read_against_now():
    """Yesterday, in a question, is the day before it is asked."""
    assert ask("What did I do yesterday?").days == days((date(2024, 2, 29), date(2024, 2, 29)))
    assert ask("What did I do on 5 May 2023?").days == days((date(2023, 5, 5), date(2023, 5, 5)))
    assert ask("What did I do?").days == ()


def test_days_that_memory_knows_nothing_of_are_read_against_what_it_last_heard():
    """A July asked for long after the conversation is the July of the conversation."""
    question = ask("What happened in July?", knows_of=lambda first, last: False, newest=date(2020, 9, 1))
    assert question.days == days((date(2020, 7, 1), date(2020, 7, 31)))


def test_other_scripts_are_questions_too():
    """Words of a script without spaces become pairs of characters."""
    assert ("犬が", "犬が") in ask("犬が好きですか").terms


@given(st.text())
def test_any_text_can_be_taken_apart(text):
    """Nothing raises; terms are distinct, and whoever is named did speak."""
    question = ask(text)
    assert len({form for form, _ in question.terms}) == len(question.terms)
    assert set(question.speakers) <= set(SPEAKERS)
