"""Requests to the upstream, the model server behind the gateway."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from urllib.parse import unquote

from starlette.datastructures import Headers

from zibaldone.core.telemetry import Span, carried
from zibaldone.core.validation import shown
from zibaldone.errors import InvalidInput, MissingExtra
from zibaldone.server.gateway.events import complete
from zibaldone.server.keys import PREFIX
from zibaldone.server.metrics import METHODS
from zibaldone.server.problems import Problem

try:
    import httpx2
except ModuleNotFoundError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[server]'") from error

_CONNECT_S, _READ_S = 10.0, 600.0  # models think long before their first word
_KEPT_OPEN = 256
_HOP_BY_HOP = frozenset(
    (
        "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer"
        " transfer-encoding upgrade host content-length"
    ).split()
)
# Our headers, and the SDKs' telemetry, which other servers than their own may refuse.
_OURS = re.compile(r"x-memory-|x-stainless-")
_CREDENTIALS = ("authorization", "x-api-key")
# Requests sent with the server's own key; all others keep the client's credentials.
_NAMED = re.compile(
    r"POST /(?:chat/completions|completions|embeddings|messages|responses)"
    r"|(?:GET|HEAD) /models(?:/[^/]+)?"
)
# A path segment by RFC 3986, without "@", and without encoded characters that a server may read as a slash, a
# backslash, another percent sign or a control character (%c0 and %c1 begin no UTF-8).
_SEGMENT = re.compile(
    r"(?:[\w.~!$&'()*+,;=:-]|%(?!2[5f]|5c|40|7f|[01]|c[01])[0-9a-f]{2})+", re.ASCII | re.IGNORECASE
)
Content = bytes | AsyncIterator[bytes]
UpstreamAnswer = httpx2.Response  # with its body still to be read


class UpstreamClient:
    """Forwards requests, and never retries: an answer costs money, and may have been given."""

    def __init__(self, address: str, *, key: str | None = None) -> None:
        """`address` is like http://localhost:8000/v1; `key` is sent with the requests for models only.

        Raises InvalidInput.
        """
        try:
            url = httpx2.URL(address)
        except (httpx2.InvalidURL, TypeError) as error:
            raise InvalidInput(f"the upstream {shown(address)} is no address ({error})") from error
        if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
            raise InvalidInput(
                f"the upstream at {shown(url.host or url.path)} must be an address such as http://localhost:8000/v1,"
                " without name, password or query: put its key into an environment variable, and name that"
                " with --upstream-key-env"
            )
        self._base = url.copy_with(query=None)
        self._shown = str(url).rstrip("/")
        self._key = key
        self._client = httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_KEPT_OPEN),
            follow_redirects=False,  # left to the client, with its own credentials
        )
        self._timeout = httpx2.Timeout(_READ_S, connect=_CONNECT_S, pool=None).as_dict()

    async def send(
        self, method: str, route: str, query: str, headers: Headers, content: Content, *, plain: bool = False
    ) -> UpstreamAnswer:
        """Return the answer with its body unread; the caller closes it.

        `route` follows the upstream's address, such as "/models"; `plain` asks for an uncompressed answer.
        Raises a Problem if there is none.
        """
        url = address(self._base, route, query)
        key = self._key if _NAMED.fullmatch(f"{method} {route}") else None
        sent = _headers(headers, key=key, plain=plain)
        if not isinstance(content, bytes) and "content-length" in headers:
            sent.append(("content-length", headers["content-length"]))
        try:
            request = httpx2.Request(
                method, url, headers=sent, content=content, extensions={"timeout": self._timeout}
            )
            with self._span(method) as span:
                request.headers.update(carried())
                answer = await self._client.send(request, stream=True)
                span.note({"http.response.status_code": answer.status_code})
                if answer.status_code >= 400:
                    span.failed(str(answer.status_code))
                return answer
        except httpx2.TimeoutException as error:
            raise Problem(
                504, "upstream-timeout", f"the upstream {self._shown} did not answer in time"
            ) from error
        except httpx2.TransportError as error:
            raise Problem(
                502,
                "upstream-unreachable",
                f"the upstream {self._shown} could not be reached: check that it runs, and --upstream",
            ) from error

    def _span(self, method: str) -> Span:
        """Return the span of a request; its path is the client's, and nobody's to tell."""
        shown = method if method in METHODS else "OTHER"
        facts = {"http.request.method": shown, "server.address": self._base.host}
        return Span(shown, facts, "http.client.request.duration", kind="CLIENT")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def address(base: httpx2.URL, route: str, query: str) -> httpx2.URL:
    """Return the URL of a request; the client controls its path and query only.

    Raises a Problem for a route that servers may interpret differently.
    """
    start, *segments = route.removesuffix("/").split("/")
    if start or not all(_SEGMENT.fullmatch(segment) and not _is_dots(segment) for segment in segments):
        raise _refused()
    try:
        path = base.raw_path.decode("ascii").rstrip("/") + route
        return base.copy_with(path=path, query=query.encode("ascii") if query else None)
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise _refused() from error


def _is_dots(segment: str) -> bool:
    """True for "." and "..", also encoded or with parameters, which some servers strip."""
    return unquote(segment).partition(";")[0] in (".", "..")


def _refused() -> Problem:
    return Problem(
        400,
        "refused-path",
        "this path is not passed on: write it with single slashes, without '@', dots between slashes, and"
        " encoded slashes, backslashes or percent signs",
    )


def _headers(headers: Headers, *, key: str | None, plain: bool) -> list[tuple[str, str]]:
    """Return the headers for the upstream, with `key` in place of the client's credentials."""
    dropped = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    kept = [
        (name, value)
        for name, value in headers.items()
        if name not in _HOP_BY_HOP and name not in dropped and not _OURS.match(name)
        if PREFIX not in value  # any key of ours, and the page's cookie
        if not (key and name in _CREDENTIALS)
        if not (plain and name == "accept-encoding")
    ]
    if plain:
        kept.append(("accept-encoding", "identity"))
    if key:
        as_bearer = ("authorization", f"Bearer {key}")
        kept.append(("x-api-key", key) if "anthropic-version" in headers else as_bearer)
    return kept


async def split(answer: UpstreamAnswer) -> AsyncIterator[list[bytes]]:
    """Yield the events as they come, the last one even if it is incomplete."""
    rest = b""
    async for chunk in answer.aiter_bytes():
        events, rest = complete(rest, chunk)
        yield events
    if rest:
        yield [rest]


async def whole(answer: UpstreamAnswer) -> bytes:
    """Read and close an answer. Raises a Problem if it breaks off or cannot be decoded."""
    try:
        return await answer.aread()
    except httpx2.TimeoutException as error:
        raise Problem(504, "upstream-timeout", "the upstream did not end its answer in time") from error
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        raise Problem(502, "upstream-broke-off", "the upstream's answer broke off, or is garbled") from error
    finally:
        await answer.aclose()


def relayed(headers: Iterable[tuple[str, str]], *, changed: bool) -> list[tuple[str, str]]:
    """Return an answer's headers for the client; with `changed` without those of the original body."""
    left = _HOP_BY_HOP | {"content-encoding"} if changed else _HOP_BY_HOP - {"content-length"}
    return [(name.lower(), value) for name, value in headers if name.lower() not in left]


def media_type(answer: UpstreamAnswer) -> str:
    """Return the media type of an answer's body, in lower case."""
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()
