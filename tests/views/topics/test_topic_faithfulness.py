"""A rewriting is compared with what it was given, entry by entry."""

from __future__ import annotations

import pytest

from zibaldone.views.topics.consolidate.faithfulness import (
    LineWritten,
    check_extraction,
    check_kept,
    check_rewriting,
    specifics,
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


def check(*lines: LineWritten, superseded: tuple[tuple[int, int], ...] = ()) -> None:
    """Against all of GIVEN: those that no line names stand alone."""
    named = {number for line in lines for number in line.entries}
    check_rewriting(GIVEN, [*lines, *(one for n, one in ALONE.items() if n not in named)], superseded)


def test_moving_entries_about_is_faithful() -> None:
    """Any order of all of them."""
    check_rewriting(GIVEN, list(reversed(ALONE.values())), [])


def test_one_line_for_two_that_says_all_of_both_is_faithful() -> None:
    """With every name and number."""
    check(LineWritten((1, 2), "I live in Oslo with 2 cats, Moss and Fern."))


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([one for n, one in ALONE.items() if n != 3], "in no line"),
        ([*ALONE.values(), LineWritten((1,))], "more than one line"),
        ([*ALONE.values(), LineWritten((77,))], "no entries"),
        ([*ALONE.values(), LineWritten(())], "names no entries"),
    ],
)
def test_an_entry_lost_doubled_or_invented_is_found(lines: list[LineWritten], fault: str) -> None:
    """In words that a model can act on."""
    with pytest.raises(ValueError, match=fault):
        check_rewriting(GIVEN, lines, [])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (LineWritten((1, 2), "I live in Oslo with cats."), "leaves out"),
        (LineWritten((1, 2)), "leaves out"),
        (LineWritten((1,), "I live in Oslo with 3 cats."), "leaves out"),
        (LineWritten((1,), "I live in Oslo, Norway, with 2 cats."), "norway"),
        (LineWritten((3,), "I eat fish."), "opposite"),
        (LineWritten((1,), "I live in Oslo with 2 cats and enjoy long walks by the harbour."), "no entry"),
        (LineWritten((1, 3), "I live in Oslo with 2 cats and do not eat fish."), "different people"),
        (LineWritten((1, 5), "I live in Oslo with 2 cats and I live in Rome."), "different times"),
        (LineWritten((1, 6), "I live in Oslo with 2 cats and lived in Bern."), "superseded"),
    ],
)
def test_a_text_that_says_less_more_or_otherwise_is_found(line: LineWritten, fault: str) -> None:
    """Names, numbers, negations, speakers and times are kept apart and exact."""
    with pytest.raises(ValueError, match=fault):
        check(line)


def test_the_same_of_a_person_and_the_assistant_may_share_a_line() -> None:
    """They say the same; the person's words stay."""
    check(LineWritten((3, 4)))


def test_only_older_entries_are_superseded() -> None:
    """The newest holds, whatever a model thinks."""
    check(superseded=((1, 5),))
    for wrong in ((5, 1), (1, 1), (1, 77)):
        with pytest.raises(ValueError, match=r"supersede|superseded|both"):
            check(superseded=(wrong,))


@pytest.mark.parametrize(
    ("text", "found"),
    [("She met Ann Lee in 2023.", {"ann", "lee", "2023"}), ("Nothing here.", set()), ("007 cats", {"7"})],
)
def test_names_and_numbers_are_what_may_not_change(text: str, found: set[str]) -> None:
    """The first word of a sentence is capitalised whatever it means."""
    assert specifics(text) == found


def test_an_extraction_may_only_use_what_was_said() -> None:
    """Numbers may be written with or without leading zeros."""
    check_extraction(["The user was in Oslo on 7 May."], "I was in Oslo. May 2023-05-07")
    with pytest.raises(ValueError, match="rome"):
        check_extraction(["The user was in Rome."], "I was in Oslo.")


def test_a_fact_has_words() -> None:
    """An empty one is no fact."""
    with pytest.raises(ValueError, match="no text"):
        check_extraction([" "], "x")


def test_a_fact_is_made_of_what_was_said() -> None:
    """A few words of its own it may have, to be understood alone."""
    check_extraction(["The user lives in Oslo."], "user: I live in Oslo.")
    with pytest.raises(ValueError, match="yacht"):
        check_extraction(["Ann has a secret yacht"], "Ann: My garden cost 300 dollars.")


@pytest.mark.parametrize(
    ("said", "facts", "fault"),
    [
        ("I met Rosa Diaz.", [], "diaz"),
        ("My garden cost 300 dollars.", ["Ann has a garden."], "300"),
        ("I live in oslo.", ["Ann lives."], "oslo"),
        ("I live in oslo.", ["Ann lives in Oslo."], ""),
        ("I met Rosa Diaz, Melanie.", ["Ann met Rosa.", "She is called Diaz."], ""),
        ("I planted roses on the 7th.", ["Ann planted roses. 2024-03-07"], ""),
        ("I live in oslo since spring.", ["Ann lives in Oslo."], ""),
        ("I love roses.", [], ""),
    ],
)
def test_an_extraction_keeps_names_numbers_and_claims(said: str, facts: list[str], fault: str) -> None:
    """In any of the facts, or in its date; what nobody will look for may be left out, and who is called."""
    if not fault:
        check_kept(facts, [said], said, ("Ann", "Melanie"))
        return
    with pytest.raises(ValueError, match=fault):
        check_kept(facts, [said], said, ("Ann", "Melanie"))


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
        (("The capital of Norland is Ulm.", "Ann"), ("The capital of Norland is Ash.", "Bea"), True),
    ],
)
def test_an_entry_is_superseded_by_one_about_the_same(
    older: tuple[str, str | None], newer: tuple[str, str | None], *, fits: bool
) -> None:
    """Being older is not enough."""
    given = {n: Entry(text, first=n, source=who) for n, (text, who) in enumerate((older, newer), 1)}
    lines = [LineWritten((1,)), LineWritten((2,))]
    if fits:
        check_rewriting(given, lines, [(1, 2)])
        return
    with pytest.raises(ValueError, match="something else"):
        check_rewriting(given, lines, [(1, 2)])
