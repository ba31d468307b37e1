"""Messages, Anthropic's shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from zibaldone.server.gateway.chat import with_block
from zibaldone.server.gateway.json_body import (
    JsonObject,
    Splice,
    dumped,
    elements_at,
    index,
    mapping,
    object_at,
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
    added,
)
from zibaldone.server.gateway.turns import WireTurn, tool_call, wire_turn
from zibaldone.server.gateway.wire import AnswerReader, WireFormat

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

    def rounds(self, body: JsonObject) -> Rounds | None:  # noqa: ARG002 - each can have them
        """See WireFormat."""
        return MessageRounds()


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


class MessageRounds(ListedRounds):
    """Rounds of messages: a list of blocks each."""

    offer = dumped({"name": TOOL, "description": DESCRIPTION, "input_schema": PARAMETERS})
    no_calls = '{"type":"none"}'
    place_name = "index"
    thoughts = ("thinking", "redacted_thinking")

    def is_call(self, part: Mapping[str, Any]) -> bool:
        """See ListedRounds."""
        return part.get("type") == "tool_use"

    def event(self, event: bytes, body: Mapping[str, Any]) -> bytes:
        """See Rounds."""
        kind = body.get("type")
        if kind == "message_start":
            self.usage = mapping(mapping(body.get("message")).get("usage"))
            self._opening += event if self.is_first else b""
            return b""
        if kind == "content_block_start":
            self.begin_part(index(body.get(self.place_name)), mapping(body.get("content_block")))
            return self.put(event, body)
        if kind in ("content_block_delta", "content_block_stop"):
            self._take(index(body.get(self.place_name)), mapping(body.get("delta")))
            return self.put(event, body)
        if kind == "message_delta":
            delta, usage = mapping(body.get("delta")), mapping(body.get("usage"))
            self.usage = {**self.usage, **{name: n for name, n in usage.items() if n is not None}}
            self._stop(delta.get("stop_reason"))
            if self.goes_on:
                return b""
            changed = {**delta, "stop_reason": self._shown_stop(delta.get("stop_reason"))}
            usage = added(self.spent, self.usage) if self.spent else usage
            return self.show(self.change(event, body, delta=changed, **({"usage": usage} if usage else {})))
        if kind == "ping":
            event, self._opening = self._opening + event, b""
            return event
        return b"" if self.goes_on else self.show(event)

    def whole(self, body: JsonObject) -> str:
        """See Rounds."""
        self.usage = mapping(body["usage"])
        self._parts = dict(enumerate(dict(mapping(block)) for block in sequence(body["content"])))
        self._stop(body["stop_reason"])
        if not (self.spent or self._seen or self.calls):
            return body.text
        changed = {
            "content": dumped([*self._seen, *self.visible()]),
            "stop_reason": dumped(self._shown_stop(body["stop_reason"])),
        }
        if self.spent:
            changed["usage"] = dumped(added(self.spent, self.usage))
        return body.rewritten(changed)

    def words(self) -> str:
        """See Rounds."""
        return "".join(text(block.get("text")) for block in (*self._seen, *self.visible()))

    def elements(self) -> list[str]:
        """See Rounds."""
        blocks = [
            {**block, "input": _object(block.get("input"))} if self.is_call(block) else block
            for block in self.in_order()
            if block.get("type") != "text" or block.get("text")
        ]
        return [dumped({"role": "assistant", "content": blocks})]

    def result(self, call_id: str, words: str) -> Mapping[str, Any]:
        """See Rounds."""
        return {"type": "tool_result", "tool_use_id": call_id, "content": words}

    def as_elements(self, results: list[str]) -> list[str]:
        """See Rounds. One turn has them all."""
        return [f'{{"role":"user","content":[{",".join(results)}]}}']

    def restored(self, body: JsonObject, hidden: Mapping[int, HiddenTurn]) -> list[Splice]:
        """See Rounds. The results of one turn's calls stand in one turn, the client's with ours."""
        places = self.places(body)
        edits = []
        for place, turn in hidden.items():
            behind = Splice(0, 0, "")
            if turn.results:
                if place + 1 >= len(places):
                    continue
                message = object_at(body.text, places[place + 1][0])
                if not (message["role"] == "user" and sequence(message["content"])):
                    continue
                at = elements_at(body.text, message.member("content").value_start)[0][0]
                behind = Splice(at, at, "".join(f"{result}," for result in turn.results))
            edits += [Splice(*places[place], ",".join([*turn.earlier, *turn.last])), behind]
        return edits

    def _take(self, place: int, delta: Mapping[str, Any]) -> None:
        block = self._parts.setdefault(place, {})
        for name in ("text", "thinking", "signature"):
            if name in delta:
                block[name] = text(block.get(name)) + text(delta[name])
        if "partial_json" in delta:
            before = block.get("input")
            block["input"] = (before if isinstance(before, str) else "") + text(delta["partial_json"])
        if "citation" in delta:
            block["citations"] = [*sequence(block.get("citations")), delta["citation"]]

    def _stop(self, reason: object) -> None:
        if reason:
            self.is_over, self.ended_well = True, reason in ("tool_use", "end_turn", "stop_sequence")

    def _shown_stop(self, reason: object) -> object:
        return "end_turn" if self.is_stripped and reason == "tool_use" else reason


def _object(given: object) -> object:
    """The arguments of a streamed call; of what cannot be read nothing."""
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            given = json.loads(given)
    return given if isinstance(given, Mapping) else {}


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
