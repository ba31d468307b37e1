"""Chat models and embedders behind any OpenAI-compatible endpoint: vLLM, SGLang, Ollama, llama.cpp, OpenAI.

The SDK retries what is worth it (connections, timeouts, 408, 409, 429, 5xx; exponential, jittered,
Retry-After up to two minutes). What it does not do is here: a limit on the time of a whole answer, what a
server does not take, and errors that say what to check.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

from commonplace.errors import InvalidInput, MissingExtra, ModelFailed, ModelUnavailable
from commonplace.forking import start_anew_in_children
from commonplace.models.base import ChatReply, ChatRequest, TokenLogprob, Turn, Vectors

if TYPE_CHECKING:
    import httpx2
    import openai

_OPENAI = "https://api.openai.com/v1"
_NO_KEY = "none"  # local servers want none, the SDK wants one
_KNOWN_DIMENSIONS: Final = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# What a server may not take, and the words by which its refusal is known. A request is sent again without it;
# that is remembered once such a request was taken, because a refusal may only quote what it is not about.
_REFUSABLE: Final = {
    "structured": ("response_format", "json_schema", "structured", "guided", "grammar"),
    "logprobs": ("logprobs",),
    "max_tokens": ("max_tokens", "max_completion_tokens"),
    "temperature": ("temperature",),
}
_MAY_BE_ABOUT_A_PART: Final = (400, 403, 404, 413, 422)
_FINISHES: Final = {"length": "length", "content_filter": "refusal"}
_STRICT_UNKNOWN = frozenset(
    (
        "default title format pattern examples deprecated readOnly writeOnly discriminator $schema $comment"
        " minLength maxLength minItems maxItems uniqueItems minimum maximum exclusiveMinimum exclusiveMaximum"
        " multipleOf minProperties maxProperties contentEncoding contentMediaType"
    ).split()
)


class OpenAIChat:
    """A chat model. Safe to share among threads and to carry over a fork."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 4,
        structured: bool | None = None,
        max_tokens: int | None = None,
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`timeout_s` is for one whole attempt, `max_tokens` for requests that set no limit of their own.

        `structured` says whether the server takes JSON schemas: None finds out, and puts the schema into the
        prompt where it does not. `extra_body` goes into every request as it is, for what only one server
        knows. Raises MissingExtra and InvalidInput.
        """
        self._model = _named(model)
        self._client = _Client("CHAT", base_url, api_key, timeout_s, max_retries, headers)
        self._max_tokens = None if max_tokens is None else _at_least("max_tokens", max_tokens, 1)
        self._extra_body = dict(extra_body or {})
        self._refused: set[str] = {"structured"} if structured is False else set()
        self._must_structure = structured is True

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    def chat(self, request: ChatRequest) -> ChatReply:
        """One answer. Raises ModelUnavailable and ModelFailed."""
        attempts = 0
        refused = frozenset(self._refused)
        while True:
            body = self._body(request, refused)

            def ask(sdk: openai.OpenAI, limit_s: float, body: dict[str, Any] = body) -> Any:
                create = sdk.chat.completions.with_raw_response.create
                return create(**body, extra_body=self._extra_body, timeout=limit_s)

            try:
                response, sent = self._client.call(ask, request.timeout_s)
            except _Refused as error:
                attempts += error.attempts
                what = self._what(error.said, body, refused)
                if what is None:
                    raise error.otherwise from error.__cause__
                refused |= {what}
                continue
            self._refused |= refused
            return _reply(response, attempts + sent, request.logprobs)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    def _body(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, Any]:
        turns = list(request.turns)
        body: dict[str, Any] = {"model": self._model}
        if request.schema is not None:
            if "structured" in refused:
                turns = _with_schema(turns, request.schema)
            else:
                name = request.task.replace(".", "_")
                strict = not _is_open(request.schema)
                schema = strict_schema(request.schema) if strict else request.schema
                named = {"name": name, "schema": schema, "strict": strict}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
        body["messages"] = [{"role": turn.role, "content": turn.content} for turn in turns]
        limit = self._max_tokens if request.max_tokens is None else request.max_tokens
        if limit is not None:
            body["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] = limit
        if "temperature" not in refused:
            body["temperature"] = request.temperature
        if request.logprobs is not None and "logprobs" not in refused:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        return body

    def _what(self, said: str, body: Mapping[str, Any], refused: frozenset[str]) -> str | None:
        """Which part of the request the server does not take; None when it is something else."""
        sent = {
            "structured": "response_format" in body and not self._must_structure,
            "logprobs": "logprobs" in body,
            "max_tokens": "max_tokens" in body,
            "temperature": "temperature" in body,
        }
        low = said.lower()
        for what, mentions in _REFUSABLE.items():
            if sent[what] and what not in refused and any(word in low for word in mentions):
                return what
        return None


class OpenAIEmbedder:
    """An embedder. Safe to share among threads and to carry over a fork."""

    def __init__(
        self,
        model: str,
        *,
        dimension: int | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 4,
        batch_texts: int = 256,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`dimension` shortens the vectors where the model allows it; None: the model's own.

        Raises MissingExtra and InvalidInput.
        """
        self._model = _named(model)
        self._client = _Client("EMBED", base_url, api_key, timeout_s, max_retries, headers)
        self._batch_texts = _at_least("batch_texts", batch_texts, 1)
        self._wanted = None if dimension is None else _at_least("dimension", dimension, 1)
        self._dimension = dimension or _KNOWN_DIMENSIONS.get(model)

    @property
    def name(self) -> str:
        """The model's name and the length of its vectors."""
        return f"openai-{self._model}-{self.dimension}"

    @property
    def dimension(self) -> int:
        """Asks the server when it is neither given nor known. Raises ModelUnavailable and ModelFailed."""
        if self._dimension is None:
            self._dimension = len(self._embed(["dimension"])[0])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, rows of unit length; a zero row for a text of white space, which servers refuse."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        for start in range(0, len(rows), self._batch_texts):
            some = rows[start : start + self._batch_texts]
            found = np.array(self._embed([texts[row] for row in some]), dtype=np.float64)
            with np.errstate(over="ignore"):
                norms = np.linalg.norm(found, axis=1, keepdims=True)
            if found.shape != (len(some), self.dimension) or not np.isfinite(norms).all():
                raise ModelFailed(
                    f"{self._model!r} gave vectors of shape {found.shape};"
                    f" {(len(some), self.dimension)} finite numbers were expected"
                )
            vectors[some] = np.divide(found, norms, out=found, where=norms > 0)
        return vectors

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._wanted is not None:
            body["dimensions"] = self._wanted

        def ask(sdk: openai.OpenAI, limit_s: float) -> Any:
            return sdk.embeddings.with_raw_response.create(**body, timeout=limit_s)

        try:
            response, _ = self._client.call(ask, None)
        except _Refused as error:
            raise error.otherwise from error.__cause__
        try:
            data = sorted(response["data"], key=lambda one: one["index"])
            places = [one["index"] for one in data]
            vectors = [[float(number) for number in one["embedding"]] for one in data]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFailed(
                f"the server's answer is not one of the embeddings protocol: {error!r}"
            ) from error
        if places != list(range(len(texts))):
            raise ModelFailed(f"{self._model!r} gave {len(vectors)} vectors for {len(texts)} texts")
        lengths = {len(one) for one in vectors}
        if len(lengths) != 1 or not lengths.isdisjoint({0}):
            raise ModelFailed(f"{self._model!r} gave vectors of {sorted(lengths)} numbers")
        return vectors


