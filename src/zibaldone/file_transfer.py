"""Messages out to a file of ours, and in from anybody's."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.importers.importing import assign_users, read_all
from zibaldone.ingest import Progress
from zibaldone.log import Appended


@dataclass(frozen=True, slots=True)
class Imported:
    """What one import did."""

    format: str
    users: tuple[str, ...]  # whose memory grew, or would have
    conversations: int
    read: int  # messages in the file
    added: int  # of them, those that were not there already
    changed: int  # of them, those that were there with another content, and stay as first stored


class Ingests(Protocol):
    """Stores the messages of several users in one transaction."""

    def __call__(
        self,
        parts: Sequence[tuple[str, Sequence[Message]]],
        progress: Progress | None = None,
        *,
        keep_first: bool = False,
    ) -> list[Appended]:
        """What was appended, aligned with the parts."""


def import_file(
    ingest: Ingests,
    path: Path,
    *,
    user: str | None,
    default_user: str | None = None,
    format: str | None,  # noqa: A002 - the word a caller expects
    progress: Progress | None,
) -> Imported:
    """Read and check the whole file, then store all of it, or none.

    A message that was stored with another content before (edited since, or rendered anew) stays as it was,
    so that the rest of a newer export can come in. `default_user` gets a file that does not say whose memory
    it is. Raises InvalidImport, NoUser, and UnknownName for the format.
    """
    name, conversations = read_all(path, format)
    assigned = assign_users(conversations, user, default_user)
    appended = ingest([(part.user, part.messages) for part in assigned], progress, keep_first=True)
    return Imported(
        format=name,
        users=tuple(part.user for part in assigned),
        conversations=len(conversations),
        read=sum(len(part.messages) for part in assigned),
        added=sum(one.new for one in appended),
        changed=sum(one.changed for one in appended),
    )


def export_messages(messages: Iterable[Message], path: Path) -> int:
    """Write messages as JSON Lines; the file appears whole or not at all."""
    written = 0
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            try:
                for message in messages:
                    file.write(to_line(message) + "\n")
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


def to_line(message: Message) -> str:
    """A message as a line of an export, less its line break: JSON, without the fields that are empty."""
    fields = {name: value for name, value in to_object(message).items() if value is not None and value != {}}
    return json.dumps(fields, ensure_ascii=False)


def to_object(message: Message) -> dict[str, Any]:
    """Every field of a stored message that outlives an export, as JSON; the seq does not."""
    assert message.time is not None
    return {
        "id": message.id,
        "session": message.session,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "time": message.time.isoformat(),
        "metadata": dict(message.metadata),
    }
