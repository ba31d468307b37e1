"""Server-sent events as bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

DONE = b"[DONE]"  # the data of the last event of a chat completion
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")


class EventSplitter:
    """Splits a stream into events, wherever its chunks were cut."""

    def __init__(self) -> None:
        self._pending = b""
        self._looked = 0  # position before which no event ends

    def events(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the events completed by a chunk, each with its final empty line."""
        self._pending += chunk
        start = 0
        while match := _END.search(self._pending, max(self._looked, start)):
            yield self._pending[start : match.end()]
            start = match.end()
        self._pending = self._pending[start:]
        self._looked = max(len(self._pending) - 3, 0)

    def rest(self) -> bytes:
        """Return and drop the bytes after the last complete event."""
        rest, self._pending = self._pending, b""
        return rest


def event_data(event: bytes) -> bytes:
    """Return an event's data; empty for a comment."""
    lines = (line for line in _LINE.split(event) if line.startswith(b"data"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines if line[4:5] == b":")


def with_data(event: bytes, data: bytes) -> bytes:
    """Return the event with other data, in one line."""
    others = [line for line in _LINE.split(event) if line and not line.startswith(b"data")]
    return b"\n".join([*others, b"data: " + data, b"", b""])


def event_body(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object of an event's data, if it is one."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
