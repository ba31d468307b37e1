"""A model server on the loopback that speaks chat completions, responses and Anthropic's messages.

It says what a test tells it to, as slowly or as badly, and keeps what it was sent.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from zibaldone.server.app import base_url, listening
from zibaldone.server.settings import ServerSettings

Json = dict[str, Any]
_Answer = Callable[[Json, "Reply", int], tuple[Json, Iterator[bytes]]]  # whole, and as events


@dataclass
class Reply:
    """What the model says to one request."""

    text: str = "Noted."
    calls: list[tuple[str, str, Json | str]] = field(default_factory=list)  # id, name, arguments
    thought: str = ""  # before all else, where a format has thoughts
    status: int = 200
    error: Json | None = None  # the body of an answer with another status
    raw: bytes | None = None  # a stream, in place of what the model says
    delay_s: float = 0.0  # before anything is said
    pause_s: float = 0.0  # between two pieces of a stream
    break_after: int | None = None  # pieces of an answer, after which the connection is cut
    end: bool = True  # whether a stream says that it is over


@dataclass
class Sent:
    """One request as it came."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        """Its body."""
        return json.loads(self.body)


class FakeUpstream:
    """Answers with `reply`, which a test may replace; `sent` holds the requests."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.reply: Callable[[Json], Reply] = lambda _: Reply()
        self.hung_up = 0  # streams that a client left
        self._count = 0
        app = Starlette(
            routes=[
                Route("/v1/chat/completions", partial(self._answer, _chat), methods=["POST"]),
                Route("/v1/responses", partial(self._answer, _response), methods=["POST"]),
                Route("/v1/messages", partial(self._answer, _message), methods=["POST"]),
                Route("/v1/models", self._models),
                Route("/v1/models/moved", lambda request: RedirectResponse(request.query_params["to"])),
                Route("/{path:path}", self._echo, methods=["GET", "POST", "PUT", "DELETE"]),
            ]
        )
        bound = listening(ServerSettings(port=0))
        config = uvicorn.Config(app, log_config=None, access_log=False, ws="none", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [bound]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.002)
        self.url = base_url(bound) + "/v1"

    def start_anew(self) -> None:
        """Know nothing of earlier tests."""
        self.sent, self.hung_up, self.reply = [], 0, lambda _: Reply()

    def says(self, *texts: str, **options: Any) -> None:
        """Answer with these, one after the other, and then with the last again."""
        left = list(texts)
        self.reply = lambda _: Reply(left.pop(0) if len(left) > 1 else left[0], **options)

    def replies(self, *replies: Reply) -> None:
        """Answer so, one after the other, and then with the last again."""
        left = list(replies)
        self.reply = lambda _: left.pop(0) if len(left) > 1 else left[0]

    @property
    def last(self) -> Sent:
        """The newest request."""
        return self.sent[-1]

    def stop(self) -> None:
        """Shut down."""
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(10)

    async def _keep(self, request: Request) -> None:
        headers = dict(request.headers)
        self.sent.append(
            Sent(request.method, request.url.path, request.url.query, headers, await request.body())
        )

    async def _models(self, request: Request) -> Response:
        await self._keep(request)
        return JSONResponse({"object": "list", "data": [{"id": "fake", "object": "model", "created": 1}]})

    async def _echo(self, request: Request) -> Response:
        await self._keep(request)
        return Response(self.last.body, media_type="application/octet-stream", headers={"x-upstream": "1"})

    async def _answer(self, answer: _Answer, request: Request) -> Response:
        """Answer in a format, whole or by events."""
        await self._keep(request)
        body = self.last.json
        reply = self.reply(body)
        self._count += 1
        await asyncio.sleep(reply.delay_s)
        if reply.status != 200:
            return _answered(reply.error, reply.status)
        whole, events = answer(body, reply, self._count)
        if reply.raw is not None:
            events = iter([reply.raw])
        if body.get("stream"):
            return self._stream(events, reply, "text/event-stream")
        if reply.break_after is not None:
            return self._stream(iter([json.dumps(whole).encode(), b""]), reply, "application/json")
        return _answered(whole)

    def _stream(self, events: Iterator[bytes], reply: Reply, media_type: str) -> Response:
        ended = False

        async def stream() -> AsyncIterator[bytes]:
            nonlocal ended
            for place, event in enumerate(events):
                if place == reply.break_after:
                    ended = True
                    raise ConnectionAbortedError
                yield event
                await asyncio.sleep(reply.pause_s)
            ended = True

        def note() -> None:
            self.hung_up += not ended

        return _Streamed(stream(), note, media_type)


def _answered(body: Json | None, status: int = 200) -> Response:
    """Answer with JSON in ASCII, which may spell anything."""
    return Response(json.dumps(body), status, {"retry-after": "0"}, media_type="application/json")


class _Streamed(StreamingResponse):
    """Calls back when it is over, however that came; what it streams from ends when it is collected."""

    def __init__(self, events: AsyncIterator[bytes], on_over: Callable[[], None], media_type: str) -> None:
        super().__init__(events, media_type=media_type)
        self._on_over = on_over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_over()


