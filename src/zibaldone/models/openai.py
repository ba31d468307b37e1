"""Chat models and embedders behind any OpenAI-compatible endpoint: vLLM, SGLang, Ollama, llama.cpp, OpenAI.

The SDK retries what is worth it (connections, timeouts, 408, 409, 429, 5xx; exponential, jittered,
Retry-After up to two minutes). What it does not do is here: a limit on the time of a whole answer, what a
server does not take, and errors that say what to check.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from zibaldone.core.telemetry import model_call
from zibaldone.core.validation import count
from zibaldone.errors import InvalidInput, ModelFailed
from zibaldone.models.base import (
    ChatReply,
    ChatRequest,
    TokenLogprob,
    Turn,
    Vectors,
    storable,
    whole_number,
)
from zibaldone.models.embedding import checked
from zibaldone.models.endpoint import Client
from zibaldone.storage.batches import in_chunks

if TYPE_CHECKING:
    import openai

_KNOWN_DIMENSIONS: Final = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
# Parts of a request that a server may not take, and the words by which its refusal is known. It is sent again
# without the part; that is remembered once such a request was taken, because a refusal may only quote what it
# is not about.
_REFUSABLE: Final = {
    "response_format": ("response_format", "json_schema", "structured", "guided", "grammar"),
    "logprobs": ("logprobs",),
    "max_tokens": ("max_tokens", "max_completion_tokens"),
    "temperature": ("temperature",),
}
_TEXTS_PER_REQUEST = 256
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

    provider = "openai"  # its protocol's, as telemetry names it

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 4,
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`timeout_s` is for one whole attempt; `extra_body` goes into every request, for one server's own.

        Where the server takes no JSON schema, which is found out, it is put into the prompt. Raises
        MissingExtra and InvalidInput.
        """
        self.name = _named(model)
        self._client = Client("CHAT", base_url, api_key, timeout_s, max_retries, headers)
        self._extra_body = dict(extra_body or {})
        self._refused: set[str] = set()

    def chat(self, request: ChatRequest) -> ChatReply:
        """One answer. Raises ModelUnavailable and ModelFailed."""
        requests = 0
        refused = frozenset(self._refused)
        while True:
            body = self._body(request, refused)
            allowed = [request.max_attempts, request.max_requests and request.max_requests - requests]

            def ask(sdk: openai.OpenAI, limit_s: float, body: dict[str, Any] = body) -> Any:
                create = sdk.chat.completions.with_raw_response.create
                return create(**body, extra_body=self._extra_body, timeout=limit_s)

            try:
                response, sent = self._client.call(
                    ask, request.timeout_s, min((most for most in allowed if most is not None), default=None)
                )
            except ModelFailed as error:
                error.requests = requests = requests + error.requests
                part = _part_refused(error.complaint, body)
                if part is None or requests == request.max_requests:
                    raise
                refused |= {part}
            else:
                self._refused |= refused
                return _reply(response, requests + sent, request.logprobs)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    def _body(self, request: ChatRequest, refused: frozenset[str]) -> dict[str, Any]:
        turns = list(request.turns)
        body: dict[str, Any] = {"model": self.name}
        if request.schema is not None:
            if "response_format" in refused:
                turns = _with_schema(turns, request.schema)
            else:
                name = request.task.replace(".", "_")
                strict = not _is_open(request.schema)
                schema = strict_schema(request.schema) if strict else request.schema
                named = {"name": name, "schema": schema, "strict": strict}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
        body["messages"] = [{"role": turn.role, "content": turn.content} for turn in turns]
        if request.max_tokens is not None:
            name = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
            body[name] = request.max_tokens
        if "temperature" not in refused:
            body["temperature"] = request.temperature
        if request.logprobs is not None and "logprobs" not in refused:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        return body


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
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`dimension` shortens the vectors where the model allows it; None: the model's own.

        Raises MissingExtra and InvalidInput.
        """
        self._model = _named(model)
        self._client = Client("EMBED", base_url, api_key, timeout_s, max_retries, headers)
        self._wanted = None if dimension is None else count("dimension", dimension, least=1)
        self._dimension = dimension or _KNOWN_DIMENSIONS.get(model)

    @property
    def name(self) -> str:
        """The model's name and the length of its vectors."""
        return f"openai-{self._model}-{self.dimension}"

    @property
    def dimension(self) -> int:
        """Asks the server when it is neither given nor known. Raises ModelUnavailable and ModelFailed."""
        if self._dimension is None:
            self._dimension = self._embed(["dimension"]).shape[1]
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, rows of unit length; a zero row for a text of white space, which servers refuse."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        rows = [row for row, text in enumerate(texts) if text.strip()]
        for some in in_chunks(rows, _TEXTS_PER_REQUEST):
            raw = self._embed([texts[row] for row in some])
            vectors[some] = checked(raw, (len(some), self.dimension), repr(self._model))
        return vectors

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._client.close()

    def _embed(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """(n, d), as the server gave them."""
        body: dict[str, Any] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._wanted is not None:
            body["dimensions"] = self._wanted

        def ask(sdk: openai.OpenAI, limit_s: float) -> Any:
            return sdk.embeddings.with_raw_response.create(**body, timeout=limit_s)

        with model_call("embeddings", self._model, OpenAIChat.provider):
            response, _ = self._client.call(ask)
        try:
            data = {int(one["index"]): one["embedding"] for one in response["data"]}
            vectors = np.array([data[place] for place in range(len(texts))], dtype=np.float64)
            if vectors.ndim != 2 or not vectors.size:
                raise ValueError(f"vectors of shape {vectors.shape}")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFailed(
                f"the server's answer is not one of the embeddings protocol: {error!r}"
            ) from error
        return vectors


def _part_refused(complaint: str, body: Mapping[str, Any]) -> str | None:
    """Name the part of the request that the server refused; None if it is something else."""
    low = complaint.lower()
    return next(
        (part for part, words in _REFUSABLE.items() if part in body and any(word in low for word in words)),
        None,
    )


def _named(model: object) -> str:
    if not isinstance(model, str) or not model.strip():
        raise InvalidInput(f"model must be a model's name, not {model!r}")
    return model


def _with_schema(turns: Sequence[Turn], schema: Mapping[str, Any]) -> list[Turn]:
    """Append the schema to the instructions."""
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
    """True if a schema has mappings of any key, or tuples: strict mode cannot say either."""
    if isinstance(node, list):
        return any(_is_open(one) for one in node)
    if not isinstance(node, Mapping):
        return False
    return (
        bool(node.get("additionalProperties"))
        or "prefixItems" in node
        or any(_is_open(one) for one in node.values())
    )


def _reply(body: Any, requests: int, logprobs: int | None) -> ChatReply:
    """A chat completion's first choice. Raises ModelFailed when the body is not one."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        refusal = message.get("refusal")
        finish = "refusal" if refusal else _FINISHES.get(choice.get("finish_reason"), "stop")
        text = refusal or message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError("the content is not a text")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        reported = body.get("error") if isinstance(body, dict) else None
        raise ModelFailed(
            f"the answer is not one of the chat protocol: {reported or error!r}", requests=requests
        ) from error
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return ChatReply(
        text=storable(text),
        finish=finish,
        prompt_tokens=whole_number(counts.get("prompt_tokens")),
        completion_tokens=whole_number(counts.get("completion_tokens")),
        logprobs=None if logprobs is None else _tokens(choice.get("logprobs")),
        attempts=requests,
    )


def _tokens(logprobs: Any) -> tuple[TokenLogprob, ...] | None:
    """Parse log-probabilities; None if the server sent none, or something else."""
    try:
        return tuple(
            TokenLogprob(
                token["token"],
                float(token["logprob"]),
                tuple((other["token"], float(other["logprob"])) for other in token.get("top_logprobs") or ()),
            )
            for token in logprobs["content"]
        )
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return None
