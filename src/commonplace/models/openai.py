"""Chat models and embedders behind any OpenAI-compatible endpoint: vLLM, SGLang, Ollama, llama.cpp, OpenAI.

The SDK retries what is worth it (connections, timeouts, 408, 409, 429, 5xx; exponential, jittered,
Retry-After up to two minutes). What it does not do is here: a limit on the time of a whole answer, what a
server does not take, and errors that say what to check.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from commonplace.errors import InvalidInput, MissingExtra, ModelFailed, ModelUnavailable
from commonplace.models.base import ChatReply, ChatRequest, TokenLogprob, Turn, Vectors

if TYPE_CHECKING:
    import httpx2
    import openai

_NO_KEY = "none"  # local servers want none, the SDK wants one
_KNOWN_DIMENSIONS: Final = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# What a server may refuse with a 400 or 422: words of the refusal, and what is sent instead from then on.
_REFUSABLE: Final = {
    "structured": ("response_format", "json_schema", "structured", "guided", "grammar"),
    "logprobs": ("logprobs",),
    "max_tokens": ("max_tokens", "max_completion_tokens"),
    "temperature": ("temperature",),
}
_FINISHES: Final = {"length": "length", "content_filter": "refusal"}
_STRICT_UNKNOWN = frozenset(
    "default title format minLength maxLength minItems maxItems pattern minimum maximum uniqueItems".split()
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
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`timeout_s` is for one whole attempt.

        `structured` says whether the server takes JSON schemas: None finds out, and puts the schema into the
        prompt where it does not. Raises MissingExtra and InvalidInput.
        """
        self._model = _named(model)
        self._client = _Client(base_url, api_key, timeout_s, max_retries, headers)
        self._refused: set[str] = {"structured"} if structured is False else set()
        self._must_structure = structured is True

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    def chat(self, request: ChatRequest) -> ChatReply:
        """One answer. Raises ModelUnavailable and ModelFailed."""
        attempts = 0
        while True:
            refused = frozenset(self._refused)
            body = self._body(request, refused)

            def ask(sdk: openai.OpenAI, body: dict[str, Any] = body) -> Any:
                return sdk.chat.completions.with_raw_response.create(**body)

            try:
                response, sent = self._client.call(ask, request.timeout_s)
            except _Refused as error:
                attempts += error.attempts
                what = self._what(str(error), request, refused)
                if what is None:
                    raise ModelFailed(str(error)) from error
                self._refused.add(what)
                continue
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
                schema = {"name": name, "schema": strict_schema(request.schema), "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": schema}
        body["messages"] = [{"role": turn.role, "content": turn.content} for turn in turns]
        if request.max_tokens is not None:
            name = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
            body[name] = request.max_tokens
        if "temperature" not in refused:
            body["temperature"] = request.temperature
        if request.logprobs is not None and "logprobs" not in refused:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        return body

    def _what(self, refusal: str, request: ChatRequest, refused: frozenset[str]) -> str | None:
        """Which part of the request the server does not take; None when it is something else."""
        asked_for = {
            "structured": request.schema is not None and not self._must_structure,
            "logprobs": request.logprobs is not None,
            "max_tokens": request.max_tokens is not None,
            "temperature": True,
        }
        low = refusal.lower()
        for what, mentions in _REFUSABLE.items():
            if asked_for[what] and what not in refused and any(word in low for word in mentions):
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
        self._client = _Client(base_url, api_key, timeout_s, max_retries, headers)
        self._wanted, self._batch_texts = dimension, batch_texts
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
            found = np.array(self._embed([texts[row] for row in some]), dtype=np.float32)
            if found.shape != (len(some), self.dimension) or not np.isfinite(found).all():
                raise ModelFailed(
                    f"{self._model!r} gave vectors of shape {found.shape};"
                    f" {(len(some), self.dimension)} finite numbers were expected"
                )
            vectors[some] = found
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, norms, out=vectors, where=norms > 0)
        return vectors

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._wanted is not None:
            body["dimensions"] = self._wanted
        try:
            response, _ = self._client.call(lambda sdk: sdk.embeddings.with_raw_response.create(**body), None)
        except _Refused as error:
            raise ModelFailed(str(error)) from error
        try:
            data = sorted(response["data"], key=lambda one: one["index"])
            vectors = [[float(number) for number in one["embedding"]] for one in data]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFailed(
                f"the server's answer is not one of the embeddings protocol: {error!r}"
            ) from error
        if len(vectors) != len(texts) or len({len(one) for one in vectors}) != 1:
            raise ModelFailed(f"{self._model!r} gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors


class _Refused(Exception):
    """The server takes no such request (400 or 422)."""

    def __init__(self, message: str, attempts: int) -> None:
        super().__init__(message)
        self.attempts = attempts


class _Client:
    """One SDK client per process, with errors of ours."""

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        timeout_s: float,
        max_retries: int,
        headers: Mapping[str, str] | None,
    ) -> None:
        if base_url is None and api_key is None:
            raise InvalidInput(
                "give base_url= of an OpenAI-compatible server, such as http://localhost:8000/v1, or api_key="
                " for api.openai.com (COMMONPLACE_CHAT_BASE_URL, COMMONPLACE_CHAT_API_KEY)"
            )
        self._sdk = _import()
        self._base_url, self._key = base_url, api_key or _NO_KEY
        self._timeout_s, self._max_retries, self._headers = timeout_s, max_retries, dict(headers or {})
        self._lock = threading.Lock()
        self._made: tuple[int, openai.OpenAI] | None = None

    def __repr__(self) -> str:
        return f"<client of {self._base_url or 'api.openai.com'}>"  # without the key

    def call(self, ask: Callable[[openai.OpenAI], Any], timeout_s: float | None) -> tuple[Any, int]:
        """(the body as JSON, requests sent). Raises ModelUnavailable, ModelFailed and _Refused."""
        sdk = self._sdk
        limit_s = self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s)
        client = self._client().with_options(timeout=limit_s)
        _attempts.count, _attempts.limit_s = 0, limit_s
        where = self._base_url or "api.openai.com"
        try:
            raw = ask(client)
            return raw.http_response.json(), _attempts.count
        except sdk.APITimeoutError as error:
            raise ModelUnavailable(f"{where} did not answer within {limit_s:g} s") from error
        except sdk.APIConnectionError as error:
            reason = error.__cause__ or error
            raise ModelUnavailable(f"no connection to {where}: {reason}: is the server running?") from error
        except sdk.APIStatusError as error:
            raise _of_status(error, where, _attempts.count) from error
        except sdk.OpenAIError as error:
            raise ModelFailed(f"{where}: {error}") from error
        except ValueError as error:
            raise ModelFailed(f"the answer of {where} is not JSON") from error

    def close(self) -> None:
        with self._lock:
            if self._made is not None and self._made[0] == os.getpid():
                self._made[1].close()
            self._made = None

    def _client(self) -> openai.OpenAI:
        """This process's: connections must not be shared with the parent of a fork."""
        with self._lock:
            if self._made is None or self._made[0] != os.getpid():
                client = self._sdk.OpenAI(
                    api_key=self._key,
                    base_url=self._base_url,
                    max_retries=self._max_retries,
                    default_headers=self._headers,
                    http_client=self._sdk.DefaultHttpxClient(event_hooks=_hooks()),
                )
                self._made = (os.getpid(), client)
            return self._made[1]


