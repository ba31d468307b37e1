"""What a model says is held against the very sources that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from zibaldone.text.faithfulness import SourceTexts, nearest, with_sources

SAID = (
    "I live in Oslo with two cats, Moss and Fern. I don't eat fish, but I love soup.",
    "I stopped smoking in March. My garden cost 300 dollars. I never went to Rome.",
)
TABLE = [
    line.split("\t")
    for line in (Path(__file__).parents[1] / "data" / "faithfulness.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(
    ("statement", "fault", "sources"), TABLE, ids=[f"{row[0]} {row[2]}" for row in TABLE]
)
def test_a_statement_is_held_against_its_sources(statement: str, fault: str, sources: str) -> None:
    """As each part of the table says."""
    given = SAID if sources == "SAID" else [source for source in sources.split(" || ") if source]
    refused = SourceTexts(given, "Ann 2023-05-08" if sources == "SAID" else "Ann").refusal(statement)
    assert bool(refused) == (fault != "-")
    assert fault in ("-", "*") or fault in refused


def test_keywords_deny_nothing() -> None:
    """Of a title or keyword only its words are asked."""
    given = SourceTexts(SAID)
    assert given.invented("fish, Rome, cats") == []
    assert given.invented("fish, yachts, Norway") == ["yachts", "norway"]


TALK = ("How are your turtles?", "They cost 90 euros.", "Nice!", "I have had them for 3 years.")


@pytest.mark.parametrize(
    ("statement", "sources", "fault"),
    [
        ("Ann has had them for 3 years.", [3], ""),
        ("Ann has had the turtles for 3 years.", [0, 3], ""),
        ("Ann has had the yachts for 3 years.", [3], "yachts"),
        ("Ann has had the 90 turtles.", [3], "90"),
    ],
)
def test_a_word_said_nearby_makes_that_a_source(statement: str, sources: list[int], fault: str) -> None:
    """So that the statement goes with it; a number is taken from nowhere else, and nothing is invented."""
    found, why = with_sources(
        statement, [3], nearest([3], range(4)), lambda some: SourceTexts([TALK[n] for n in some], "Ann")
    )
    assert found == sources
    assert fault in why if fault else not why


def test_what_is_said_nearby_turns_nothing_round() -> None:
    """The question says plainly what the answer that is named denies."""
    talk = ("Are you allergic to penicillin?", "No, not allergic.")
    found, why = with_sources(
        "Ann is allergic to penicillin.", [1], [0], lambda some: SourceTexts([talk[n] for n in some], "Ann")
    )
    assert (found, bool(why)) == ([1], True)


def test_what_is_said_far_away_is_no_source() -> None:
    """Nor what is named already."""
    assert nearest([10], range(30)) == [9, 11, 8, 12, 7, 13, 6, 14, 5, 15, 4, 16, 3, 17, 2, 18]
