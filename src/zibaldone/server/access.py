"""Authentication: checks of host, origin and key, and the principal of a request."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

from anyio import CapacityLimiter
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from zibaldone.api.aio import AsyncMemory
from zibaldone.core.threads import in_thread, in_thread_of
from zibaldone.errors import StorageBusy, StorageUnreachable
from zibaldone.log.audit import acting
from zibaldone.server.keys import PREFIX, KeyStore
from zibaldone.server.problems import FOR_PROGRAMS, Problem
from zibaldone.server.settings import MemoryMode, ServerSettings

T = TypeVar("T")
_KEY_S = 3.0  # for which a request to the gateway waits for the key table
_MOST_READS = 16  # of the key table for the gateway that run at once: late ones hold nobody else up
_logger = logging.getLogger(__name__)
# Monitoring has no key; none of these paths shows a memory.
_OPEN = frozenset({"/healthz", "/readyz", "/v1/memory/openapi.json"})
_KEY_HEADER = "x-memory-key"
KEY_COOKIE = "zibaldone_key"  # set by signing in on the page


@dataclass(frozen=True, slots=True)
class Principal:
    """The sender of a request."""

    user: str | None  # None: may name any user: an admin's key, or nothing that names one
    agent: str | None = None  # restricts access to one agent's messages
    read_only: bool = False
    key_id: str | None = None  # None: no key was needed
    memory_mode: MemoryMode | None = None  # None: the server's
    is_presumed: bool = False  # True if the key table could not be read: nothing is recalled or stored
    by: str | None = None  # who acts, by a grant, in the shared memory `user`; None: it is their own

    def whose(self, user: str | None) -> str:
        """Return the user of a request that names `user`.

        Raises a 403 Problem for another user than the key's, and a 400 if there is none.
        """
        if self.user is not None:
            if user is not None and user != self.user:
                whose = "server" if self.key_id is None else "key"
                raise Problem(403, "other-user", f"this {whose} is for another user's memory")
            return self.user
        if not user:
            raise Problem(400, "no-user", "say whose memory: the parameter user, by MCP X-Memory-User")
        return user

    def which_agent(self, agent: str | None) -> str | None:
        """Return the agent of a request that names `agent`. Raises a 403 Problem for another one."""
        if self.agent is not None:
            if agent is not None and agent != self.agent:
                raise Problem(403, "other-agent", "this key is for another agent's messages")
            return self.agent
        return agent

    def must_write(self) -> None:
        """Raise a 403 Problem for a key that may only read."""
        if self.read_only:
            raise Problem(403, "read-only", "this key may only read")

    def must_be_admin(self) -> None:
        """Raise a 403 Problem for a key that is bound to a user."""
        if self.user is not None:
            raise Problem(403, "admins-only", "this needs a key made with --admin")


async def acting_in(principal: Principal, memory: AsyncMemory, named: str | None) -> Principal:
    """Return the principal in the memory that a request names, where that is shared with the key's user.

    Without a grant it stays the same, and `whose` refuses it, in the same words if there is no such memory.
    """
    if principal.user is None or named in (None, principal.user):
        return principal
    for grant in await memory.admin.grants(user=principal.user, scope=named):
        may_write = grant.write and not principal.read_only
        return replace(principal, user=grant.scope, by=principal.user, read_only=not may_write)
    return principal


class Access:
    """The ASGI middleware that sets `request.state.principal`, or raises a Problem."""

    def __init__(self, app: ASGIApp, *, settings: ServerSettings, keys: KeyStore) -> None:
        self._app, self._settings, self._keys = app, settings, keys
        self._reads = CapacityLimiter(_MOST_READS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate and pass on, or raise a Problem."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self._check_host(headers)
            _check_origin(headers)
            principal = await self._principal(headers, scope["path"])
            if principal:
                scope.setdefault("state", {})["principal"] = principal
                with acting(_door(scope["path"]), principal.key_id):
                    await self._app(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        """Refuse unknown host names, against DNS rebinding."""
        name = host_name(headers.get("host", ""))
        if name is None or not self._is_ours(name):
            raise Problem(
                421,
                "unknown-host",
                "the Host header names no host of this server: start it with --allow-host and that name",
            )

    def _is_ours(self, name: str) -> bool:
        settings = self._settings
        if name in (settings.host.lower(), *(host.lower() for host in settings.allowed_hosts)):
            return True
        # An address cannot be rebound.
        return is_loopback(name) or (not is_loopback(settings.host) and _is_address(name))

    async def _principal(self, headers: Headers, path: str) -> Principal | None:
        """Return the principal; None for open paths, and for the page, which leads to sign-in."""
        token, of_page = presented_token(headers), is_page(path)
        if token is None and of_page:
            token = cookie_parser(headers.get("cookie", "")).get(KEY_COOKIE)
        if token is not None:
            key = await self._looked_up(path, partial(self._keys.authenticate, token), _KEY_S)
            if key is None and not of_page:
                raise _unauthorized("this key is unknown or was revoked")
            if key is None:
                return None
            return Principal(key.user, key.agent, key.read_only, key.id, key.memory_mode)
        if path in _OPEN:
            return None
        needed = await self._need_key(path)
        if needed:
            if of_page:
                return None
            raise _unauthorized("this server needs a key: send it as a bearer token, or as X-Memory-Key")
        return Principal(self._settings.user, is_presumed=needed is None)

    async def _need_key(self, path: str) -> bool | None:
        """True if a key is needed; None if that is unknown and the path is the gateway's.

        If there was no key before, the gateway passes requests on without memory while the database is away.
        """
        were_none = self._keys.were_none
        within_s = self._settings.recall_timeout_ms / 1000 if were_none else _KEY_S
        try:
            return await self._looked_up(path, self._keys.exist, within_s)
        except (StorageUnreachable, StorageBusy) as error:
            if not (_is_gateway(path) and were_none):
                raise
            _logger.warning("whether keys are needed by now is not known: %s", error)
            return None

    async def _looked_up(self, path: str, look: Callable[[], T], within_s: float) -> T:
        """Return `look()`; for the gateway within a time limit. Raises StorageBusy if it is late."""
        if not _is_gateway(path):
            return await in_thread(look)
        task = asyncio.ensure_future(in_thread_of(self._reads, look))
        done, _ = await asyncio.wait([task], timeout=within_s)
        if not done:
            task.cancel()  # a read that has begun goes on in its thread
            raise StorageBusy(f"the keys of this server could not be read within {within_s:g} s: try again")
        return task.result()


def _is_gateway(path: str) -> bool:
    return path.startswith("/v1/") and _door(path) == "gateway"


def _door(path: str) -> str:
    """Return the part of the server that a path belongs to."""
    if is_page(path):
        return "page"
    if path == "/mcp":
        return "mcp"
    return "rest" if path.startswith("/v1/memory") else "gateway"


def is_page(path: str) -> bool:
    """True if a path is the page's: only there the cookie is read, and a missing key leads to sign-in."""
    return not path.startswith(FOR_PROGRAMS)


