"""The app, and the process that serves it."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from zibaldone.api.aio import AsyncMemory, wrapped
from zibaldone.core.threads import in_thread
from zibaldone.errors import InvalidInput, MissingExtra, StorageError, ZibaldoneError
from zibaldone.server.access import Access, is_loopback
from zibaldone.server.border import Border
from zibaldone.server.cache_sync import let_go_of_what_others_forget
from zibaldone.server.gateway import Gateway
from zibaldone.server.heap import give_back_free_memory, keep_what_stands
from zibaldone.server.keys import KeyStore
from zibaldone.server.limits import Limits, impatient
from zibaldone.server.memory_pool import DividedMemory
from zibaldone.server.metrics import Metrics
from zibaldone.server.page import PagePart
from zibaldone.server.problems import Problem, answer_problem
from zibaldone.server.rest import RestPart
from zibaldone.server.settings import ServerSettings
from zibaldone.server.watching import watching

try:
    import uvicorn
except ModuleNotFoundError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[server]'") from error

_NOTED_EVERY_S = 30
_logger = logging.getLogger(__name__)


class ServedPart(Protocol):
    """What serves some of the paths: REST, the page, the gateway, MCP."""

    def routes(self) -> Sequence[BaseRoute]:
        """Its routes, with their whole paths."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Open what it needs; at the end, when no request is under way any more, drain and close it."""
        ...


def create_app(
    memory: AsyncMemory,
    *,
    settings: ServerSettings,
    keys: KeyStore,
    divided: DividedMemory | None = None,
) -> Starlette:
    """The ASGI app over a memory; the memory and the keys are closed with it.

    With `divided`, the same memory in several processes, the gateway recalls and stores through these.
    """
    metrics = Metrics()
    parts: list[ServedPart] = [RestPart(memory, metrics), PagePart(memory, metrics, keys)]
    if settings.upstream is not None:
        parts.append(Gateway(divided or memory, settings, metrics))
    parts += _mcp(memory, settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(memory.close)
            stack.push_async_callback(in_thread, keys.close)
            if divided is not None:
                stack.push_async_callback(divided.close)
                await divided.start()
            letting_go = let_go_of_what_others_forget(wrapped(memory))
            for chore in (_note_used(keys), give_back_free_memory(), letting_go):
                stack.callback(asyncio.create_task(chore).cancel)
            for part in parts:
                await stack.enter_async_context(part.running())
            yield

    return Starlette(
        routes=[*watching(memory, metrics), *(route for part in parts for route in part.routes())],
        middleware=[
            Middleware(Border, metrics=metrics),
            Middleware(Access, settings=settings, keys=keys),
            Middleware(Limits, settings=settings),
        ],
        exception_handlers=dict.fromkeys((HTTPException, Problem, ZibaldoneError), answer_problem),
        lifespan=lifespan,
    )


def _mcp(memory: AsyncMemory, settings: ServerSettings) -> list[ServedPart]:
    """MCP, where its extra is installed."""
    try:
        from zibaldone.server.mcp.serving import McpPart
    except MissingExtra:
        return []
    return [McpPart(memory, most_body_bytes=settings.max_body_bytes)]


async def _note_used(keys: KeyStore) -> None:
    while True:
        await asyncio.sleep(_NOTED_EVERY_S)
        try:
            await in_thread(keys.note_used)
        except StorageError as error:
            _logger.warning("when keys were used could not be noted (%s)", type(error).__name__)


def check_binding(settings: ServerSettings, keys: KeyStore) -> None:
    """Raise InvalidInput where a server without keys would be open to other machines."""
    if not is_loopback(settings.host) and not keys.exist():
        raise InvalidInput(
            f"--host {settings.host} lets other machines in, and there are no keys: make one with"
            " 'zibaldone keys create --user NAME', or leave --host out"
        )


def listening(settings: ServerSettings) -> socket.socket:
    """The socket that the server listens on. Raises InvalidInput when the address cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # with its protocol named, or asyncio does not know it for TCP and leaves answers waiting for more (Nagle)
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((settings.host, settings.port))
        made.listen(2048)
    except OSError as error:
        made.close()
        raise InvalidInput(
            f"cannot listen on {settings.host} port {settings.port} ({error.strerror}): choose another with"
            " --host and --port"
        ) from error
    return made


def base_url(bound: socket.socket) -> str:
    """Such as http://127.0.0.1:8787."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(app: Starlette, settings: ServerSettings) -> uvicorn.Server:
    """Uvicorn around the app; `run(sockets=[...])` serves until `should_exit`, then drains."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http=impatient(settings.header_timeout_s),
            ws="none",
            lifespan="on",
            limit_concurrency=settings.max_connections,
            timeout_graceful_shutdown=settings.shutdown_timeout_s,
        )
    )


def _prepare() -> None:
    keep_what_stands()


def serve_until_stopped(app: Starlette, settings: ServerSettings, bound: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; then answer what is under way, store what is to be stored, and return.

    A second SIGINT does not wait. The process may have as many connections open as the system allows it. What
    a first request would wait for, and is nobody's, is made meanwhile.
    """
    threading.Thread(target=_prepare, name="zibaldone-warming", daemon=True).start()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ended = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: lambda *_: None}
    before = {number: signal.signal(number, handler) for number, handler in ended.items()}
    try:
        with suppress(KeyboardInterrupt):  # uvicorn raises again, at the end, what stopped it
            server_of(app, settings).run(sockets=[bound])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
