"""REST: the memory under /v1/memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from importlib.metadata import version
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from zibaldone.api.aio import AsyncMemory
from zibaldone.api.operations import OPERATIONS as ALL
from zibaldone.server.border import routes_of
from zibaldone.server.metrics import Metrics
from zibaldone.server.rest import handlers as handlers
from zibaldone.server.rest.openapi import document
from zibaldone.server.rest.operation import ROOT, answer

DOCUMENT = f"{ROOT}/openapi.json"
ANY = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
OPERATIONS = tuple(operation for operation in ALL if operation.rest)


@cache
def _document() -> dict[str, Any]:
    return document(OPERATIONS, version("zibaldone"))


def rest_routes(memory: AsyncMemory, metrics: Metrics) -> Sequence[BaseRoute]:
    """The routes of /v1/memory, one per path."""

    # No coroutine: the first one takes a tenth of a second, which it takes in a thread.
    def openapi(_: Request) -> Response:
        return JSONResponse(_document())

    async def nothing(_: Request) -> Response:
        raise HTTPException(404)  # or the gateway would pass on what is misspelt

    endpoints = (
        (f"{ROOT}/{operation.rest.path}", operation.rest.method, partial(answer, operation, memory, metrics))
        for operation in OPERATIONS
        if operation.rest
    )
    return [
        Route(DOCUMENT, openapi),
        *routes_of(endpoints),
        Route(ROOT, nothing, methods=ANY),
        Route(f"{ROOT}/{{path:path}}", nothing, methods=ANY),
    ]