def presented_token(headers: Headers) -> str | None:
    """Return the server's key in a request: X-Memory-Key, a bearer token or x-api-key.

    Tokens without the prefix of our keys are others', such as the upstream's, and are ignored.
    """
    own = headers.get(_KEY_HEADER)
    if own is not None:
        return own.strip()
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    candidates = (bearer.strip() if scheme.lower() == "bearer" else "", headers.get("x-api-key", "").strip())
    return next((candidate for candidate in candidates if candidate.startswith(PREFIX)), None)


def named_in(headers: Headers, name: str) -> str | None:
    """Return a name from a header, None if empty; clients send UTF-8, which HTTP reads as Latin-1."""
    value = headers.get(name, "").strip()
    with suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    return value or None


def host_name(host: str) -> str | None:
    """Return the host of a Host header in lower case, without port and brackets; None if invalid."""
    try:
        return urlsplit(f"//{host.strip()}").hostname if host.strip() else None
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """True for a loopback name or address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _check_origin(headers: Headers) -> None:
    """Refuse requests of pages of another origin; programs that are no browsers send neither header."""
    origin, own = headers.get("origin"), headers.get("host", "").strip().lower()
    is_foreign = origin is not None and origin.lower() not in (f"http://{own}", f"https://{own}")
    if is_foreign or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise Problem(403, "cross-origin", "pages of other origins may not use this server")


def _unauthorized(detail: str) -> Problem:
    return Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="zibaldone"'})
