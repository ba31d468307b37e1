"""A user's messages as a JSON Lines file, which the importer `jsonl` reads back exactly."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zibaldone.core import Message
from zibaldone.errors import InvalidInput


def export_messages(messages: Iterable[Message], path: Path) -> int:
    """Write messages as JSON Lines; the file appears whole or not at all. Returns how many.

    Raises InvalidInput where the file cannot be written, and for a device or a pipe, which would be replaced.
    """
    written = 0
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(f"{str(path)!r} is not a regular file: choose another")
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
