"""The contract of an importer.

An importer turns one file of a foreign format into conversations. It promises:

- `read` checks the whole file before the first conversation reaches a caller that asks for a list, and
  every fault is an `InvalidImport` that names the file and the line or the JSON path of the fault;
- every message it gives would be accepted by `Memory.add`, has an `id` that depends on the file's
  content alone, so that importing twice adds nothing, and stands in the order of its conversation;
- it reads the file and nothing else: no clock, no environment, no network; a folder only where a format
  is one, and then those of its files that make one conversation;
- what the format hides from its own reader (system prompts, reasoning, annotations) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from zibaldone.core import Message


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages that belong together, in order; they may span several sessions."""

    name: str  # as a person would call it; not unique
    messages: tuple[Message, ...]
    user_hint: str | None = (
        None  # whose memory it is when the caller does not say; None: the file does not say
    )


@dataclass(frozen=True, slots=True)
class Head:
    """What can be told from the beginning of a file, well-formed or not."""

    opening: str  # the first character that is not white space: "[" or "{"
    keys: tuple[str, ...]  # of the first object, as far as the head shows it


class Importer(Protocol):
    """One format."""

    name: str
    looks_for: str  # what the first object must have to be recognised, in words, for error messages

    def recognises(self, head: Head) -> bool:
        """Whether the file is of this format, judged by its content and never by its name."""

    def read(self, path: Path) -> Iterator[Conversation]:
        """The file's conversations in its own order. Raises InvalidImport."""


@runtime_checkable
class FolderImporter(Importer, Protocol):
    """A format whose conversation may stand in a folder, which `read` takes as it takes a file."""

    def files(self, folder: Path) -> list[Path]:
        """What `read` would read of it, in that order; nothing when the folder is not of this format."""