def _chat(body: Json, reply: Reply, count: int) -> tuple[Json, Iterator[bytes]]:
    head = {"id": f"chatcmpl-{count}", "created": 1, "model": body["model"]}
    calls = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": _json(arguments)}}
        for i, name, arguments in reply.calls
    ]
    finish = "tool_calls" if calls else "stop"
    message = {"role": "assistant", "content": reply.text or None, "refusal": None}
    message |= {"tool_calls": calls} if calls else {}
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}

    def chunk(delta: Json | None, finish_reason: str | None = None, **more: Json) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        choices = [] if delta is None else [choice]
        return as_event({**head, "object": "chat.completion.chunk", "choices": choices, **more})

    def events() -> Iterator[bytes]:
        yield chunk({"role": "assistant", "content": ""})
        for piece in _pieces(reply.text):
            yield chunk({"content": piece})
        for index, call in enumerate(calls):
            begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
            yield chunk({"tool_calls": [begun]})
            for piece in _pieces(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        if reply.end:
            if not calls:
                yield b": ping\n\n"
            yield chunk({}, finish)
            if (body.get("stream_options") or {}).get("include_usage"):
                yield chunk(None, usage=usage)
            yield b"data: [DONE]\n\n"

    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, events()


def _response(body: Json, reply: Reply, count: int) -> tuple[Json, Iterator[bytes]]:
    part = {"type": "output_text", "text": reply.text, "annotations": []}
    output: list[Json] = []
    if reply.thought:
        summary = [{"type": "summary_text", "text": reply.thought}]
        output.append({"type": "reasoning", "id": f"rs_{count}", "summary": summary})
    if reply.text:
        message = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
        output.append({**message, "id": f"msg_{count}"})
    for i, name, arguments in reply.calls:
        call = {"type": "function_call", "call_id": i, "name": name, "arguments": _json(arguments)}
        output.append({**call, "id": f"fc_{i}", "status": "completed"})
    whole = {
        "id": f"resp_{count}",
        "object": "response",
        "created_at": 1,
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "status": "completed",
        "usage": {
            "input_tokens": 3,
            "input_tokens_details": {"cached_tokens": 1},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 5,
        },
    }
    numbers = itertools.count()

    def event(kind: str, **fields: Any) -> bytes:
        return as_event({"type": kind, "sequence_number": next(numbers), **fields}, name=kind)

    def events() -> Iterator[bytes]:
        yield event("response.created", response={**whole, "output": [], "status": "in_progress"})
        for index, item in enumerate(output):
            at = {"output_index": index}
            empty = {"message": "content", "reasoning": "summary", "function_call": "arguments"}[item["type"]]
            begun = {**item, empty: "" if empty == "arguments" else []}
            yield event("response.output_item.added", item=begun, **at)
            at |= {"item_id": item["id"]}
            if item["type"] == "message":
                at |= {"content_index": 0}
                yield event("response.content_part.added", part={**part, "text": ""}, **at)
                for piece in _pieces(reply.text):
                    yield event("response.output_text.delta", delta=piece, logprobs=[], **at)
                yield event("response.output_text.done", text=reply.text, logprobs=[], **at)
                yield event("response.content_part.done", part=part, **at)
            elif item["type"] == "function_call":
                for piece in _pieces(item["arguments"]):
                    yield event("response.function_call_arguments.delta", delta=piece, **at)
                yield event("response.function_call_arguments.done", arguments=item["arguments"], **at)
            yield event("response.output_item.done", output_index=index, item=item)
        if reply.end:
            yield event("response.completed", response=whole)

    return whole, events()


def _message(body: Json, reply: Reply, count: int) -> tuple[Json, Iterator[bytes]]:
    content: list[Json] = []
    if reply.thought:
        content.append({"type": "thinking", "thinking": reply.thought, "signature": "sig"})
    content += [{"type": "text", "text": reply.text}] if reply.text else []
    content += [{"type": "tool_use", "id": i, "name": name, "input": given} for i, name, given in reply.calls]
    stop = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    head = {"id": f"msg_{count}", "type": "message", "role": "assistant", "model": body["model"]}
    whole = {**head, "content": content, **stop, "usage": {"input_tokens": 3, "output_tokens": 2}}

    def event(kind: str, **fields: Any) -> bytes:
        return as_event({"type": kind, **fields}, name=kind)

    def events() -> Iterator[bytes]:
        yield event("message_start", message={**whole, "content": [], "stop_reason": None})
        for index, block in enumerate(content):
            kind, of, name = _DELTAS[block["type"]]
            begun = {**block, of: {} if of == "input" else ""}
            begun |= {"signature": ""} if of == "thinking" else {}
            yield event("content_block_start", index=index, content_block=begun)
            for piece in _pieces(_json(block[of])):
                yield event("content_block_delta", index=index, delta={"type": kind, name: piece})
            if of == "thinking":
                delta = {"type": "signature_delta", "signature": block["signature"]}
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        if reply.end:
            yield event("message_delta", delta=stop, usage={"output_tokens": 2})
            yield event("message_stop")

    return whole, events()


def as_event(data: Json, *, name: str | None = None) -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(data).encode() + b"\n\n"


# Of a block's type: that of its deltas, what they are of, and how they call it.
_DELTAS = {
    "text": ("text_delta", "text", "text"),
    "thinking": ("thinking_delta", "thinking", "thinking"),
    "tool_use": ("input_json_delta", "input", "partial_json"),
}


def _json(given: Json | str) -> str:
    """JSON of arguments; what a test gives as text is as the test wants it."""
    return given if isinstance(given, str) else json.dumps(given)


def _pieces(text: str, size: int = 5) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.fixture(scope="session")
def shared_upstream() -> Iterator[FakeUpstream]:
    """One for all tests."""
    server = FakeUpstream()
    yield server
    server.stop()


@pytest.fixture
def upstream(shared_upstream: FakeUpstream) -> FakeUpstream:
    """A model server to which nothing was sent yet."""
    shared_upstream.start_anew()
    return shared_upstream
