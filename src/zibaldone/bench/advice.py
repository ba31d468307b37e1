"""Do allergies, diets, medicines and disabilities come with the advice that they bear on, and stay away else?

Two people, each with constraints that they told or that a program remembers, and with other facts; and
questions for advice, to about half of which a constraint applies. One person is for development, the other
held out. What may apply and need not counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from zibaldone.core import PROFILE, Message
from zibaldone.memory import Memory
from zibaldone.models.base import Embedder

_BUDGET_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class AdviceOutcome:
    """What one person's questions got of their constraints."""

    half: str
    questions: int
    wanted: int  # constraints that apply, over all questions
    right: int  # of these that came
    wrong: int  # that came and don't apply

    @property
    def precision(self) -> float | None:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float:
        return self.right / self.wanted

    @property
    def per_question(self) -> float:
        return (self.right + self.wrong) / self.questions


def advice_outcomes(folder: Path, embedder: Embedder) -> Iterator[AdviceOutcome]:
    """One per person, of a memory in that folder."""
    people = json.loads((files(__package__) / "advice.json").read_text(encoding="utf-8"))
    with Memory(folder, embedder=embedder) as memory:
        for half, person in people.items():
            told_messages = [
                Message(text, session="told", metadata={PROFILE: "fact"}) for text in person["told"]
            ]
            memory.add(told_messages + [Message(text, session="chat") for text in person["chat"]], user=half)
            yield _outcome(memory, half, person)


def _outcome(memory: Memory, half: str, person: Mapping[str, Any]) -> AdviceOutcome:
    questions = person["questions"]
    constraints = {text for question in questions for text in question["apply"]}
    wanted = right = wrong = 0
    for question in questions:
        recalled = memory.recall(question["text"], user=half, budget_tokens=_BUDGET_TOKENS, floor=0)
        profile = {each.evidence.text for each in recalled.trace.decisions if each.evidence.standing}
        came = {text for text in profile & constraints if text in recalled.text}
        apply = set(question["apply"])
        wanted += len(apply)
        right += len(came & apply)
        wrong += len(came - apply - set(question["may"]))
    return AdviceOutcome(half, len(questions), wanted, right, wrong)