class _Refused(Exception):
    """The server does not take the request as it is, perhaps for one part of it."""

    def __init__(self, said: str, attempts: int, otherwise: ModelFailed) -> None:
        super().__init__(said)
        self.said, self.attempts = said, attempts
        self.otherwise = otherwise  # what it means when it is about no such part


class _Client:
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
                f" for api.openai.com (COMMONPLACE_{kind}_BASE_URL, COMMONPLACE_{kind}_API_KEY)"
            )
        # Never None: the SDK would ask OPENAI_BASE_URL, and send this key to whom it names.
        self._base_url = _OPENAI if base_url is None else base_url
        self._where = _where(self._base_url)
        self._key = _sendable("api_key", api_key or _NO_KEY)
        self._quoted = re.compile(rf"(?<!\w){re.escape(api_key)}(?!\w)") if api_key else None
        self._headers = {_sendable("headers", k): _sendable("headers", v) for k, v in (headers or {}).items()}
        self._max_retries = _at_least("max_retries", max_retries, 0)
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
        """In a forked child: the connections are the parent's, to be neither used nor closed."""
        self._lock = threading.Lock()
        self._parents, self._made = self._made, None

    def call(self, ask: Callable[[openai.OpenAI, float], Any], timeout_s: float | None) -> tuple[Any, int]:
        """(the body as JSON, requests sent). Raises ModelUnavailable, ModelFailed and _Refused."""
        sdk, where = self._sdk, self._where
        limit_s = self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s)
        if limit_s <= 0:
            raise ModelUnavailable(f"no time is left to ask {where}: timeout_s is {limit_s!r}")
        _attempts.count, _attempts.limit_s = 0, limit_s
        try:
            raw = ask(self._client(), limit_s)
        except sdk.APITimeoutError as error:
            raise ModelUnavailable(f"{where} did not answer within {limit_s:g} s") from error
        except sdk.APIConnectionError as error:
            reason = error.__cause__ or error
            raise ModelUnavailable(f"no connection to {where}: {reason}: is the server running?") from error
        except sdk.APIStatusError as error:
            # A server that quotes the key would have it in the traceback of what this is raised from.
            quotes = self._quoted is not None and self._quoted.search(str(error))
            raise self._of_status(error) from (None if quotes else error)
        except sdk.OpenAIError as error:
            raise ModelFailed(f"{where}: {error}") from error
        except ValueError as error:
            raise ModelFailed(f"the request cannot be sent to {where}: {error}") from error
        try:
            return raw.http_response.json(), _attempts.count
        except (ValueError, RecursionError) as error:
            raise ModelFailed(f"the answer of {where} is not JSON") from error

    def close(self) -> None:
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

    def _of_status(self, error: openai.APIStatusError) -> Exception:
        """What a status means for who asks."""
        status = error.status_code
        said = _message(error)
        if self._quoted is not None:
            said = self._quoted.sub("[the key]", said)
        said = said[:500]
        if status in (400, 413, 422):
            failure = ModelFailed(f"{self._where} refused the request ({status}): {said}")
        else:
            advice = _ADVICE.get(status, "the server has a problem of its own")
            failure = ModelUnavailable(f"{self._where} answered {status}, {advice}: {said}")
        return _Refused(said, _attempts.count, failure) if status in _MAY_BE_ABOUT_A_PART else failure


