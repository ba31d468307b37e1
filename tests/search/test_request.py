"""How a question wants to be answered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.search.request import Aim, aim_of


@pytest.mark.parametrize(
    ("question", "aim"),
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
def test_a_question_says_what_it_wants(question, aim):
    """What somebody said, something of every time, or the assistant's own words."""
    assert aim_of(question) is aim


@given(st.text())
def test_any_text_has_an_aim(text):
    """Nothing raises."""
    assert aim_of(text) in Aim


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_text_of_pages_is_read_by_its_ends(place):
    """What stands in its midst is pasted, as a rule."""
    pages, asked = "word " * 10_000, "What did you recommend?"
    assert aim_of(f"{asked} {pages}" if place == "before" else f"{pages} {asked}") is Aim.SAID
    assert aim_of(f"{pages} {asked} {pages}") is Aim.FACT
