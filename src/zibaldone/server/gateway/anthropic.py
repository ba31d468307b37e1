"""Messages, Anthropic's shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zibaldone.server.gateway.chat import with_block
from zibaldone.server.gateway.json_body import JsonObject
from zibaldone.server.gateway.turns import WireTurn, tool_call, wire_turn
from zibaldone.server.gateway.wire import AnswerReader, WireFormat, index, mapping, sequence, text

_FILES = ("image", "document")


class AnthropicMessages(WireFormat):
    """POST /v1/messages."""

    path = "/messages"

    def turns(self, body: JsonObject) -> list[WireTurn]:
        """See WireFormat. A message with results of tools is several turns."""
        return [
            turn
            for place, message in enumerate(sequence(body["messages"]))
            for shape in _shapes(mapping(message))
            if (turn := wire_turn(shape, place)) is not None
        ]

    def with_memory(self, body: JsonObject, place: int, block: str) -> Mapping[str, str]:
        """See WireFormat. As text before the first text of the turn: results of tools stay in front."""
        return with_block(body, "messages", place, block, "text")

    def answer(self, body: Mapping[str, Any]) -> list[WireTurn]:
        """See WireFormat."""
        shapes = _shapes({"role": "assistant", "content": body.get("content")})
        return [turn for shape in shapes if (turn := wire_turn(shape)) is not None]

    def reader(self, body: JsonObject) -> AnswerReader:  # noqa: ARG002 - nothing in it matters
        """See WireFormat."""
        return _MessageReader()


class _MessageReader(AnswerReader):
    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._fragments: dict[int, list[str]] = {}
        self._ended = False

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in an event."""
        kind, place = event.get("type"), index(event.get("index"))
        if kind == "content_block_start":
            self._blocks[place] = dict(mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            delta = mapping(event.get("delta"))
            fragment = text(delta.get("text")) or text(delta.get("partial_json"))
            self._fragments.setdefault(place, []).append(fragment)
        stopped = kind == "message_delta" and mapping(event.get("delta")).get("stop_reason")
        self._ended = bool(stopped) or kind == "message_stop"

    @property
    def is_complete(self) -> bool:
        """True if nothing more is said; of message_stop, which comes then, clients keep nothing of ours."""
        return self._ended

    def turns(self) -> list[WireTurn]:
        """The message so far."""
        content = []
        for place, block in sorted(self._blocks.items()):
            added = "".join(self._fragments.get(place, ()))
            if block.get("type") == "tool_use":
                content.append({**block, "input": added or block.get("input", {})})
            else:
                content.append({**block, "text": text(block.get("text")) + added})
        return AnthropicMessages().answer({"content": content})


def _shapes(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A message in the OpenAI chat shape: results of tools are messages of their own, before the others."""
    role, content = message.get("role"), message.get("content")
    if isinstance(content, str):
        yield {"role": role, "content": content}
        return
    parts: list[Mapping[str, Any]] = []
    calls = []
    for block in map(mapping, sequence(content)):
        kind = block.get("type")
        if kind == "text":
            parts.append({"type": "text", "text": text(block.get("text"))})
        elif kind in _FILES:
            parts.append({"type": kind, kind: {"filename": text(block.get("title")) or None}})
        elif kind == "tool_use":
            calls.append(tool_call(block.get("id"), block.get("name"), block.get("input")))
        elif kind == "tool_result":
            yield _result(block)
    if parts or calls:
        shape: dict[str, Any] = {"role": role, "content": parts or None}
        yield {**shape, "tool_calls": calls} if calls else shape


def _result(block: Mapping[str, Any]) -> Mapping[str, Any]:
    content = block.get("content")
    if not isinstance(content, str):
        parts = map(mapping, sequence(content))
        content = "\n".join(
            text(part["text"]) if "text" in part else f"[{part.get('type')}]" for part in parts
        )
    return {"role": "tool", "content": content, "tool_call_id": block.get("tool_use_id")}
