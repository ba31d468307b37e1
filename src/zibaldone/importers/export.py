"""A user's messages as JSON Lines, which the importer `jsonl` reads back exactly; with files, an archive."""

from __future__ import annotations

import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Any

from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.log.message_input import ATTACHMENTS

MESSAGES = "messages.jsonl"  # in an archive
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


def export_messages(messages: Iterable[Message], path: Path) -> int:
    """Write messages as JSON Lines; the file appears whole or not at all. Returns how many.

    Raises InvalidInput where the file cannot be written, and for a device or a pipe, which would be replaced.
    """
    with appearing_whole(path) as file:
        return _write_lines(messages, file)


def export_archive(
    messages: Callable[[], Iterable[Message]], files: Callable[[int], Mapping[int, bytes]], path: Path
) -> int:
    """Write messages, read twice, and what is kept of their attachments; returns how many messages.

    A ZIP archive of MESSAGES and of files named by their digests, which are not packed: whoever looks for
    what was forgotten finds it. Raises InvalidInput, as `export_messages`.
    """
    written: set[str] = set()
    with appearing_whole(path) as file, zipfile.ZipFile(file, "w") as archive:
        with archive.open(MESSAGES, "w", force_zip64=True) as lines:
            count = _write_lines(messages(), lines)
        for message in messages():
            listed = message.metadata.get(ATTACHMENTS) or []
            for place, data in files(message.seq).items() if listed else ():
                name = f"attachments/{sha256(data).hexdigest()}{_suffix(listed[place])}"
                if name not in written:
                    archive.writestr(name, data)
                    written.add(name)
    return count


def _write_lines(messages: Iterable[Message], file: IO[bytes]) -> int:
    written = 0
    for message in messages:
        file.write(f"{to_line(message)}\n".encode())
        written += 1
    return written


def _suffix(attachment: Mapping[str, Any]) -> str:
    """Return the suffix of an attachment's name, if it is plain."""
    suffix = PurePosixPath(str(attachment.get("name") or "")).suffix
    return suffix if _SUFFIX.fullmatch(suffix) else ""


@contextmanager
def appearing_whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for its owner that replaces `path` at the end, or is deleted on an error."""
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(f"{str(path)!r} is not a regular file: choose another")
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise InvalidInput(f"cannot write {str(path)!r} ({error.strerror}): choose another file") from error


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
