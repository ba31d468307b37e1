"""Responses, OpenAI's newer shape: a list of items, of which messages are one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zibaldone.server.gateway.chat import with_block
from zibaldone.server.gateway.json_body import JsonObject, dumped, object_at
from zibaldone.server.gateway.turns import WireTurn, tool_call, wire_turn
from zibaldone.server.gateway.wire import AnswerReader, WireFormat, index, mapping, sequence, text

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class Responses(WireFormat):
    """POST /v1/responses."""

    path = "/responses"

    def turns(self, body: JsonObject) -> list[WireTurn]:
        """See WireFormat."""
        given = body["input"]
        items = [{"role": "user", "content": given}] if isinstance(given, str) else sequence(given)
        read = (_turn(mapping(item), place) for place, item in enumerate(items))
        return [turn for turn in read if turn is not None]

    def with_memory(self, body: JsonObject, place: int, block: str) -> Mapping[str, str]:
        """See WireFormat."""
        given = body.member("input")
        if isinstance(given.value, str):
            return {"input": dumped(f"{block}\n\n{given.value}")}
        return with_block(body, "input", place, block, "input_text")

    def continues(self, body: JsonObject) -> str | None:
        """See WireFormat."""
        return text(body["previous_response_id"]) or None

    def conversation(self, body: JsonObject) -> str | None:
        """See WireFormat."""
        conversation = body["conversation"]
        return text(conversation) or text(mapping(conversation).get("id")) or None

    def answer(self, body: Mapping[str, Any]) -> list[WireTurn]:
        """See WireFormat."""
        read = (_turn(mapping(item), -1) for item in sequence(body.get("output")))
        return [turn for turn in read if turn is not None]

    def reader(self, body: JsonObject) -> AnswerReader:  # noqa: ARG002 - nothing in it matters
        """See WireFormat."""
        return _ResponseReader()


class _ResponseReader(AnswerReader):
    def __init__(self) -> None:
        self._items: dict[int, Mapping[str, Any]] = {}
        self._texts: dict[int, list[str]] = {}  # of items that are not done
        self._output: list[WireTurn] = []
        self._ended = False

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in an event."""
        kind, place = text(event.get("type")), index(event.get("output_index"))
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._items[place] = mapping(event.get("item"))
            self._texts.pop(place, None)
        elif kind.endswith((".output_text.delta", ".refusal.delta", "_arguments.delta", "_call_input.delta")):
            self._texts.setdefault(place, []).append(text(event.get("delta")))
        self._ended = kind in _ENDS
        if self._ended:
            self._output = Responses().answer(mapping(event.get("response")))

    @property
    def is_complete(self) -> bool:
        """True if the response has ended, well or not."""
        return self._ended

    def turns(self) -> list[WireTurn]:
        """The items of the ended response, or what came of them."""
        if self._output:
            return self._output
        items = []
        for place, item in sorted(self._items.items()):
            kind, added = text(item.get("type")), "".join(self._texts.get(place, ()))
            if added:
                name = _CALLS.get(kind, "content")
                item = {**item, name: added}
            items.append(item)
        return Responses().answer({"output": items})

    def with_report(self, event: JsonObject, report: str) -> str:
        """The event whose response has a member `memory`."""
        if not isinstance(event["response"], Mapping):
            return super().with_report(event, report)
        response = object_at(event.text, event.member("response").value_start)
        return event.rewritten({"response": response.rewritten({"memory": report})})


def _turn(item: Mapping[str, Any], place: int) -> WireTurn | None:
    kind = text(item.get("type", "message"))
    if kind == "message":
        return wire_turn({"role": item.get("role"), "content": item.get("content")}, place)
    if kind in _CALLS:
        call = tool_call(item.get("call_id"), item.get("name"), item.get(_CALLS[kind], ""))
        return wire_turn({"role": "assistant", "tool_calls": [call]}, place)
    if kind in _RESULTS:
        output = item.get("output")
        return wire_turn({"role": "tool", "content": output, "tool_call_id": item.get("call_id")}, place)
    return None
