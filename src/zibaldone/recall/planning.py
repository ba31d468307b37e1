"""What a recall puts together for a question, and how much of the budget each part may take.

    standing   instructions and constraints that fit the question
    evidence   what was said, word for word, best first

What the first part leaves of its room is evidence's.
"""

from __future__ import annotations

from dataclasses import dataclass

from zibaldone.search.request import Aim, aim_of

_STANDING_TOKENS, _STANDING_AT_MOST = 80, 0.2  # of the budget
_LEAST_TOKENS = 30  # less room than this holds no note


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """Tokens, of the budget."""

    aim: Aim
    standing_tokens: int


def plan(question: str, budget_tokens: int) -> RecallPlan:
    """By what the question asks for, see search/request."""
    standing = int(min(_STANDING_TOKENS, _STANDING_AT_MOST * budget_tokens))
    return RecallPlan(aim_of(question), standing if standing >= _LEAST_TOKENS else 0)
