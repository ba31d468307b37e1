"""One server that speaks the OpenAI protocol: its connections, what its statuses mean, and its patience."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from zibaldone.core.fork_safety import start_anew_in_children
from zibaldone.core.validation import count
from zibaldone.errors import InvalidInput, MissingExtra, ModelFailed, ModelUnavailable

if TYPE_CHECKING:
    import httpx2
    import openai

_OPENAI = "https://api.openai.com/v1"
_NO_KEY = "none"  # local servers want none, the SDK wants one
_MAY_BE_ABOUT_A_PART: Final = (400, 403, 404, 413, 422)


class Client:
    """One SDK client per process, with errors of ours."""

    def __init__(
        self,
        kind: str,
        base_url: str | None,
        api_key: str | None,
        timeout_s: float,
        max_retries: int,
        headers: Mapping[str, str] | None,
    ) -> None:
        if base_url is None and not api_key:
            raise InvalidInput(
                "give base_url= of an OpenAI-compatible server, such as http://localhost:8000/v1, or api_key="
                f" for api.openai.com (ZIBALDONE_{kind}_BASE_URL, ZIBALDONE_{kind}_API_KEY)"
            )
        # Never None: the SDK would ask OPENAI_BASE_URL, and send this key to whom it names.
        self._base_url = _OPENAI if base_url is None else base_url
        self._where = _where(self._base_url)
        self._key = _sendable("api_key", api_key or _NO_KEY)
        self._quoted = re.compile(rf"(?<!\w){re.escape(api_key)}(?!\w)") if api_key else None
        self._headers = {_sendable("headers", k): _sendable("headers", v) for k, v in (headers or {}).items()}
        self._max_retries = count("max_retries", max_retries, least=0)
        if not isinstance(timeout_s, int | float) or not 0 < timeout_s < math.inf:
            raise InvalidInput(f"timeout_s must be a number of seconds above 0, not {timeout_s!r}")
        self._timeout_s = timeout_s
        self._sdk = _import()
        self._lock = threading.Lock()
        self._made: openai.OpenAI | None = None
        self._parents: openai.OpenAI | None = None
        start_anew_in_children(self)

    def __repr__(self) -> str:
        return f"<client of {self._where}>"  # without the key

    def start_anew(self) -> None:
        """Drop the parent's connections in a forked child, without closing them."""
        self._lock = threading.Lock()
        self._parents, self._made = self._made, None

    def call(
        self,
        ask: Callable[[openai.OpenAI, float], Any],
        timeout_s: float | None = None,
        max_attempts: int | None = None,
    ) -> tuple[Any, int]:
        """Return (the body as JSON, requests sent). Raises ModelUnavailable and ModelFailed."""
        sdk, where = self._sdk, self._where
        limit_s = self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s)
        if limit_s <= 0:
            raise ModelUnavailable(f"no time is left to ask {where}: timeout_s is {limit_s!r}", requests=0)
        client = self._client()
        if max_attempts is not None and max_attempts <= self._max_retries:
            client = client.with_options(max_retries=max_attempts - 1)
        _attempts.count, _attempts.limit_s = 0, limit_s
        try:
            return ask(client, limit_s).http_response.json(), _attempts.count
        except sdk.APITimeoutError as error:
            raise _counted(ModelUnavailable(f"{where} did not answer within {limit_s:g} s")) from error
        except sdk.APIConnectionError as error:
            reason = error.__cause__ or error
            failure = ModelUnavailable(f"no connection to {where}: {reason}: is the server running?")
            raise _counted(failure) from error
        except sdk.APIStatusError as error:
            # A server that quotes the key would have it in the traceback of what this is raised from.
            quotes = self._quoted is not None and self._quoted.search(str(error))
            raise self._of_status(error) from (None if quotes else error)
        except sdk.OpenAIError as error:
            raise _counted(ModelFailed(f"{where}: {error}")) from error
        except (ValueError, RecursionError) as error:
            unsent = f"the request cannot be sent to {where}: {error}"
            what = f"the answer of {where} is not JSON" if _attempts.count else unsent
            raise _counted(ModelFailed(what)) from error

    def close(self) -> None:
        """Close this process's connections."""
        with self._lock:
            if self._made is not None:
                self._made.close()
            self._made = None

    def _client(self) -> openai.OpenAI:
        with self._lock:
            if self._made is None:
                client = self._sdk.OpenAI(
                    api_key=self._key,
                    base_url=self._base_url,
                    max_retries=self._max_retries,
                    default_headers=self._headers,
                    http_client=self._sdk.DefaultHttpxClient(event_hooks=_hooks()),
                )
                client.organization = client.project = None  # of the environment, for whichever server
                self._made = client
            return self._made

    def _of_status(self, error: openai.APIStatusError) -> ModelFailed:
        """Build the error for an HTTP status."""
        status = error.status_code
        message = _message(error)
        if self._quoted is not None:
            message = self._quoted.sub("[the key]", message)
        message = message[:500]
        if status in (400, 413, 422):
            failure = ModelFailed(f"{self._where} refused the request ({status}): {message}")
        else:
            advice = _ADVICE.get(status, "the server has a problem of its own")
            failure = ModelUnavailable(f"{self._where} answered {status}, {advice}: {message}")
        if status in _MAY_BE_ABOUT_A_PART:
            failure.complaint = message
        return _counted(failure)


class _Attempts(threading.local):
    """State of this thread's current call."""

    count = 0
    limit_s = 60.0
    deadline = 0.0  # of the attempt under way, on the monotonic clock


_attempts = _Attempts()


def _counted(failure: ModelFailed) -> ModelFailed:
    """Set the number of requests sent by this thread's call on a failure."""
    failure.requests = _attempts.count
    return failure


_ADVICE: Final = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check the base URL (it ends in /v1 as a rule) and the name of the model",
    429: "the rate limit or the quota is used up",
}


def _hooks() -> dict[str, list[Callable[..., Any]]]:
    """Hooks that count requests, and stop reading a response after its deadline."""
    import httpx2

    class DeadlineStream(httpx2.SyncByteStream):
        def __init__(self, stream: httpx2.SyncByteStream, deadline: float) -> None:
            self._stream, self._deadline = stream, deadline

        def __iter__(self) -> Iterator[bytes]:
            for part in self._stream:
                if time.monotonic() > self._deadline:
                    raise httpx2.ReadTimeout("the answer took too long")
                yield part

        def close(self) -> None:
            self._stream.close()

    def on_request(_: httpx2.Request) -> None:
        _attempts.count += 1
        _attempts.deadline = time.monotonic() + _attempts.limit_s

    def on_response(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = DeadlineStream(response.stream, _attempts.deadline)

    return {"request": [on_request], "response": [on_response]}


def _import() -> Any:
    try:
        import openai
    except ImportError as error:
        raise MissingExtra("no module 'openai': pip install 'zibaldone[openai]'") from error
    return openai


def _sendable(name: str, value: str) -> str:
    """Check that a value can be an HTTP header. It may be secret, so errors do not show it."""
    if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
        raise InvalidInput(f"{name} must be printable ASCII: look for a line break or an accent in it")
    return value


def _where(base_url: str) -> str:
    """Return the base URL without its password, for errors. Raises InvalidInput."""
    try:
        parts = urlsplit(base_url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise InvalidInput(f"base_url must be one such as http://localhost:8000/v1, not {base_url!r}")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _message(error: openai.APIStatusError) -> str:
    reason = error.body.get("message") if isinstance(error.body, dict) else None
    return str(reason or error.message)
