"""The ASGI app and the process that serves it."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from zibaldone.api.aio import AsyncMemory, wrapped
from zibaldone.core.threads import in_thread
from zibaldone.errors import InvalidInput, MissingExtra

try:
    import python_multipart as _  # noqa: F401 - starlette reads forms with it
    import uvicorn

    from zibaldone.server.metrics import Metrics
    from zibaldone.server.page import page_routes
except ModuleNotFoundError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[server]'") from error

from zibaldone.server.access import Access, is_loopback
from zibaldone.server.border import ErrorBoundary
from zibaldone.server.chores import export_telemetry, freeze_objects, sync_caches
from zibaldone.server.gateway import Gateway
from zibaldone.server.keys import KeyStore
from zibaldone.server.limits import ImpatientProtocol, Limits
from zibaldone.server.live import Live
from zibaldone.server.memory_pool import MemoryPool
from zibaldone.server.page.jobs import Jobs
from zibaldone.server.page.page_auth import PageServices, answered
from zibaldone.server.problems import problem_of
from zibaldone.server.rest import rest_routes
from zibaldone.server.settings import ServerSettings
from zibaldone.server.watching import watching

if TYPE_CHECKING:
    from zibaldone.server.mcp.serving import McpPart


def create_app(
    memory: AsyncMemory,
    *,
    settings: ServerSettings,
    keys: KeyStore,
    pool: MemoryPool | None = None,
) -> Starlette:
    """Create the ASGI app, which closes the memory and the keys at its end.

    With a `pool` over the same memory, the gateway recalls and adds through it.
    """
    metrics, jobs = Metrics(), Jobs()
    live = None if settings.upstream is None else Live()
    parts: list[Gateway | McpPart] = _mcp(memory, settings)
    if settings.upstream is not None:
        parts.insert(0, Gateway(pool or memory, settings, metrics, live))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(memory.close)
            stack.push_async_callback(in_thread, keys.close)
            if pool is not None:
                stack.push_async_callback(pool.close)
                await pool.start()
            stack.callback(asyncio.create_task(sync_caches(wrapped(memory))).cancel)
            for part in parts:
                await stack.enter_async_context(part.running())
            stack.push_async_callback(jobs.stop)
            yield

    return Starlette(
        routes=[
            *watching(memory, metrics),
            *rest_routes(memory, metrics),
            *page_routes(PageServices(memory, metrics, jobs, live), keys),
            *(route for part in parts for route in part.routes()),
        ],
        middleware=[
            Middleware(ErrorBoundary, metrics=metrics, answered=answered),
            Middleware(Access, settings=settings, keys=keys),
            Middleware(Limits, settings=settings),
        ],
        exception_handlers={HTTPException: lambda request, error: answered(request, problem_of(error))},
        lifespan=lifespan,
    )


def _mcp(memory: AsyncMemory, settings: ServerSettings) -> list[Gateway | McpPart]:
    """Return MCP if its extra is installed."""
    try:
        from zibaldone.server.mcp.serving import McpPart
    except MissingExtra:
        return []
    return [McpPart(memory, most_body_bytes=settings.max_body_bytes)]


def check_binding(settings: ServerSettings, keys: KeyStore) -> None:
    """Raise InvalidInput if a server without keys would be open to other machines."""
    if not is_loopback(settings.host) and not keys.exist():
        raise InvalidInput(
            f"--host {settings.host} lets other machines in, and there are no keys: make one with"
            " 'zibaldone keys create --user NAME', or leave --host out"
        )


def listening(settings: ServerSettings) -> socket.socket:
    """Return the listening socket. Raises InvalidInput if the address is not available."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        made = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise InvalidInput(f"cannot listen: {error.strerror}; choose another by --host and --port") from error
    # Connections inherit it; asyncio sets it only on sockets that were made with an explicit protocol.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def base_url(bound: socket.socket) -> str:
    """Return the server's address, such as http://127.0.0.1:8787."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server_of(app: Starlette, settings: ServerSettings) -> uvicorn.Server:
    """Create the uvicorn server; `run(sockets=[...])` serves until `should_exit`, then drains."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http=ImpatientProtocol,
            timeout_keep_alive=settings.header_timeout_s,  # type: ignore[arg-type] # of a timer
            ws="none",
            lifespan="on",
            limit_concurrency=settings.max_connections,
            timeout_graceful_shutdown=settings.shutdown_timeout_s,
        )
    )


def serve_until_stopped(app: Starlette, settings: ServerSettings, bound: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; then finish requests and write-backs, and return.

    A second SIGINT does not wait. Raises the process's limit of open files to the system's.
    """
    export_telemetry()
    threading.Thread(target=freeze_objects, name="zibaldone-freezing", daemon=True).start()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    before = signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn raises a signal again at its end
    try:
        with suppress(KeyboardInterrupt):
            server_of(app, settings).run(sockets=[bound])
    finally:
        signal.signal(signal.SIGTERM, before)
