"""What is put together for a question, and how much of the budget each part may take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.recall.planning import plan
from zibaldone.search.request import Aim

FACT = "Who adopted a greyhound?"
OVERVIEW = "Give me a summary of my house move."
SAID = "Which book did you recommend?"


@pytest.mark.parametrize(("question", "aim"), [(FACT, Aim.FACT), (OVERVIEW, Aim.OVERVIEW), (SAID, Aim.SAID)])
def test_a_plan_has_the_aim_of_its_question(question, aim):
    """What the request says."""
    assert plan(question, 1000).aim is aim


def test_rules_have_a_small_room_that_does_not_grow():
    """Evidence loses a fifth of a small budget at most, and less of a large one."""
    assert plan(FACT, 300).standing_tokens == 60
    assert plan(SAID, 1000).standing_tokens == plan(OVERVIEW, 20_000).standing_tokens == 80


def test_room_too_small_for_a_rule_is_none():
    """All of a small budget is evidence's."""
    assert plan(FACT, 100).standing_tokens == 0


@given(st.sampled_from([FACT, OVERVIEW, SAID, ""]), st.integers(1, 100_000))
def test_evidence_has_room_in_every_plan(question, budget):
    """What stands leaves most of any budget."""
    assert 0 <= plan(question, budget).standing_tokens <= budget / 5
