"""The notes view's question to a model.

Docstrings of result classes are in the JSON schema that models are sent: another word is another prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from zibaldone.models.dividing import TaskAboutMany
from zibaldone.models.task import NOT_SENT, ShownMessage, TaskResult
from zibaldone.views.notes.note import Kind

_MOST = 64  # notes in an answer
_LONGEST_TEXT = 400  # characters


@dataclass(frozen=True, slots=True)
class ShownNote:
    """A note that holds, as a model sees it; `id` is its number in this question."""

    id: int
    kind: Kind
    text: str
    since: str
    sources: tuple[int, ...]


class NewNote(TaskResult):
    """A note, the messages that say it, those that it ends, and its clause word for word."""

    kind: Kind
    text: Annotated[str, Field(max_length=_LONGEST_TEXT)]
    sources: list[int]
    ends: list[int] = Field(default_factory=list)
    quote: str | None = None


class EndedNote(TaskResult):
    """A note that holds no more, and the message by which it is over."""

    id: int
    by: int


class Taken(TaskResult):
    """What its sources do not bear out is dropped by who asked; the rest stands."""

    notes: list[NewNote] = Field(default_factory=list, max_length=_MOST)
    ended: list[EndedNote] = Field(default_factory=list, max_length=_MOST)


@dataclass(frozen=True)
class TakeNotes(TaskAboutMany[Taken]):
    """Find what these messages add to the notes, and which notes they end."""

    view = "notes"
    prompt = "take"
    result = Taken
    max_tokens = 4096

    messages: tuple[ShownMessage, ...]
    notes: tuple[ShownNote, ...]
    offline: Callable[[], Taken] = field(default=Taken, metadata=NOT_SENT)
    failed: int = field(default=0, metadata=NOT_SENT)

    @property
    def parts(self) -> int:
        """Number of messages."""
        return len(self.messages)
