"""Who asks, and whether they may: the host, the origin, the key, the user."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from zibaldone.core.threads import in_thread
from zibaldone.errors import StorageBusy, StorageUnreachable
from zibaldone.log.audit import acting
from zibaldone.server.keys import PREFIX, KeyStore
from zibaldone.server.problems import Problem
from zibaldone.server.settings import MemoryMode, ServerSettings

T = TypeVar("T")
_KEY_S = 3.0  # that a request to the gateway waits for its key, or for whether it needs one
_MOST_LATE = 16  # looks at the keys that still run, and nobody waits for: until one ends none is begun
_logger = logging.getLogger(__name__)
# Whoever watches a server has no key; none of these says anything of a memory.
_OPEN = frozenset({"/healthz", "/readyz", "/v1/memory/openapi.json"})
_KEY_HEADER = "x-memory-key"
KEY_COOKIE = "zibaldone_key"  # of who signed in on the page
# First segments of the page's paths: there alone the cookie opens, and who has no key is led to sign in.
PAGE_SEGMENTS = frozenset(
    """
    ask favicon.ico forget import jobs maintain message profile recall session sessions sign-in sign-out
    static themes timeline topics usage users
    """.split()
)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a request comes from."""

    user: str | None  # whose memory; None: unbound (no keys on loopback, or an admin's): may name any user
    agent: str | None = None  # whose messages of it alone
    read_only: bool = False
    key_id: str | None = None  # None: no key was needed
    memory_mode: MemoryMode | None = None  # None: the server's
    # Whether a key is needed by now is not known: nothing is shown of any memory, and nothing is stored in
    # one before `request.state.is_open` says that it may be.
    is_presumed: bool = False

    def whose(self, user: str | None) -> str:
        """The user of a request that names this one, or none.

        Raises a 403 Problem for somebody else's memory, and a 400 where nobody is named.
        """
        if self.user is not None:
            if user is not None and user != self.user:
                raise Problem(403, "other-user", "this key is for another user's memory")
            return self.user
        if not user:
            raise Problem(400, "no-user", "say whose memory: add the parameter user")
        return user

    def which_agent(self, agent: str | None) -> str | None:
        """The agent of a request that names this one, or none. Raises a 403 Problem for another's."""
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


class Access:
    """The ASGI middleware that lets a request in, with `request.state.principal`; or answers a problem."""

    def __init__(self, app: ASGIApp, *, settings: ServerSettings, keys: KeyStore) -> None:
        self._app, self._settings, self._keys = app, settings, keys
        self._late = 0  # looks at the keys that no request waits for any more

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, or raise a Problem."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            self._check_host(headers)
            _check_origin(headers)
            principal = await self._principal(headers, scope["path"])
            if principal:
                state = scope.setdefault("state", {})
                state["principal"] = principal
                if principal.is_presumed:
                    state["is_open"] = partial(self._is_open, scope["path"])
                with acting(_door(scope["path"]), principal.key_id):
                    await self._app(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        """Refuse names that are not ours: a page whose name was made to lead here says its own name."""
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
        if is_loopback(settings.host):
            return is_loopback(name)
        return is_loopback(name) or _is_address(name)  # an address cannot be made to lead elsewhere

    async def _principal(self, headers: Headers, path: str) -> Principal | None:
        """Who asks; None where nobody is asked for a key, and on the page, which asks for it itself."""
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
        return Principal(None, is_presumed=needed is None)

    async def _need_key(self, path: str) -> bool | None:
        """True if nobody is served without a key; None: that is not known, and a model may be asked.

        The gateway passes requests on while the database is away or slow, where there was no key before: the
        model can be asked without memory.
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

    async def _is_open(self, path: str) -> bool:
        """True if nobody needs a key, looked once more. Raises StorageError where that is still not known."""
        return not await self._looked_up(path, self._keys.exist, self._settings.recall_timeout_ms / 1000)

    async def _looked_up(self, path: str, look: Callable[[], T], within_s: float) -> T:
        """What a look at the keys gives; a model that is asked through the gateway waits for it so long only.

        A look that is late goes on in its thread. Raises StorageBusy where it is, or where many are.
        """
        if not _is_gateway(path):
            return await in_thread(look)
        if self._late >= _MOST_LATE:
            raise StorageBusy("the keys of this server cannot be read: earlier looks at them still wait")
        task = asyncio.ensure_future(in_thread(look))
        done, _ = await asyncio.wait([task], timeout=within_s)
        if not done:
            self._late += 1
            task.add_done_callback(self._caught_up)
            raise StorageBusy(f"the keys of this server could not be read within {within_s:g} s: try again")
        return task.result()

    def _caught_up(self, task: asyncio.Task[Any]) -> None:
        self._late -= 1
        if not task.cancelled():
            task.exception()  # of a late one nobody asks


def _is_gateway(path: str) -> bool:
    return path.startswith("/v1/") and _door(path) == "gateway"


def _door(path: str) -> str:
    """Which part of the server a path leads to."""
    if is_page(path):
        return "page"
    if path == "/mcp":
        return "mcp"
    return "rest" if path.startswith("/v1/memory") else "gateway"


def is_page(path: str) -> bool:
    """True if a path is of the page for people."""
    return path == "/" or path[1:].partition("/")[0] in PAGE_SEGMENTS


def presented_token(headers: Headers) -> str | None:
    """The key of ours that a request brings: as X-Memory-Key, as bearer token or as x-api-key.

    What does not look like one of ours is somebody else's, such as the upstream's, and is left alone.
    """
    own = headers.get(_KEY_HEADER)
    if own is not None:
        return own.strip()
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    candidates = (bearer.strip() if scheme.lower() == "bearer" else "", headers.get("x-api-key", "").strip())
    return next((candidate for candidate in candidates if candidate.startswith(PREFIX)), None)


def named_in(headers: Headers, name: str) -> str | None:
    """Whom a header names; clients write names in UTF-8, which HTTP takes for Latin-1. None for nobody."""
    value = headers.get(name, "").strip()
    with suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    return value or None


def host_name(host: str) -> str | None:
    """The name or address of a Host header, in small letters, without port and brackets; None for none."""
    try:
        return urlsplit(f"//{host.strip()}").hostname if host.strip() else None
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """True if a name or address leads to this machine only."""
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
    """Refuse what a page of another origin sends; whatever is no browser says nothing of this."""
    origin, own = headers.get("origin"), headers.get("host", "").strip().lower()
    is_foreign = origin is not None and origin.lower() not in (f"http://{own}", f"https://{own}")
    if is_foreign or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise Problem(403, "cross-origin", "pages of other origins may not use this server")


def _unauthorized(detail: str) -> Problem:
    return Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="zibaldone"'})
