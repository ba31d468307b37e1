"""Server-sent events as bytes."""

from __future__ import annotations

import json
import re
from typing import Any

DONE = b"[DONE]"  # the data of the last event of a chat completion
_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")


def complete(rest: bytes, chunk: bytes) -> tuple[list[bytes], bytes]:
    """Return the events that a chunk completes, each with its final empty line, and the new rest."""
    data, events, start = rest + chunk, [], 0
    for end in _END.finditer(data, max(len(rest) - 3, 0)):
        events.append(data[start : end.end()])
        start = end.end()
    return events, data[start:]


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
