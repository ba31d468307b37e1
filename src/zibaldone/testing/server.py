"""A server on the loopback that speaks the chat and embeddings protocol, and misbehaves on demand."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from zibaldone.testing.fakes import HashEmbedder

_DIMENSION = 64  # of vectors, where a request names none
Answering = Callable[[Mapping[str, Any]], str | Mapping[str, Any]]


class Misbehaviour(Enum):
    """A way to misbehave on one request."""

    INVALID_JSON = "the answer is no JSON"
    SCHEMA_VIOLATION = "the answer is JSON of another shape"
    TRUNCATED = "the answer is cut off at the limit of tokens"
    REFUSAL = "the model refuses"
    EMPTY = "there is no choice in the answer"
    RATE_LIMITED = "429, with Retry-After"
    SERVER_ERROR = "500"
    UNAUTHORISED = "401"
    NOT_FOUND = "404"
    NO_SCHEMAS = "400: response_format is not taken"
    NO_LOGPROBS = "400: logprobs are not taken"
    TOO_LONG = "400: more tokens than the context holds"
    NOT_HTTP_JSON = "200, and the body is a page of HTML"
    HANG = "nothing comes, until the server is closed"
    DROP = "the connection is reset in the middle of the body"
    TRICKLE = "the body comes byte by byte"


class FakeOpenAIServer:
    """Use it as a context manager; give `base_url` to a client.

    `answer` makes the model's answer from the request's body; the default is the least JSON object that fits
    the schema it was sent. What stands in `misbehave` happens to the requests that come next, one each;
    `always` happens to every request.
    """

    def __init__(self, answer: Answering | None = None, *, always: Misbehaviour | None = None) -> None:
        self.answer: Answering = answer or least_answer
        self.always = always
        self.misbehave: deque[Misbehaviour] = deque()
        self.requests: list[Mapping[str, Any]] = []  # bodies, in the order in which they came
        self.trickle_s = 0.05  # between two bytes
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """The URL for a client, such as http://127.0.0.1:34567/v1."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        """Release hanging requests and stop."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> FakeOpenAIServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self, body: Mapping[str, Any]) -> Misbehaviour | None:
        with self._lock:
            self.requests.append(body)
            return self.misbehave.popleft() if self.misbehave else self.always

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's, below
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                """The list of models."""
                if self.path.rstrip("/").endswith("/models"):
                    self._send(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})
                else:
                    self._error(404, f"no path {self.path}")

            def do_POST(self) -> None:
                """A chat completion or embeddings."""
                try:
                    body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                except ValueError:
                    self._error(400, "the body is not JSON")
                    return
                misbehaviour = server._next(body)
                if fault := _fault(self.path, body):
                    self._error(400, fault)
                elif misbehaviour in _STATUSES:
                    self._error(*_STATUSES[misbehaviour])
                elif misbehaviour is Misbehaviour.HANG:
                    server._closing.wait()
                    self.close_connection = True
                elif self.path.endswith("/embeddings"):
                    self._finish(server._embeddings(body), misbehaviour)
                elif body.get("stream"):
                    self._stream(server._completion(body, misbehaviour))
                else:
                    self._finish(server._completion(body, misbehaviour), misbehaviour)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                """Log nothing."""

            def _finish(self, body: Mapping[str, Any], misbehaviour: Misbehaviour | None) -> None:
                if misbehaviour is Misbehaviour.NOT_HTTP_JSON:
                    self._send_bytes(200, b"<html><body>Bad gateway</body></html>", "text/html")
                    return
                data = json.dumps(body).encode()
                if misbehaviour not in (Misbehaviour.DROP, Misbehaviour.TRICKLE):
                    self._send_bytes(200, data, "application/json")
                    return
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if misbehaviour is Misbehaviour.DROP:
                    self.wfile.write(data[: len(data) // 2])
                    self.wfile.flush()
                    reset = struct.pack("ii", 1, 0)  # close with a reset, and not with an orderly end
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                    self.close_connection = True
                    self.connection.close()
                    return
                try:
                    for byte in data:
                        if server._closing.is_set():
                            break
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        time.sleep(server.trickle_s)
                except OSError:
                    self.close_connection = True  # the client has lost its patience

            def _stream(self, body: Mapping[str, Any]) -> None:
                """The answer in server-sent events, word by word."""
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                words = body["choices"][0]["message"]["content"].split(" ")
                pieces = [word if place == 0 else f" {word}" for place, word in enumerate(words)]
                for piece in [*pieces, None]:
                    delta = {} if piece is None else {"content": piece}
                    choice = {"index": 0, "delta": delta, "finish_reason": "stop" if piece is None else None}
                    chunk = {**body, "object": "chat.completion.chunk", "choices": [choice]}
                    self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

            def _error(self, status: int, message: str) -> None:
                kind = "invalid_request_error" if status < 500 else "server_error"
                extra = {"Retry-After": "0.01"} if status == 429 else {}
                self._send(status, {"error": {"message": message, "type": kind, "code": None}}, extra)

            def _send(
                self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
            ) -> None:
                self._send_bytes(status, json.dumps(body).encode(), "application/json", headers)

            def _send_bytes(
                self, status: int, data: bytes, kind: str, headers: Mapping[str, str] | None = None
            ) -> None:
                try:
                    self.send_response(status)
                    for name, value in {"Content-Type": kind, **(headers or {})}.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    self.close_connection = True  # the client has gone

        return Handler

    def _completion(self, body: Mapping[str, Any], misbehaviour: Misbehaviour | None) -> dict[str, Any]:
        answer = self.answer(body)
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        finish, refusal = "stop", None
        if misbehaviour is Misbehaviour.INVALID_JSON:
            text = "Certainly! Here is what I found: " + text.replace('"', "'").replace("{", "(")
        elif misbehaviour is Misbehaviour.SCHEMA_VIOLATION:
            text = json.dumps({"unexpected": [1, 2, 3]})
        elif misbehaviour is Misbehaviour.TRUNCATED:
            text, finish = text[: len(text) // 2], "length"
        elif misbehaviour is Misbehaviour.REFUSAL:
            text, refusal = "", "I am sorry, I can't help with that."
        message = {"role": "assistant", "content": None if refusal else text, "refusal": refusal}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        if body.get("logprobs"):
            alternatives = [{"token": "or", "logprob": -1.5}][: body.get("top_logprobs") or 0]
            choice["logprobs"] = {
                "content": [
                    {"token": word, "logprob": -0.25, "top_logprobs": alternatives} for word in text.split()
                ]
            }
        prompt_tokens = sum(len(str(one["content"]).split()) for one in body["messages"])
        completion_tokens = len(text.split())
        return {
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": body["model"],
            "choices": [] if misbehaviour is Misbehaviour.EMPTY else [choice],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
            },
        }

    def _embeddings(self, body: Mapping[str, Any]) -> dict[str, Any]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = HashEmbedder(body.get("dimensions", _DIMENSION)).embed(texts)
        return {
            "object": "list",
            "model": body["model"],
            "data": [
                {"object": "embedding", "index": place, "embedding": vector.tolist()}
                for place, vector in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)},
        }


_STATUSES = {
    Misbehaviour.RATE_LIMITED: (429, "Rate limit reached for requests"),
    Misbehaviour.SERVER_ERROR: (500, "The server had an error while processing your request"),
    Misbehaviour.UNAUTHORISED: (401, "Incorrect API key provided"),
    Misbehaviour.NOT_FOUND: (404, "The model does not exist"),
    Misbehaviour.NO_SCHEMAS: (400, "'response_format' of type 'json_schema' is not supported"),
    Misbehaviour.NO_LOGPROBS: (400, "logprobs are not supported by this model"),
    Misbehaviour.TOO_LONG: (400, "This model's maximum context length is 8192 tokens"),
}


def _fault(path: str, body: Mapping[str, Any]) -> str | None:
    """Return why a real server would refuse the request; None if it would not."""
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return "you must provide a model parameter"
    if path.endswith("/embeddings"):
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not texts or not all(isinstance(t, str) and t for t in texts):
            return "'$.input' is invalid"
        return None
    if not path.endswith("/chat/completions"):
        return f"no path {path}"
    turns = body.get("messages")
    if not isinstance(turns, list) or not turns:
        return "'messages' must be a list with at least one message"
    for turn in turns:
        if turn.get("role") not in ("system", "user", "assistant", "tool", "developer"):
            return f"'{turn.get('role')}' is not one of the roles"
        if not isinstance(turn.get("content"), str):
            return "the content of a message must be a string"
    return None


def least_answer(body: Mapping[str, Any]) -> str | Mapping[str, Any]:
    """The least JSON object that fits the schema of a request; a few words when it has none."""
    wanted = (body.get("response_format") or {}).get("json_schema")
    if not wanted:
        return "Here is an answer."
    schema = wanted["schema"]
    least = _least(schema, schema.get("$defs", {}))
    assert isinstance(least, dict)
    return least


def _least(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _least(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return _least(schema["anyOf"][0], definitions)
    kind = schema.get("type")
    if kind == "object":
        return {name: _least(one, definitions) for name, one in schema.get("properties", {}).items()}
    return {"array": [], "string": "", "integer": 0, "number": 0.0, "boolean": False}.get(str(kind))
