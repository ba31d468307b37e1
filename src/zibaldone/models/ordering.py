"""The question to a chat model which passages answer a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zibaldone.models.task import Task, TaskResult, check_ids


@dataclass(frozen=True)
class PassageShown:
    """A candidate as a chat model sees it."""

    id: int
    text: str


class PassagesOrdered(TaskResult):
    """Ids, the passage that helps most first; one that does not help is left out."""

    order: list[int]


@dataclass(frozen=True)
class OrderPassages(Task[PassagesOrdered]):
    """Which passages answer a question. Offline: none is put before another."""

    view: ClassVar[str] = "rerank"
    prompt: ClassVar[str] = "order"
    result: ClassVar[type[PassagesOrdered]] = PassagesOrdered

    question: str
    passages: tuple[PassageShown, ...]

    def offline(self) -> PassagesOrdered:
        """Return an empty order."""
        return PassagesOrdered(order=[])

    def check(self, result: PassagesOrdered) -> None:
        """Raise ValueError for unknown or duplicate ids."""
        check_ids(result.order, [passage.id for passage in self.passages], "order")
