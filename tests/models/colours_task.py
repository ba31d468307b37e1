"""A task to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import BaseModel

from zibaldone.models.task import NOT_SENT, Task


class Colours(BaseModel):
    """What the task wants."""

    model_config = {"extra": "forbid"}

    colours: list[str]


@dataclass(frozen=True)
class NameColours(Task[Colours]):
    """Which of the known colours are in the text?"""

    view = "tests"
    prompt = "name_colours"
    result = Colours
    max_tokens = 100

    text: str
    known: tuple[str, ...] = ("red", "blue")
    offline: Callable[[], Colours] = field(
        default=lambda: Colours(colours=["grey"]), metadata=NOT_SENT, compare=False
    )

    def check(self, result: Colours) -> None:
        """Only known ones."""
        if unknown := set(result.colours) - set(self.known):
            raise ValueError(f"colours that are not known: {sorted(unknown)}")
