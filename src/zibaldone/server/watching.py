"""Monitoring endpoints."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from zibaldone.api.aio import AsyncMemory
from zibaldone.server.metrics import Metrics


def watching(memory: AsyncMemory, metrics: Metrics) -> Sequence[BaseRoute]:
    """Return the routes /healthz, /readyz and /metrics."""

    async def alive(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        await memory.user("readyz").sessions()  # no such user: raises if the database does not answer
        return JSONResponse({"status": "ok"})

    async def figures(request: Request) -> Response:
        request.state.principal.must_be_admin()
        return Response(metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    return [Route("/healthz", alive), Route("/readyz", ready), Route("/metrics", figures)]