class _Attempts(threading.local):
    """Of the call that this thread is in."""

    count = 0
    limit_s = 60.0
    until = 0.0  # of the attempt under way, on the monotonic clock


_attempts = _Attempts()


_ADVICE: Final = {
    401: "check the API key",
    403: "check what the API key may do",
    404: "check the base URL (it ends in /v1 as a rule) and the name of the model",
    429: "the rate limit or the quota is used up",
}


def _hooks() -> dict[str, list[Callable[..., Any]]]:
    """Count requests, and end an answer that takes longer than its limit, however it trickles in."""
    import httpx2

    class Trickle(httpx2.SyncByteStream):
        def __init__(self, stream: httpx2.SyncByteStream, until: float) -> None:
            self._stream, self._until = stream, until

        def __iter__(self) -> Iterator[bytes]:
            for part in self._stream:
                if time.monotonic() > self._until:
                    raise httpx2.ReadTimeout("the answer took too long")
                yield part

        def close(self) -> None:
            self._stream.close()

    def sending(_: httpx2.Request) -> None:
        _attempts.count += 1
        _attempts.until = time.monotonic() + _attempts.limit_s

    def answered(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = Trickle(response.stream, _attempts.until)

    return {"request": [sending], "response": [answered]}


def _import() -> Any:
    try:
        import openai
    except ImportError as error:
        raise MissingExtra("no module 'openai': pip install 'commonplace[openai]'") from error
    return openai


def _named(model: object) -> str:
    if not isinstance(model, str) or not model.strip():
        raise InvalidInput(f"model must be a model's name, not {model!r}")
    return model


def _at_least(name: str, value: int, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least}, not {value!r}")
    return value


def _sendable(name: str, value: str) -> str:
    """What can stand in a header. The value is a secret, and in no error."""
    if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
        raise InvalidInput(f"{name} must be printable ASCII: look for a line break or an accent in it")
    return value


def _where(base_url: str) -> str:
    """The base URL as errors show it: without a password."""
    try:
        parts = urlsplit(base_url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise InvalidInput(f"base_url must be one such as http://localhost:8000/v1, not {base_url!r}")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    said = body.get("message") if isinstance(body, dict) else None
    return str(said or error.message)


def _with_schema(turns: Sequence[Turn], schema: Mapping[str, Any]) -> list[Turn]:
    """The schema in words, at the end of the instructions."""
    words = "Answer with one JSON object that fits this JSON schema, and with nothing else:\n" + json.dumps(
        schema, ensure_ascii=False
    )
    if turns and turns[0].role == "system":
        return [Turn("system", f"{turns[0].content}\n\n{words}"), *turns[1:]]
    return [Turn("system", words), *turns]


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema as strict structured output demands it: every property required, none beside them."""

    def walk(node: Any, *, names: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(one) for one in node]
        if not isinstance(node, Mapping):
            return node
        if not names and "$ref" in node:
            return {"$ref": node["$ref"]}  # nothing may stand beside it, not even a description
        kept = {
            "anyOf" if key == "oneOf" and not names else key: walk(
                value, names=key in ("properties", "$defs")
            )
            for key, value in node.items()
            if names or key not in _STRICT_UNKNOWN
        }
        if not names and node.get("type") == "object":
            kept["additionalProperties"] = False
            kept["required"] = list(node.get("properties", {}))
        return kept

    walked: dict[str, Any] = walk(schema)
    return walked


def _is_open(node: Any) -> bool:
    """Whether a schema has mappings of any key, or tuples: strict mode cannot say either."""
    if isinstance(node, list):
        return any(_is_open(one) for one in node)
    if not isinstance(node, Mapping):
        return False
    return (
        bool(node.get("additionalProperties"))
        or "prefixItems" in node
        or any(_is_open(one) for one in node.values())
    )


def _reply(body: Any, attempts: int, logprobs: int | None) -> ChatReply:
    """A chat completion's first choice. Raises ModelFailed when the body is not one."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal")
        finish = "refusal" if refusal else _FINISHES.get(choice.get("finish_reason"), "stop")
        text = _storable(refusal or message.get("content") or "")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        told = body.get("error") if isinstance(body, dict) else None
        raise ModelFailed(f"the answer is not one of the chat protocol: {told or error!r}") from error
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return ChatReply(
        text=text,
        finish=finish,
        prompt_tokens=_count(counts.get("prompt_tokens")),
        completion_tokens=_count(counts.get("completion_tokens")),
        logprobs=None if logprobs is None else _tokens(choice.get("logprobs")),
        attempts=attempts,
    )


def _storable(text: Any) -> str:
    """Without lone surrogates, which JSON can carry and no file or database takes."""
    if not isinstance(text, str):
        raise TypeError("the content is not a text")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _count(value: Any) -> int | None:
    """Tokens as the server counted, if it did."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if good else None


def _tokens(told: Any) -> tuple[TokenLogprob, ...] | None:
    """None when the server has none, or something else in their place: the answer is good without."""
    try:
        return tuple(_token(one) for one in told["content"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return None


def _token(told: Mapping[str, Any]) -> TokenLogprob:
    others = tuple((one["token"], _logprob(one)) for one in told.get("top_logprobs") or ())
    return TokenLogprob(told["token"], _logprob(told), others)


def _logprob(told: Mapping[str, Any]) -> float:
    value = float(told["logprob"])
    if math.isnan(value):
        raise ValueError("a log-probability that is not a number")
    return value
