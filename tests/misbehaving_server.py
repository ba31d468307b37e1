"""A model server on the loopback that misbehaves on demand."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import deque
from enum import Enum
from typing import Any

from zibaldone.testing import FakeOpenAIServer


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
    TOO_LONG = "400: more tokens than the context holds"
    NOT_HTTP_JSON = "200, and the body is a page of HTML"
    HANG = "nothing comes, until the server is closed"
    DROP = "the connection is reset in the middle of the body"
    TRICKLE = "the body comes byte by byte"


class MisbehavingServer(FakeOpenAIServer):
    """What stands in `misbehave` happens to the requests that come next, one each; `always` to every one."""

    def __init__(self, *answer) -> None:
        self.always: Misbehaviour | None = None
        self.misbehave: deque[Misbehaviour] = deque()
        self.refusals = dict(_REFUSALS)
        self.trickle_s = 0.05  # between two bytes
        self._closing = threading.Event()
        self._lock = threading.Lock()
        super().__init__(*answer)

    def close(self) -> None:
        """Release hanging requests and stop."""
        self._closing.set()
        super().close()

    def _next(self) -> Misbehaviour | None:
        with self._lock:
            return self.misbehave.popleft() if self.misbehave else self.always

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        completion = super()._completion(body)
        if body.get("logprobs"):
            (choice,) = completion["choices"]
            others = [{"token": "or", "logprob": -1.5}][: body.get("top_logprobs") or 0]
            tokens = choice["message"]["content"].split()
            given = [{"token": token, "logprob": -0.25, "top_logprobs": others} for token in tokens]
            choice["logprobs"] = {"content": given}
        return completion

    def _handler(server):  # noqa: N805 - `self` is the handler's, below
        class Handler(super()._handler()):
            def send_response(self, code, message=None):
                super().send_response(code, message)
                if code == 429:
                    self.send_header("Retry-After", "0.01")

            def reply(self, status, body):
                self.misbehaviour = server._next() if status == 200 and self.command == "POST" else None
                if self.misbehaviour in server.refusals:
                    status, said = server.refusals[self.misbehaviour]
                    body = {"error": {"message": said, "code": None}}
                elif self.misbehaviour is Misbehaviour.HANG:
                    server._closing.wait()
                    self.close_connection = True
                    return
                elif "choices" in body:
                    body = _spoilt(body, self.misbehaviour)
                super().reply(status, body)

            def send(self, status, data):
                html = b"<html><body>Bad gateway</body></html>"
                super().send(status, html if self.misbehaviour is Misbehaviour.NOT_HTTP_JSON else data)

            def write(self, data):
                if self.misbehaviour is Misbehaviour.DROP:
                    super().write(data[: len(data) // 2])
                    self.wfile.flush()
                    reset = struct.pack("ii", 1, 0)  # close with a reset, and not with an orderly end
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                    self.close_connection = True
                    self.connection.close()
                elif self.misbehaviour is Misbehaviour.TRICKLE:
                    for byte in data:
                        if server._closing.wait(server.trickle_s):
                            break
                        super().write(bytes([byte]))
                        self.wfile.flush()
                else:
                    super().write(data)

        return Handler


def _spoilt(completion: dict[str, Any], misbehaviour: Misbehaviour | None) -> dict[str, Any]:
    """A completion in which the model misbehaves."""
    (choice,) = completion["choices"]
    text = choice["message"]["content"]
    if misbehaviour is Misbehaviour.EMPTY:
        return completion | {"choices": []}
    if misbehaviour is Misbehaviour.INVALID_JSON:
        choice["message"]["content"] = "Certainly! Here is what I found: " + text.replace('"', "'")
    elif misbehaviour is Misbehaviour.SCHEMA_VIOLATION:
        choice["message"]["content"] = json.dumps({"unexpected": [1, 2, 3]})
    elif misbehaviour is Misbehaviour.TRUNCATED:
        choice["message"]["content"], choice["finish_reason"] = text[: len(text) // 2], "length"
    elif misbehaviour is Misbehaviour.REFUSAL:
        choice["message"] |= {"content": None, "refusal": "I am sorry, I can't help with that."}
    return completion


_REFUSALS = {
    Misbehaviour.RATE_LIMITED: (429, "Rate limit reached for requests"),
    Misbehaviour.SERVER_ERROR: (500, "The server had an error while processing your request"),
    Misbehaviour.UNAUTHORISED: (401, "Incorrect API key provided"),
    Misbehaviour.NOT_FOUND: (404, "The model does not exist"),
    Misbehaviour.NO_SCHEMAS: (400, "'response_format' of type 'json_schema' is not supported"),
    Misbehaviour.TOO_LONG: (400, "This model's maximum context length is 8192 tokens"),
}
