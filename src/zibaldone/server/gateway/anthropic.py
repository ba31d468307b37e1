"""Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from zibaldone.server.gateway.json_body import (
    JsonObject,
    Splice,
    dumped,
    elements_at,
    index,
    mapping,
    object_at,
    put_before,
    sequence,
    text,
)
from zibaldone.server.gateway.rounds import (
    DESCRIPTION,
    PARAMETERS,
    TOOL,
    HiddenTurn,
    ListedRounds,
    Rounds,
)
from zibaldone.server.gateway.wire import WireFormat


class AnthropicMessages(WireFormat):
    """POST /v1/messages."""

    path = "/messages"

    def shape(self, element: Mapping[str, Any]) -> Mapping[str, Any]:
        content = element.get("content")
        if not isinstance(content, str):
            content = [kept for block in sequence(content) if (kept := _kept(mapping(block)))]
        return {"role": element.get("role"), "content": content}

    def answered(self, body: Mapping[str, Any]) -> Sequence[Any]:
        return [{"role": "assistant", "content": body.get("content")}]

    def rounds(self, body: JsonObject) -> Rounds:  # noqa: ARG002
        return _MessageRounds()

    def is_end(self, event: Mapping[str, Any]) -> bool:
        """Before `message_stop`, of which clients keep no member of ours."""
        kind = event.get("type")
        stopped = kind == "message_delta" and mapping(event.get("delta")).get("stop_reason")
        return bool(stopped) or kind == "message_stop"


class _MessageRounds(ListedRounds):
    """Rounds of messages: one list of content blocks each."""

    offer = dumped({"name": TOOL, "description": DESCRIPTION, "input_schema": PARAMETERS})
    no_calls = '{"type":"none"}'
    good_ends = ("tool_use", "end_turn", "stop_sequence")
    place_name = "index"
    parts_name = "content"
    thoughts = ("thinking", "redacted_thinking")

    def is_call(self, part: Mapping[str, Any]) -> bool:
        return part.get("type") == "tool_use"

    def add(self, body: Mapping[str, Any]) -> None:
        kind, place = body.get("type"), index(body.get(self.place_name))
        if kind == "content_block_start":
            self._parts[place] = dict(mapping(body.get("content_block")))
        elif kind == "content_block_delta":
            _extend(self._parts.setdefault(place, {}), mapping(body.get("delta")))

    def event(self, event: bytes, body: Mapping[str, Any]) -> list[bytes]:
        kind = body.get("type")
        self.add(body)
        if kind == "message_start":
            self.usage = mapping(mapping(body.get("message")).get("usage"))
            self._opening += [event] if self.is_first else []
            return []
        if kind == "content_block_start":
            self.begin_part(index(body.get(self.place_name)))
        if self.place_name in body:
            return self.put(event, body)
        if kind == "message_delta":
            delta, usage = mapping(body.get("delta")), mapping(body.get("usage"))
            self.usage = {**self.usage, **{name: n for name, n in usage.items() if n is not None}}
            stop = delta.get("stop_reason")
            if stop:
                self.end(stop)
            if self.goes_on:
                return []
            shown = {**delta, "stop_reason": self._shown_stop(stop)}
            return self.show(self.change(event, body, delta=shown, **self.used()))
        if kind == "ping":
            opening, self._opening = self._opening, []
            return [*opening, event]
        return [] if self.goes_on else self.show(event)

    def read(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        self.usage, stop = mapping(answer.get("usage")), answer.get("stop_reason")
        self._parts = dict(enumerate(dict(mapping(block)) for block in sequence(answer.get("content"))))
        self.end(stop)
        if not (self.spent or self._seen or self.calls):
            return {}
        return {**self.answer(), "stop_reason": self._shown_stop(stop)}

    def elements(self) -> list[str]:
        blocks = [
            {**block, "input": _object(block.get("input"))} if self.is_call(block) else block
            for block in self.in_order()
            if block.get("type") != "text" or block.get("text")
        ]
        return [dumped({"role": "assistant", "content": blocks})]

    def result(self, call_id: str, words: str) -> Mapping[str, Any]:
        return {"type": "tool_result", "tool_use_id": call_id, "content": words}

    def as_elements(self, results: list[str]) -> list[str]:
        """One turn has all results."""
        return [f'{{"role":"user","content":[{",".join(results)}]}}']

    def restored(self, body: JsonObject, hidden: Mapping[int, HiddenTurn]) -> list[Splice]:
        """All results of a turn's calls, the client's and ours, go into one turn."""
        places = self.places(body)
        edits = []
        for place, turn in hidden.items():
            if turn.results:
                if place + 1 >= len(places):
                    continue
                message = object_at(body.text, places[place + 1][0])
                if not (message["role"] == "user" and sequence(message["content"])):
                    continue
                first, _ = elements_at(body.text, message.member("content").value_start)[0]
                edits.append(put_before(first, turn.results))
            edits.append(Splice(*places[place], ",".join([*turn.earlier, *turn.last])))
        return edits

    def _shown_stop(self, stop: object) -> object:
        return self.shown_end(stop, "tool_use", "end_turn")


def _extend(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
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


def _kept(block: Mapping[str, Any]) -> Mapping[str, Any]:
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
