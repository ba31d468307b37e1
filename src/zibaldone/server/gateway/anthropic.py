"""Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from zibaldone.server.gateway.json_body import index, mapping, sequence, text
from zibaldone.server.gateway.wire import (
    DESCRIPTION,
    PARAMETERS,
    TOOL,
    HiddenTurn,
    Json,
    ListedWire,
    changed_event,
)


class AnthropicMessages(ListedWire):
    """POST /v1/messages. A round is one list of content blocks."""

    path = "/messages"
    offer: ClassVar[Json] = {"name": TOOL, "description": DESCRIPTION, "input_schema": PARAMETERS}
    no_calls: ClassVar[object] = {"type": "none"}
    good_ends = ("tool_use", "end_turn", "stop_sequence")
    place_name = "index"
    parts_name = "content"
    thoughts = ("thinking", "redacted_thinking")

    def shape(self, element: Json) -> Json:
        content = element.get("content")
        if not isinstance(content, str):
            content = [kept for block in sequence(content) if (kept := _kept(mapping(block)))]
        return {"role": element.get("role"), "content": content}

    def answered(self, body: Json) -> Sequence[Any]:
        return [{"role": "assistant", "content": body.get("content")}]

    def is_end(self, event: Json) -> bool:
        """Before `message_stop`, of which clients keep no member of ours."""
        kind = event.get("type")
        stopped = kind == "message_delta" and mapping(event.get("delta")).get("stop_reason")
        return bool(stopped) or kind == "message_stop"

    def is_call(self, part: Json) -> bool:
        return part.get("type") == "tool_use"

    def add(self, body: Json) -> None:
        kind, place = body.get("type"), index(body.get(self.place_name))
        if kind == "content_block_start":
            self._parts[place] = dict(mapping(body.get("content_block")))
        elif kind == "content_block_delta":
            _extend(self._parts.setdefault(place, {}), mapping(body.get("delta")))

    def event(self, event: bytes, body: Json) -> list[bytes]:
        kind = body.get("type")
        self.add(body)
        if kind == "message_start":
            self.usage = mapping(mapping(body.get("message")).get("usage"))
            return [event] if self.is_first else []
        if self.place_name in body:
            return self.part_event(event, body)
        if kind == "message_delta":
            delta, usage = mapping(body.get("delta")), mapping(body.get("usage"))
            self.usage = {**self.usage, **{name: n for name, n in usage.items() if n is not None}}
            stop = delta.get("stop_reason")
            if stop:
                self.end(stop)
            if self.goes_on:
                return []
            shown = {**delta, "stop_reason": self._shown_stop(stop)}
            return [*self.show(), changed_event(event, body, delta=shown, **self.used())]
        return [] if self.goes_on else [event]

    def read(self, answer: Json) -> dict[str, Any]:
        self.usage, stop = mapping(answer.get("usage")), answer.get("stop_reason")
        self._parts = dict(enumerate(dict(mapping(block)) for block in sequence(answer.get("content"))))
        self.end(stop)
        if not (self.spent or self._seen or self.calls):
            return {}
        return {**self.answer(), "stop_reason": self._shown_stop(stop)}

    def elements(self) -> list[Json]:
        blocks = [
            {**block, "input": _object(block.get("input"))} if self.is_call(block) else block
            for block in self.in_order()
            if block.get("type") != "text" or block.get("text")
        ]
        return [{"role": "assistant", "content": blocks}]

    def result(self, call_id: str, words: str) -> Json:
        return {"type": "tool_result", "tool_use_id": call_id, "content": words}

    def as_elements(self, results: list[Json]) -> list[Json]:
        """One turn has all results."""
        return [{"role": "user", "content": results}]

    def put_back(self, elements: list[Any], place: int, turn: HiddenTurn) -> None:
        """All results of a turn's calls, the client's and ours, go into one turn."""
        if turn.results:
            after = mapping(elements[place + 1]) if place + 1 < len(elements) else {}
            if not (after.get("role") == "user" and sequence(after.get("content"))):
                return
            elements[place + 1] = {**after, "content": [*turn.results, *after["content"]]}
        elements[place : place + 1] = [*turn.earlier, *turn.last]

    def _shown_stop(self, stop: object) -> object:
        return self.shown_end(stop, "tool_use", "end_turn")


def _extend(block: dict[str, Any], delta: Json) -> None:
    """Add a delta to a content block, in place."""
    for name in ("text", "thinking", "signature"):
        if name in delta:
            block[name] = text(block.get(name)) + text(delta[name])
    if partial_json := text(delta.get("partial_json")):
        block["input"] = text(block.get("input")) + partial_json
    if "citation" in delta:
        block["citations"] = [*sequence(block.get("citations")), delta["citation"]]


def _object(given: object) -> object:
    """Return the arguments of a streamed call; {} if they cannot be parsed."""
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    return given if isinstance(given, Mapping) else {}


def _kept(block: Json) -> Json:
    """Return a block that is stored; of files their names or types. Empty for thoughts and the like."""
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "text": text(block.get("text"))}
    if kind in ("image", "document"):
        return {"type": kind, kind: {"filename": text(block.get("title")) or None}}
    if kind == "tool_result" and isinstance(block.get("content"), list):
        parts = map(mapping, block["content"])
        words = [text(part["text"]) if "text" in part else f"[{part.get('type')}]" for part in parts]
        return {**block, "content": "\n".join(words)}
    return block if kind in ("tool_use", "tool_result") else {}
