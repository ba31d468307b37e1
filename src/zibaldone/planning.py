"""What a recall puts together for a question, and how much of the budget each part may take.

    standing   what the profile says applies to the question: instructions, preferences, facts
    evidence   what was said, word for word, best first
    timeline   dated lines, evenly over the time that is asked for

All but evidence is given room at most: what a part leaves is evidence's.
"""

from __future__ import annotations

from dataclasses import dataclass

from zibaldone.search.request import Aim, Request, read_request

_STANDING = 0.12  # of the budget
_STANDING_TOKENS, _STANDING_AT_MOST = 100, 0.2  # a wish is as long in a small text as in a large one
_STANDING_FOR_ADVICE = 0.25  # new words have to suit whoever asks
# A line of many times tells more of a history than all of a few, and holds more things of a list.
_TIMELINE = {Aim.OVERVIEW: 0.35, Aim.LIST: 0.2}
_LEAST_TOKENS = 30  # less room than this holds no entry and no line


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """Tokens, of the budget."""

    aim: Aim
    standing_tokens: int
    timeline_tokens: int


def plan(question: str, budget_tokens: int, request: Request | None = None) -> RecallPlan:
    """By what the question asks for, see search/request; a `request` is what a model has read in it."""
    aim = (request or read_request(question)).aim
    standing = max(_STANDING, min(_STANDING_TOKENS / max(budget_tokens, 1), _STANDING_AT_MOST))
    if aim is Aim.ADVICE:
        standing = _STANDING_FOR_ADVICE
    timeline = _TIMELINE.get(aim, 0.0)
    return RecallPlan(aim, _room(standing * budget_tokens), _room(timeline * budget_tokens))


def _room(tokens: float) -> int:
    return int(tokens) if tokens >= _LEAST_TOKENS else 0
