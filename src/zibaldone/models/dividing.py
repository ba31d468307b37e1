"""Questions about many things, which are halved when the answer is bad."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from pydantic import BaseModel

from zibaldone.models.asker import TaskAnswer
from zibaldone.models.task import Task

T = TypeVar("T")
R = TypeVar("R", bound=BaseModel)
Q = TypeVar("Q", bound=BaseModel)
_MOST_FAILED = 7  # the whole, its halves and its quarters: who can answer none of them answers no eighth


class Asks(Protocol):
    """A callable that answers tasks, such as Asker.ask with its user filled in."""

    def __call__(self, task: Task[Q]) -> TaskAnswer[Q]:
        """The model's answer, or the offline one with the reason why."""


class TaskAboutMany(Task[R]):
    """A task of which halves can be asked. A subclass has the field `failed`, not sent."""

    offline: Callable[[], R]
    failed: int  # parts of the whole, beyond those that were answered

    @property
    def parts(self) -> int:
        """Number of things that the task is about."""
        raise NotImplementedError

    @property
    def divisible(self) -> bool:
        return self.parts > 1 and self.failed + 1 < _MOST_FAILED

    @property
    def failures(self) -> int:
        return 0 if self.divisible else self.failed + 1


def ask_in_parts(
    ask: Asks, things: Sequence[T], task_of: Callable[[Sequence[T], int], TaskAboutMany[R]]
) -> Iterator[tuple[Sequence[T], R]]:
    """Yield (things, answer) for the things, or for parts of them if the whole fails.

    `task_of` makes the task from things and from `failed`. The largest parts are asked first, until so many
    more have failed than were answered that there is no hope for the others; then the model is left alone
    with this task for a while. A model that is not there is asked once.
    """
    waiting, failed = deque([things] if things else []), 0
    while waiting:
        part = waiting.popleft()
        task = task_of(part, failed)
        answer = ask(task)
        if not answer.degraded:
            failed = max(0, failed - 1)
            yield part, answer.result
            continue
        failed += 1
        if not answer.unusable or failed >= _MOST_FAILED:
            return
        if len(part) > 1:
            middle = len(part) // 2
            waiting += [part[:middle], part[middle:]]
