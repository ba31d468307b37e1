"""What the profile asks a model: what of a few messages should always be known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from zibaldone.models.task import ShownMessage, Task, TaskResult
from zibaldone.views.profile.clauses import Kind

_MOST = 64  # entries in an answer
_LONGEST_TEXT = 400  # characters
_LONGEST_TOPIC = 120


class NotedEntry(TaskResult):
    """One thing to be known, the messages that say it, and of an instruction what it is meant for."""

    kind: Kind
    text: Annotated[str, Field(max_length=_LONGEST_TEXT)]
    topic: Annotated[str, Field(max_length=_LONGEST_TOPIC)] = ""
    sources: list[int]


class Noted(TaskResult):
    """Entries that their sources do not bear out are dropped by who asked; the others stand."""

    entries: Annotated[list[NotedEntry], Field(max_length=_MOST)]


@dataclass(frozen=True)
class NoteEntries(Task[Noted]):
    """What of these messages should always be known."""

    view = "profile"
    prompt = "note"
    result = Noted
    max_tokens = 2048

    messages: tuple[ShownMessage, ...]

    def offline(self) -> Noted:
        """Nothing more: what the grammar reads is an entry in any case."""
        return Noted(entries=[])
