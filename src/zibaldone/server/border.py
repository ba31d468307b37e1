"""The outermost middleware: turns errors into problems, and counts and logs each request."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from starlette.endpoints import HTTPEndpoint
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zibaldone.core.threads import in_thread
from zibaldone.server.metrics import Metrics
from zibaldone.server.problems import Problem, log_failure, problem_of

P = ParamSpec("P")
T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]
_LONG_BYTES = 2**18
_CLIENT_LEFT = 499  # in metrics and logs only
_logger = logging.getLogger(__name__)


class ErrorBoundary:
    """The ASGI middleware around all others.

    A log line has method, route, status, time and the key's id, but no path, query or content.
    """

    def __init__(
        self, app: ASGIApp, *, metrics: Metrics, answered: Callable[[Request, Problem], Response]
    ) -> None:
        self._app, self._metrics, self._answered = app, metrics, answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        scope.setdefault("state", {})
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._metrics.request(scope) as span:
            try:
                _check_length(scope)
                await self._app(scope, receive, watched)
            except ClientDisconnect:
                status = status or _CLIENT_LEFT
            except Exception as error:  # noqa: BLE001 - the process border: an error ends its request alone
                problem = problem_of(error)
                if problem.status >= 500 and problem is not error:  # a Problem is raised on purpose
                    log_failure(_logger, "in a request", error)
                if not status:  # else the answer breaks off
                    await self._answered(Request(scope), problem)(scope, receive, watched)
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.answered(span, scope["method"], route, status, seconds)
        key_id = getattr(scope["state"].get("principal"), "key_id", None) or "-"
        _logger.info("%s %s %d %.1f ms key=%s", scope["method"], route, status, seconds * 1000, key_id)


def _check_length(scope: Scope) -> None:
    """Refuse a body of two lengths and close the connection, against request smuggling through a proxy."""
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        raise Problem(
            400,
            "two-lengths",
            "a request has Content-Length or Transfer-Encoding: leave one out",
            headers={"Connection": "close"},
        )


def routes_of(endpoints: Iterable[tuple[str, str, Endpoint]]) -> list[Route]:
    """Return a route per path, of functions by path and method; another method is a 405 that names these."""
    paths: dict[str, dict[str, Any]] = {}
    for path, method, endpoint in endpoints:
        paths.setdefault(path, {})[method.lower()] = staticmethod(endpoint)
    return [Route(path, type("Methods", (HTTPEndpoint,), methods)) for path, methods in paths.items()]


async def read_apart(size: int, read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Return `read(...)`, which is called in a thread where the body has a `size` that takes long."""
    return await in_thread(read, *args, **options) if size > _LONG_BYTES else read(*args, **options)


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`; it is given up when the client hangs up before. Raises ClientDisconnect.

    The request's body must have been read: the next message is the client's going.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        for each in (task, gone):
            if not each.done():
                each.cancel()
                with suppress(asyncio.CancelledError):
                    await each


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
