"""A question, read against what memory knows: words, people, days, aim."""

from datetime import UTC, date, datetime, time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import Scope, StaticEmbedder
from zibaldone.search.question import Aim, Question, parse_question
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex

TODAY = date(2024, 3, 1)
SPEAKERS = ("Caroline", "Melanie", "Will", "May", "José Ángel", "the Doctor")
STATIC = StaticEmbedder()


def midnight(day: date) -> datetime:
    """The time with which a day begins."""
    return datetime.combine(day, time(), UTC)


def index_of(*said: tuple[str, str, date]) -> UnitIndex:
    """An index of what (name, text) was said on which day."""
    index = UnitIndex(STATIC.dimension, STATIC)
    units = [
        Unit((seq,), 0, text, "message", 5, "s", "user", name, midnight(day))
        for seq, (name, text, day) in enumerate(said, 1)
    ]
    index.extend(units, STATIC.embed([unit.text for unit in units]))
    return index


MEMORY = index_of(*((name, "Hello.", TODAY) for name in SPEAKERS))


def ask(text: str, index: UnitIndex = MEMORY, now: date = TODAY, **options: object) -> Question:
    """Read a question against an index."""
    return parse_question(Question(text, Scope("ann"), 100, midnight(now), **options), index)


def days(*spans: tuple[date, date]) -> tuple[tuple[int, int], ...]:
    """Spans of days as ordinals."""
    return tuple((first.toordinal(), last.toordinal()) for first, last in spans)


def test_terms_are_the_content_words():
    """Without function words and names of speakers, stemmed; the surface forms stay for the embedder."""
    question = ask("What kind of paintings did she paint?")
    assert question.terms == (("kind", "kind"), ("paintings", "paint"), ("paint", "paint"))
    assert question.subject == "kind paintings paint"
    assert ask("Does Caroline like Vienna?").subject == "like vienna"
    assert ("犬が", "犬が") in ask("犬が好きですか").terms  # no spaces between words: pairs of characters


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
        ("What does Will think?", ("Will",)),
        ("Will's dog", ("Will",)),
        ("What will Caroline do?", ("Caroline",)),
        ("Who is the doctor of Caroline?", ("Caroline", "the Doctor")),
        ("What is the matter?", ()),
        ("Where did May go?", ("May",)),
        ("what may happen next", ()),
    ],
)
def test_the_speakers_that_a_question_names(text, named):
    """A part of a name is enough, in any case; a part of a word is not, nor what is not written as a name."""
    assert ask(text).speakers == named


def test_days_are_read_against_now():
    """Yesterday, in a question, is the day before it is asked."""
    assert ask("What did I do yesterday?").days == days((date(2024, 2, 29), date(2024, 2, 29)))
    assert ask("What did I do on 5 May 2023?").days == days((date(2023, 5, 5), date(2023, 5, 5)))
    assert ask("What did I do?").days == ()


def test_days_that_memory_knows_nothing_of_are_read_against_what_it_last_heard():
    """A July asked for long after the conversation is the July of the conversation."""
    old = index_of(("Ann", "Good evening.", date(2020, 9, 1)))
    assert ask("What did I do in July?", old).days == days((date(2020, 7, 1), date(2020, 7, 31)))


@given(st.text())
def test_any_text_can_be_read(text):
    """Nothing raises; terms are distinct, whoever is named did speak, and there is an aim."""
    question = ask(text)
    assert question.aim in Aim
    assert len({form for form, _ in question.terms}) == len(question.terms)
    assert set(question.speakers) <= set(SPEAKERS)


@pytest.mark.parametrize(
    ("text", "aim"),
    [
        ("Which bakery did I go to?", Aim.FACT),
        ("How did the race go?", Aim.FACT),
        ("Do you know where I parked?", Aim.FACT),
        ("Did you know that I moved?", Aim.FACT),
        ("Can you give me a summary of my house move?", Aim.OVERVIEW),
        ("In which order did I bring up my book club?", Aim.OVERVIEW),
        ("What happened in May?", Aim.OVERVIEW),
        ("Which hotel did you recommend?", Aim.SAID),
        ("What was your advice on the boiler?", Aim.SAID),
        ("Remind me what you said about it.", Aim.SAID),
    ],
)
def test_a_question_says_what_it_wants(text, aim):
    """What somebody said, something of every time, or the assistant's own words."""
    assert ask(text).aim is aim


def test_of_too_many_words_the_rarest_that_memory_has_are_kept():
    """A page is searched for what stands in memory, and not for all that is in it."""
    said = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}xq" for n in range(80)]
    index = index_of(*(("Ann", " ".join(said[n:]), TODAY) for n in range(80)))
    forms = {form for form, _ in ask(" ".join([*said, "unheard"]), index).terms}
    assert forms == set(said[:64])


def test_a_table_of_words_is_asked_for_the_content_words():
    """Function words only blur their mean; without any other there is no vector."""
    question = ask("Who plays the bassoon?").embedded(STATIC)
    np.testing.assert_array_equal(question.vector, STATIC.embed(["plays bassoon"])[0])
    assert ask("Who was it?").embedded(STATIC).vector is None
