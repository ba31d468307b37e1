"""What is put together for a question, and how much of the budget each part may take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.planning import plan
from zibaldone.search.request import Aim

FACT = "Who adopted a greyhound?"
OVERVIEW = "Give me a summary of my house move."
LIST = "How many books did I read?"
ADVICE = "Can you recommend a book?"


@pytest.mark.parametrize(
    ("question", "aim"), [(FACT, Aim.FACT), (OVERVIEW, Aim.OVERVIEW), (LIST, Aim.LIST), (ADVICE, Aim.ADVICE)]
)
def test_a_plan_has_the_aim_of_its_question(question, aim):
    """What the request says."""
    assert plan(question, 1000).aim is aim


def test_an_overview_and_a_list_get_lines_of_the_timeline():
    """Nobody else asks for the course of things, or for more of them than passages hold."""
    assert plan(OVERVIEW, 1000).timeline_tokens > plan(LIST, 1000).timeline_tokens > 0
    assert plan(FACT, 1000).timeline_tokens == plan(ADVICE, 1000).timeline_tokens == 0


def test_advice_gets_more_of_the_profile():
    """What suits somebody depends on who it is."""
    assert plan(ADVICE, 1000).standing_tokens > plan(FACT, 1000).standing_tokens > 0


def test_a_part_too_small_for_a_line_is_none():
    """All of a small budget is evidence's."""
    assert plan(FACT, 100).standing_tokens == 0
    assert plan(OVERVIEW, 40).timeline_tokens == 0


@given(st.sampled_from([FACT, OVERVIEW, LIST, ADVICE, ""]), st.integers(1, 100_000))
def test_evidence_has_room_in_every_plan(question, budget):
    """The other parts together leave some of any budget."""
    planned = plan(question, budget)
    assert 0 <= planned.standing_tokens + planned.timeline_tokens < budget
