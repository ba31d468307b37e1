"""A rewriting is compared with what it was given, entry by entry."""

from __future__ import annotations

import pytest

from zibaldone.views.topics.consolidate.rewrite_checks import (
    LineWritten,
    faithful,
    left_out,
    line_fault,
    may_supersede,
    placed_once,
)
from zibaldone.views.topics.markdown.entry import AI, Entry, When

DAY = When("2023-05-08")
GIVEN = {
    1: Entry("I live in Oslo with 2 cats.", first=1, time=DAY),
    2: Entry("I live in Oslo with the cats Moss and Fern.", first=2, time=DAY),
    3: Entry("I do not eat fish.", first=3, time=DAY, source="Ann"),
    4: Entry("I do not eat fish.", first=4, time=DAY, source=AI),
    5: Entry("I live in Rome.", first=5, time=When("2023-06-01")),
    6: Entry("I lived in Bern.", first=6, time=DAY, superseded_by=(9,)),
}
ALONE = {number: LineWritten((number,)) for number in GIVEN}


def fault(line: LineWritten) -> str:
    return line_fault(line, [GIVEN[number] for number in line.entries])


def test_an_entry_has_its_first_place_only() -> None:
    """An entry that was not given has none, and a text for several is none for a part of them."""
    sections = [
        [LineWritten((1,)), LineWritten((77,)), LineWritten(())],
        [LineWritten((1, 2), "Both."), ALONE[3]],
    ]
    placed, faults = placed_once(GIVEN, sections)
    assert placed == [[LineWritten((1,))], [LineWritten((2,)), ALONE[3]]]
    assert len(faults) == 3


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (LineWritten((1, 2), "I live in Oslo with cats."), "leaves out"),
        (LineWritten((1, 2)), "leaves out"),
        (LineWritten((1,), "I live in Oslo with 3 cats."), "leaves out"),
        (LineWritten((1,), "I live in Oslo, Norway, with 2 cats."), "norway"),
        (LineWritten((3,), "I eat fish."), "opposite"),
        (LineWritten((1,), "I do not live in Oslo with 2 cats."), "opposite"),
        (LineWritten((1,), "I live in Oslo with 2 lovely cats."), "lovely"),
        (LineWritten((1, 3), "I live in Oslo with 2 cats and do not eat fish."), "different people"),
        (LineWritten((1, 5), "I live in Oslo with 2 cats and I live in Rome."), "different times"),
        (LineWritten((1, 6), "I live in Oslo with 2 cats and lived in Bern."), "superseded"),
    ],
)
def test_a_text_that_says_less_more_or_otherwise_is_not_taken(line: LineWritten, why: str) -> None:
    """Its entries keep their own words, each in a line of its own."""
    assert why in fault(line)
    assert faithful(GIVEN, line) == [LineWritten((number,)) for number in line.entries]


def test_only_older_entries_are_superseded() -> None:
    """The newest holds, whatever a model thinks."""
    assert may_supersede(GIVEN, 1, 5)
    assert not any(may_supersede(GIVEN, *wrong) for wrong in ((5, 1), (1, 1), (1, 77)))


@pytest.mark.parametrize(
    ("said", "facts", "lost"),
    [
        ("I met Rosa Diaz.", [], True),
        ("My garden cost 300 dollars.", ["Ann has a garden."], True),
        ("I met Rosa Diaz, Melanie.", ["Ann met Rosa.", "She is called Diaz."], False),
        ("I planted roses on the 7th.", ["Ann planted roses. 2024-03-07"], False),
        ("I love roses.", [], False),
    ],
)
def test_an_extraction_keeps_names_and_numbers(said: str, facts: list[str], *, lost: bool) -> None:
    """In any of the facts, or in its date; what nobody will look for may be left out, and who is called."""
    told = [Entry(fact) for fact in facts]
    assert bool(left_out(told, [Entry(said)], said, ("Ann", "Melanie"))) == lost


@pytest.mark.parametrize(
    ("older", "newer", "fits"),
    [
        (("Ann lives in Rome.", "Ann"), ("Ann likes tea.", "Ann"), False),
        (("Ann lives in Rome.", None), ("Ann likes tea.", None), False),
        (("Ann lives in Rome.", "Bea"), ("Ann likes tea.", "Ann"), False),
        (("I live in Rome.", "Ann"), ("I live in Oslo.", "Bea"), False),
        (("I bought roses (2023-05-07).", "Ann"), ("I painted a boat (2023-06-07).", "Ann"), False),
        (("Ann lives in Rome.", None), ("Ann moved from Rome to Oslo.", None), True),
        (("I live in Rome.", "Ann"), ("I moved from Rome to Oslo.", "Ann"), True),
        (("I live in Rome.", "Ann"), ("Ann moved from Rome to Oslo.", "Bea"), True),
        (("I ordered chairs for the workshop, 20 of them.", "Ann"), ("Make that 30.", "Ann"), True),
        (("I ordered chairs for the workshop, 20 of them.", "Ann"), ("Make that 30.", "Bea"), False),
        (("The capital of Norland is Ulm.", "Ann"), ("The capital of Norland is Ash.", "Bea"), True),
    ],
)
def test_an_entry_is_superseded_by_one_about_the_same(
    older: tuple[str, str | None], newer: tuple[str, str | None], *, fits: bool
) -> None:
    """Being older is not enough."""
    given = {n: Entry(text, first=n, source=who) for n, (text, who) in enumerate((older, newer), 1)}
    assert may_supersede(given, 1, 2) == fits
