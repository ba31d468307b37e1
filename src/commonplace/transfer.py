"""Messages out to a file of ours, and in from anybody's."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from commonplace.core import Message
from commonplace.errors import InvalidInput
from commonplace.importers.importing import assign_users, read_all

Progress = Callable[[int, int], None]  # messages done, messages in all


@dataclass(frozen=True, slots=True)
class Imported:
    """What one import did."""

    format: str
    users: tuple[str, ...]  # whose memory grew, or would have
    conversations: int
    read: int  # messages in the file
    added: int  # of them, those that were not there already


class Adds(Protocol):
    """Memory's add, with progress."""

    def __call__(
        self,
        messages: Iterable[Message],
        *,
        user: str,
        session: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[list[Message], int]:
        """The stored messages, and how many of them are new."""


def import_file(
    add: Adds,
    path: Path,
    *,
    user: str | None,
    format: str | None,
    progress: Progress | None,  # noqa: A002
) -> Imported:
    """Read and check the whole file, then add it, one transaction per user.

    Raises InvalidImport for the file, IdConflict when a message of it is stored with another content.
    """
    name, conversations = read_all(path, format)
    assigned = assign_users(conversations, user)
    total = sum(len(part.messages) for part in assigned)
    added = done = 0

    def report(of_this_user: int) -> None:
        if progress:
            progress(done + of_this_user, total)

    for part in assigned:
        added += add(part.messages, user=part.user, progress=report)[1]
        done += len(part.messages)
    return Imported(name, tuple(part.user for part in assigned), len(conversations), total, added)


def export_messages(messages: Iterable[Message], path: Path) -> int:
    """Write messages as JSON Lines; the file appears whole or not at all."""
    written = 0
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            try:
                for message in messages:
                    file.write(json.dumps(to_line(message), ensure_ascii=False) + "\n")
                    written += 1
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise InvalidInput(f"cannot write {str(path)!r} ({error.strerror}): choose another file") from error
    return written


def to_line(message: Message) -> dict[str, Any]:
    """A message as one JSON object of an export; without fields that are empty."""
    assert message.time is not None
    fields = {
        "id": message.id,
        "session": message.session,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "time": message.time.isoformat(),
        "metadata": dict(message.metadata) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
