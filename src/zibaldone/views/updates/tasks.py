"""What the updates view asks a model: which of a few earlier sentences no longer hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from zibaldone.models.task import NOT_SENT, ShownMessage, Task, TaskResult

_MOST = 64  # pairs in an answer


class EndedPair(TaskResult):
    """An earlier sentence, and the newer one because of which it no longer holds."""

    older: int
    newer: int


class Ended(TaskResult):
    """Pairs that name what was not shown are dropped by who asked; the others stand."""

    ended: Annotated[list[EndedPair], Field(max_length=_MOST)]


@dataclass(frozen=True)
class NumberedSentence:
    """One sentence as a model sees it."""

    number: int
    said: ShownMessage


@dataclass(frozen=True)
class JudgeUpdates(Task[Ended]):
    """Which of the older sentences no longer hold, and because of which newer one."""

    view = "updates"
    prompt = "judge"
    result = Ended
    max_tokens = 512

    newer: tuple[NumberedSentence, ...]
    older: tuple[NumberedSentence, ...]
    offline: Callable[[], Ended] = field(metadata=NOT_SENT, compare=False)
