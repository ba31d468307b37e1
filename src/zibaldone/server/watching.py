"""Monitoring endpoints."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from zibaldone.api.aio import AsyncMemory
from zibaldone.errors import ZibaldoneError
from zibaldone.server.metrics import Metrics

_FRESH_S = 60.0  # age at which statistics are counted again
_SHARE = 20  # counting takes at most 1/20 of the time


def watching(memory: AsyncMemory, metrics: Metrics) -> Sequence[BaseRoute]:
    """Return the routes /healthz, /readyz and /metrics."""
    counting = asyncio.Lock()
    next_count = 0.0

    async def alive(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        await memory.user("readyz").sessions()  # no such user: raises if the database does not answer
        return JSONResponse({"status": "ok"})

    async def figures(request: Request) -> Response:
        nonlocal next_count
        request.state.principal.must_be_admin()
        async with counting:
            began = time.monotonic()
            if began >= next_count:
                metrics.holds(await memory.admin.stats())
                ended = time.monotonic()
                next_count = ended + max(_FRESH_S, _SHARE * (ended - began))
        return Response(metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    return [Route("/healthz", alive), Route("/readyz", ready), Route("/metrics", figures)]


async def count_again(memory: AsyncMemory, metrics: Metrics) -> None:
    """Count statistics again and again, for metrics that are exported and not asked for."""
    while True:
        began = time.monotonic()
        with suppress(ZibaldoneError):
            metrics.holds(await memory.admin.stats())
        await asyncio.sleep(max(_FRESH_S, _SHARE * (time.monotonic() - began)))
