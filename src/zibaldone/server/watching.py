"""Monitoring endpoints."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from zibaldone.api import settings
from zibaldone.api.aio import AsyncMemory
from zibaldone.errors import ZibaldoneError
from zibaldone.server.metrics import CONTENT_TYPE, Metrics

_FRESH_S = 60.0  # age at which statistics are counted again
_SHARE = 20  # counting takes at most 1/20 of the time


class Watching:
    """The part of the server that monitors ask: /healthz, /readyz and /metrics."""

    def __init__(self, memory: AsyncMemory, metrics: Metrics) -> None:
        self._memory, self._metrics = memory, metrics
        self._counting = asyncio.Lock()
        self._next_count = 0.0

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes."""
        return [Route("/healthz", _alive), Route("/readyz", self._ready), Route("/metrics", self._figures)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Where telemetry is exported, statistics are counted without anybody asking, too."""
        task = asyncio.create_task(self._count_again()) if settings.otel() else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()

    async def _ready(self, _: Request) -> Response:
        await self._memory.user("readyz").sessions()  # no such user: raises if the database does not answer
        return JSONResponse({"status": "ok"})

    async def _figures(self, request: Request) -> Response:
        request.state.principal.must_be_admin()
        await self._count()
        return Response(self._metrics.exposition(), media_type=CONTENT_TYPE)

    async def _count(self) -> None:
        async with self._counting:
            began = time.monotonic()
            if began >= self._next_count:
                self._metrics.holds(await self._memory.admin.stats())
                ended = time.monotonic()
                self._next_count = ended + max(_FRESH_S, _SHARE * (ended - began))

    async def _count_again(self) -> None:
        while True:
            with suppress(ZibaldoneError):
                await self._count()
            await asyncio.sleep(_FRESH_S)


async def _alive(_: Request) -> Response:
    return JSONResponse({"status": "ok"})