class _Attempts(threading.local):
    """Of the call that this thread is in."""

    count = 0
    limit_s = 60.0
    until = 0.0  # of the attempt under way, on the monotonic clock


_attempts = _Attempts()


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


def _of_status(error: openai.APIStatusError, where: str, attempts: int) -> Exception:
    """What a status means for who asks."""
    status = error.status_code
    said = _message(error)
    if status in (400, 413, 422):
        return _Refused(f"{where} refused the request ({status}): {said}", attempts)
    checks = {
        401: "check the API key",
        403: "check what the API key may do",
        404: "check the base URL (it ends in /v1 as a rule) and the name of the model",
        429: "the rate limit or the quota is used up",
    }
    advice = checks.get(status, "the server has a problem of its own")
    return ModelUnavailable(f"{where} answered {status}, {advice}: {said}")


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    said = body.get("message") if isinstance(body, dict) else None
    return str(said or error.message)[:500]


def _with_schema(turns: Sequence[Turn], schema: Mapping[str, Any]) -> list[Turn]:
    """The schema in words, at the end of the instructions."""
    import json

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
        kept = {
            key: walk(value, names=key in ("properties", "$defs"))
            for key, value in node.items()
            if names or key not in _STRICT_UNKNOWN
        }
        if not names and node.get("type") == "object":
            kept["additionalProperties"] = False
            kept["required"] = list(node.get("properties", {}))
        return kept

    walked: dict[str, Any] = walk(schema)
    return walked


def _reply(body: Any, attempts: int, logprobs: int | None) -> ChatReply:
    """A chat completion's first choice. Raises ModelFailed when the body is not one."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal")
        finish = choice.get("finish_reason")
        text = refusal or message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError("the content is not a text")
        usage = body.get("usage") or {}
        told = (choice.get("logprobs") or {}).get("content") if logprobs is not None else None
        return ChatReply(
            text=text,
            finish="refusal"
            if refusal or finish == "content_filter"
            else "length"
            if finish == "length"
            else "stop",
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
            logprobs=None if told is None else tuple(_token(one) for one in told),
            attempts=attempts,
        )
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ModelFailed(f"the answer is not one of the chat protocol: {error!r}") from error


def _token(told: Mapping[str, Any]) -> TokenLogprob:
    others = tuple((one["token"], float(one["logprob"])) for one in told.get("top_logprobs") or ())
    return TokenLogprob(told["token"], float(told["logprob"]), others)
