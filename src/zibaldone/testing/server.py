"""A server on the loopback that speaks the chat and embeddings protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from zibaldone.testing.fakes import HashEmbedder

_DIMENSION = 64  # of vectors, where a request names none
Answering = Callable[[Mapping[str, Any]], str | Mapping[str, Any]]


class FakeOpenAIServer:
    """Use it as a context manager; give `base_url` to a client.

    `answer` makes the model's answer from the request's body: a text, or an object, as JSON. It is never
    streamed.
    """

    def __init__(self, answer: Answering = lambda _: "Here is an answer.") -> None:
        self.answer = answer
        self.requests: list[Mapping[str, Any]] = []  # bodies, in the order in which they came
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def base_url(self) -> str:
        """The URL for a client, such as http://127.0.0.1:34567/v1."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> FakeOpenAIServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler's, below
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                """The list of models."""
                self.reply(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})

            def do_POST(self) -> None:
                """A chat completion or embeddings."""
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                if fault := _fault(self.path, body):
                    error = {"message": fault, "type": "invalid_request_error", "code": None}
                    self.reply(400, {"error": error})
                elif self.path.endswith("/embeddings"):
                    self.reply(200, server._embeddings(body))
                else:
                    self.reply(200, server._completion(body))

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                """Log nothing."""

            def reply(self, status: int, body: Mapping[str, Any]) -> None:
                """Send a body as JSON."""
                self.send(status, json.dumps(body).encode())

            def send(self, status: int, data: bytes) -> None:
                """Send the bytes of a body."""
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.write(data)
                except OSError:
                    self.close_connection = True  # the client has gone

            def write(self, data: bytes) -> None:
                """Write all of a body."""
                self.wfile.write(data)

        return Handler

    def _completion(self, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = self.answer(body)
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        message = {"role": "assistant", "content": text, "refusal": None}
        prompt_tokens = sum(len(str(one["content"]).split()) for one in body["messages"])
        completion_tokens = len(text.split())
        return {
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": body["model"],
            "choices": [{"message": message, "index": 0, "finish_reason": "stop", "logprobs": None}],
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
    turns = body.get("messages")
    if not isinstance(turns, list) or not turns:
        return "'messages' must be a list with at least one message"
    for turn in turns:
        if turn.get("role") not in ("system", "user", "assistant", "tool", "developer"):
            return f"'{turn.get('role')}' is not one of the roles"
        if not isinstance(turn.get("content"), str):
            return "the content of a message must be a string"
    return None
