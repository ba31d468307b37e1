"""As much of HTTP/1.1 as load and upstream need: what a client library spends would be measured too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

_LIMIT = 1 << 20  # bytes of a head


@dataclass(frozen=True, slots=True)
class WireHead:
    """The first line and the headers, whose names are in lower case."""

    line: str
    headers: Mapping[str, str]

    @property
    def status(self) -> int:
        """Of an answer."""
        return int(self.line.split(" ", 2)[1])


async def read_head(reader: asyncio.StreamReader) -> WireHead:
    """Raises IncompleteReadError when the other side has gone."""
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
    pairs = (header.partition(":") for header in lines)
    return WireHead(line, {name.strip().lower(): value.strip() for name, _, value in pairs})


async def read_pieces(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    """The body as it comes: in chunks, of a known length, or up to the end of the connection."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readline()).split(b";")[0], 16):
            yield (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
    elif "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
    else:
        while piece := await reader.read(_LIMIT):
            yield piece


async def read_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The data of server-sent events."""
    left = b""
    async for piece in pieces:
        *events, left = (left + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
            if lines:
                yield b"\n".join(lines).decode()


class Connection:
    """A client's connection, kept open from one request to the next; for one task at a time."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[WireHead, AsyncIterator[bytes]]:
        """The answer's head, and its body, which has to be read before the next request."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=_LIMIT)
        reader, writer = self._streams
        given = {
            "Host": f"{self._host}:{self._port}",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        await writer.drain()
        head = await read_head(reader)
        return head, self._body(reader, head)

    async def ask(self, method: str, path: str, value: object = None) -> Any:
        """JSON for JSON."""
        body = b"" if value is None else json.dumps(value).encode()
        _, pieces = await self.send(method, path, body)
        return json.loads(b"".join([piece async for piece in pieces]) or b"null")

    def close(self) -> None:
        """The next request opens a new one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _body(self, reader: asyncio.StreamReader, head: WireHead) -> AsyncIterator[bytes]:
        async for piece in read_pieces(reader, head.headers):
            yield piece
        if head.headers.get("connection", "").lower() == "close":
            self.close()
