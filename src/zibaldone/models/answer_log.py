"""What becomes of a model's answers, told to whoever listens: a benchmark, or somebody who writes a prompt.

with listening() as heard:
    memory.maintain()
refusals = [refusal for parts in heard.parts for refusal in parts.refused]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["valid", "repaired", "degraded"]


@dataclass(frozen=True, slots=True)
class AnswerHeard:
    """One task, asked: its answer was taken, was taken once corrected, or the offline one stands in."""

    task: str  # such as "chunks.compress"
    outcome: Outcome
    calls: int  # questions put to the model, a repair counted
    prompt_tokens: int
    completion_tokens: int
    reason: str = ""  # why it is degraded


@dataclass(frozen=True, slots=True)
class PartsHeard:
    """An answer that was taken, held against its sources part by part."""

    task: str
    given: int  # notes, facts, lines, sentences ...
    refused: tuple[str, ...]  # why, one for each that was dropped


@dataclass(slots=True)
class AnswersHeard:
    """What was heard so far, in the order in which it happened."""

    answers: list[AnswerHeard] = field(default_factory=list)
    parts: list[PartsHeard] = field(default_factory=list)


_listeners: list[AnswersHeard] = []


@contextmanager
def listening() -> Iterator[AnswersHeard]:
    """All answers of this process, until the end of the block."""
    heard = AnswersHeard()
    _listeners.append(heard)
    try:
        yield heard
    finally:
        _listeners[:] = [other for other in _listeners if other is not heard]


def note_answer(answer: AnswerHeard) -> None:
    """Say what came of a task."""
    for heard in tuple(_listeners):
        heard.answers.append(answer)


def note_parts(task: str, given: int, refused: Sequence[str]) -> None:
    """Say how many parts an answer has, and why some were dropped."""
    for heard in tuple(_listeners):
        heard.parts.append(PartsHeard(task, given, tuple(refused)))
