"""Server-sent events, as bytes: where each one ends, and what it carries."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")


class EventSplitter:
    """Cuts a stream, however it was cut on its way, into whole events."""

    def __init__(self) -> None:
        self._pending = b""
        self._looked = 0  # no event ends before this

    def events(self, chunk: bytes) -> Iterator[bytes]:
        """The events that are whole now, each with the empty line that ends it."""
        self._pending += chunk
        start = 0
        while match := _END.search(self._pending, max(self._looked, start)):
            yield self._pending[start : match.end()]
            start = match.end()
        self._pending = self._pending[start:]
        self._looked = max(len(self._pending) - 3, 0)

    def rest(self) -> bytes:
        """What came after the last whole event."""
        rest, self._pending = self._pending, b""
        return rest


def whole_events(data: bytes) -> Iterator[bytes]:
    """The events of a piece of a stream; the last one also when it does not end as it should."""
    splitter = EventSplitter()
    yield from splitter.events(data)
    if rest := splitter.rest():
        yield rest


def event_data(event: bytes) -> bytes:
    """What an event carries; empty for a comment."""
    lines = (line for line in _LINE.split(event) if line.startswith(b"data"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines if line[4:5] == b":")


def with_data(event: bytes, data: bytes) -> bytes:
    """The same event, carrying something else, in one line."""
    others = [line for line in _LINE.split(event) if line and not line.startswith(b"data")]
    return b"\n".join([*others, b"data: " + data, b"", b""])


def comment(words: str) -> bytes:
    """An event that every client skips."""
    return f": {' '.join(words.split())}\n\n".encode()
