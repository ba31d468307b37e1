"""Limits of body size, transfer time and requests per key."""

from __future__ import annotations

import asyncio
import math
import time
from asyncio import TimerHandle
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from zibaldone.server.access import Principal
from zibaldone.server.problems import Problem
from zibaldone.server.settings import ServerSettings

IMPORT_PATH = "/import"  # of the page: a whole export is one body
_LONGEST_HEADERS_BYTES = 2**16  # h11 limits only headers that come in pieces


class Limits:
    """The ASGI middleware that raises a Problem for too much: 408, 413 or 429."""

    def __init__(
        self, app: ASGIApp, *, settings: ServerSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app, self._settings, self._clock = app, settings, clock
        self._buckets: dict[str, tuple[float, float]] = {}  # by key: tokens, and when they were counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or raise a Problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        principal: Principal | None = scope.get("state", {}).get("principal")
        if principal and principal.key_id and self._settings.requests_per_minute:
            self._take(principal.key_id)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > _LONGEST_HEADERS_BYTES:
            raise Problem(431, "headers-too-large", "the headers are too long")
        settings, is_import = self._settings, scope["path"] == IMPORT_PATH
        most = settings.max_import_bytes if is_import else settings.max_body_bytes
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > most:
            raise _too_large(most)
        within_s = settings.import_timeout_s if is_import else settings.body_timeout_s
        await self._app(scope, self._limited(receive, most, within_s), send)

    def _take(self, key_id: str) -> None:
        """Take a token of a key's bucket, or raise a 429 Problem."""
        settings, now = self._settings, self._clock()
        tokens, counted = self._buckets.get(key_id, (settings.burst, now))
        per_s = settings.requests_per_minute / 60
        tokens = min(settings.burst, tokens + (now - counted) * per_s)
        self._buckets[key_id] = (tokens - (tokens >= 1), now)
        if tokens < 1:
            raise Problem(
                429,
                "too-many-requests",
                f"a key may send {settings.requests_per_minute} requests a minute: wait",
                headers={"Retry-After": str(math.ceil((1 - tokens) / per_s))},
            )

    def _limited(self, receive: Receive, most_bytes: int, within_s: float) -> Receive:
        taken = 0
        ended = False
        give_up = self._clock() + within_s

        async def limited() -> Message:
            nonlocal taken, ended
            if ended:  # the next message is the client's disconnect
                return await receive()
            try:
                async with asyncio.timeout(max(0.0, give_up - self._clock())):
                    message = await receive()
            except TimeoutError as error:
                raise Problem(
                    408, "too-slow", "the body did not come in time", headers={"Connection": "close"}
                ) from error
            taken += len(message.get("body", b""))
            if taken > most_bytes:
                raise _too_large(most_bytes)
            ended = not message.get("more_body", False)
            return message

        return limited


def _too_large(most_bytes: int) -> Problem:
    return Problem(413, "too-large", f"a body may have {most_bytes} bytes: send it in parts")


class ImpatientProtocol(H11Protocol):
    """Uvicorn's HTTP protocol, which waits for a request's headers no longer than between two requests.

    Closes connections that send nothing, or send byte by byte, or go on sending an answered body.
    """

    _patience: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_watching()

    def _watch(self) -> None:
        """Start the timer unless a request is being answered."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self.transport.is_closing():
            self._stop_watching()
        elif self._patience is None:
            self._patience = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _stop_watching(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
