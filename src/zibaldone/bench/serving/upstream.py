"""`python -m zibaldone.bench.serving.upstream`: a model server in a process of its own.

It speaks chat completions, streamed and not. It answers with the text of the request's `prediction`, token
by token, in the time that its accelerator needs, and keeps a record of every request by `metadata.request`.
`GET /records` gives the records, `POST /reset` begins anew, with an empty cache.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from zibaldone.bench.serving.accelerator import CHARACTERS, Accelerator, PrefixCache, count_tokens
from zibaldone.bench.serving.wire import WireHead, read_head, read_pieces

MODEL = "loopback"
_SSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
_DEFAULT_ANSWER = "That is all I can say about it."


@dataclass(frozen=True, slots=True)
class Served:
    """One request; moments in seconds of the machine's monotonic clock, which all processes share."""

    request: str
    received: float  # its last byte
    first: float  # the first token was written
    ended: float
    prompt_tokens: int
    cached_tokens: int
    shared_tokens: int  # with the beginning of the prompt before it in its conversation
    previous_tokens: int  # of that prompt; 0: there was none
    body: str | None  # as it came, where the records keep bodies


class Upstream:
    """The server; what it is asked costs what the accelerator says."""

    def __init__(self, prefill_tokens_per_s: float, tokens_per_s: float, *, prefix_cache: bool) -> None:
        self._rates = (prefill_tokens_per_s, tokens_per_s)
        self._prefix_cache = prefix_cache
        self._reset(keep=False)

    def _reset(self, *, keep: bool) -> None:
        self._accelerator = Accelerator(*self._rates, PrefixCache() if self._prefix_cache else None)
        self._records: list[Served] = []
        self._prompts: dict[str, str] = {}  # the newest, by conversation
        self._keep = keep

    async def serve(self, port: int = 0) -> asyncio.Server:
        """Listen on the loopback; port 0 is any that is free."""
        return await asyncio.start_server(self._connected, "127.0.0.1", port, limit=1 << 20, backlog=2048)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await read_head(reader)
                body = b""
                if "content-length" in head.headers or "transfer-encoding" in head.headers:
                    body = b"".join([piece async for piece in read_pieces(reader, head.headers)])
                await self._answer(head, body, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # whoever asked has gone, or the server ends
        finally:
            writer.close()

    async def _answer(self, head: WireHead, body: bytes, writer: asyncio.StreamWriter) -> None:
        received = time.monotonic()
        method, path, _ = head.line.split(" ", 2)
        if method == "POST" and path.endswith("/chat/completions"):
            try:
                asking = json.loads(body)
                prompt = render(asking["messages"])
            except (ValueError, KeyError, TypeError, AttributeError):
                _send(writer, 400, {"error": {"message": "no messages", "type": "invalid_request_error"}})
                return
            await self._complete(asking, prompt, received, body, writer)
        elif path.endswith("/models"):
            _send(writer, 200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        elif path == "/records":
            _send(writer, 200, [asdict(record) for record in self._records])
        elif path == "/reset":
            self._reset(keep=bool(json.loads(body or b"{}").get("keep")))
            _send(writer, 200, {})
        else:
            _send(writer, 404, {"error": {"message": f"no path {path}", "type": "invalid_request_error"}})

    async def _complete(
        self,
        asking: Mapping[str, Any],
        prompt: str,
        received: float,
        body: bytes,
        writer: asyncio.StreamWriter,
    ) -> None:
        metadata = asking.get("metadata") or {}
        conversation = str(metadata.get("conversation", ""))
        previous = self._prompts.get(conversation, "")
        self._prompts[conversation] = prompt
        shared = _shared(previous, prompt) // CHARACTERS
        prefilled = await self._accelerator.prefill(prompt)
        computed = time.monotonic()
        answer = (asking.get("prediction") or {}).get("content") or _DEFAULT_ANSWER
        pieces = [answer[start : start + CHARACTERS] for start in range(0, len(answer), CHARACTERS)]
        usage = {
            "prompt_tokens": prefilled.tokens,
            "completion_tokens": len(pieces),
            "total_tokens": prefilled.tokens + len(pieces),
            "prompt_tokens_details": {"cached_tokens": prefilled.cached},
        }
        first = 0.0
        try:
            if asking.get("stream"):
                with_usage = bool((asking.get("stream_options") or {}).get("include_usage"))
                writer.write(_SSE)
                for number, piece in enumerate(pieces, start=1):
                    await self._accelerator.token(number, computed)
                    delta = {"content": piece} if number > 1 else {"role": "assistant", "content": piece}
                    first = first or time.monotonic()
                    _event(writer, _chunk(delta))
                    await writer.drain()
                _event(writer, _chunk({}, finish="stop"))
                if with_usage:
                    _event(writer, {**_chunk({}), "choices": [], "usage": usage})
                writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
            else:
                await self._accelerator.token(len(pieces), computed)
                first = time.monotonic()
                message = {"role": "assistant", "content": answer}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                _send(
                    writer,
                    200,
                    {**_chunk({}), "object": "chat.completion", "choices": [choice], "usage": usage},
                )
        finally:
            self._accelerator.remember(f"{prompt}{_said('assistant', answer)}")
            self._records.append(
                Served(
                    request=str(metadata.get("request", "")),
                    received=received,
                    first=first,
                    ended=time.monotonic(),
                    prompt_tokens=prefilled.tokens,
                    cached_tokens=prefilled.cached,
                    shared_tokens=shared,
                    previous_tokens=count_tokens(previous),
                    body=body.decode() if self._keep else None,
                )
            )


def render(messages: Sequence[Mapping[str, Any]]) -> str:
    """A prompt's text: every message behind its role."""
    return "".join(_said(str(message["role"]), _text(message.get("content"))) for message in messages)


def _shared(before: str, text: str) -> int:
    """Characters that both begin with."""
    lengths = range(1, min(len(before), len(text)) + 1)
    return bisect.bisect_left(lengths, True, key=lambda length: before[:length] != text[:length])


def _said(role: str, content: str) -> str:
    return f"<{role}>\n{content}\n"


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _chunk(delta: Mapping[str, str], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def _event(writer: asyncio.StreamWriter, value: Mapping[str, Any]) -> None:
    data = b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def _send(writer: asyncio.StreamWriter, status: int, value: object) -> None:
    data = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)


async def _serve(upstream: Upstream, port: int) -> None:
    server = await upstream.serve(port)
    await server.serve_forever()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--prefill", type=float, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--prefix-cache", action="store_true")
    given = parser.parse_args()
    asyncio.run(_serve(Upstream(given.prefill, given.rate, prefix_cache=given.prefix_cache), given.port))


if __name__ == "__main__":
    main()
