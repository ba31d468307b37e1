"""The upstream: the model server that the gateway stands before."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable

from starlette.datastructures import Headers

from zibaldone.errors import InvalidInput, MissingExtra
from zibaldone.server.keys import PREFIX
from zibaldone.server.problems import Problem
from zibaldone.validation import shown

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
# Ours, and what SDKs tell their own server of themselves, which others stumble over.
_OURS = re.compile(r"x-memory-|x-stainless-")
_CREDENTIALS = ("authorization", "x-api-key")
_DOTS = re.compile(r"(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/\\]|%2f|%5c)", re.IGNORECASE)
Content = bytes | AsyncIterator[bytes]
UpstreamAnswer = httpx2.Response  # with its body still to be read


class UpstreamClient:
    """Sends requests on, and never a second time: an answer costs money, and may have been given."""

    def __init__(self, address: str, *, key: str | None = None) -> None:
        """`address` is such as http://localhost:8000/v1; `key` takes the place of the client's own.

        Raises InvalidInput.
        """
        try:
            url = httpx2.URL(address)
        except (httpx2.InvalidURL, TypeError) as error:
            raise InvalidInput(f"the upstream {shown(address)} is no address ({error})") from error
        if url.scheme not in ("http", "https") or not url.host or url.query:
            raise InvalidInput(
                f"the upstream {shown(address)} must be an address such as http://localhost:8000/v1"
            )
        self._base = str(url).rstrip("/")
        self._shown = str(url.copy_with(username=None, password=None)).rstrip("/")
        self._key = key
        self._client = httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_KEPT_OPEN)
        )
        self._timeout = httpx2.Timeout(_READ_S, connect=_CONNECT_S, pool=None).as_dict()

    async def send(
        self, method: str, path: str, query: str, headers: Headers, content: Content, *, plain: bool = False
    ) -> UpstreamAnswer:
        """The answer, whose body is still to be read; whoever asks closes it.

        `path` is below the address, as it came; with `plain` the answer is wanted without compression.
        Raises a Problem when there is none.
        """
        if _DOTS.search(path):
            raise Problem(404, "not-found", "a path has no dots between its slashes")
        url = f"{self._base}{path}" + (f"?{query}" if query else "")
        sent = self._headers(headers, plain=plain)
        if not isinstance(content, bytes) and "content-length" in headers:
            sent.append(("content-length", headers["content-length"]))
        try:
            request = httpx2.Request(
                method, url, headers=sent, content=content, extensions={"timeout": self._timeout}
            )
            return await self._client.send(request, stream=True)
        except httpx2.InvalidURL as error:
            raise Problem(404, "not-found", "this path is no path") from error
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

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _headers(self, headers: Headers, *, plain: bool) -> list[tuple[str, str]]:
        dropped = {name.strip().lower() for name in headers.get("connection", "").split(",")}
        kept = [
            (name, value)
            for name, value in headers.items()
            if name not in _HOP_BY_HOP and name not in dropped and not _OURS.match(name)
            if not (name in _CREDENTIALS and PREFIX in value)  # a key of ours, also another one than is used
            if not (self._key and name in _CREDENTIALS)
            if not (plain and name == "accept-encoding")
        ]
        if plain:
            kept.append(("accept-encoding", "identity"))
        if self._key:
            as_bearer = ("authorization", f"Bearer {self._key}")
            kept.append(("x-api-key", self._key) if "anthropic-version" in headers else as_bearer)
        return kept


async def whole(answer: UpstreamAnswer) -> bytes:
    """The body of an answer, which is closed. Raises a Problem when it breaks off, or cannot be decoded."""
    try:
        return await answer.aread()
    except httpx2.TimeoutException as error:
        raise Problem(504, "upstream-timeout", "the upstream did not end its answer in time") from error
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        raise Problem(502, "upstream-broke-off", "the upstream's answer broke off, or is garbled") from error
    finally:
        await answer.aclose()


def relayed(headers: Iterable[tuple[str, str]], *, changed: bool) -> list[tuple[str, str]]:
    """What of an answer's headers goes on to the client; `changed`: its body will be another one."""
    left = _HOP_BY_HOP | {"content-encoding"} if changed else _HOP_BY_HOP - {"content-length"}
    return [(name.lower(), value) for name, value in headers if name.lower() not in left]
