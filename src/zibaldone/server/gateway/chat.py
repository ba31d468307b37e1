"""Chat completions, OpenAI's shape that most servers speak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zibaldone.server.gateway.json_body import JsonObject, dumped, elements_at, object_at, with_element
from zibaldone.server.gateway.turns import WireTurn, tool_call, wire_turn
from zibaldone.server.gateway.wire import AnswerReader, WireFormat, index, mapping, sequence, text

_KEPT = ("role", "content", "name", "tool_calls", "tool_call_id", "refusal")  # of a message


class ChatCompletions(WireFormat):
    """POST /v1/chat/completions."""

    path = "/chat/completions"

    def turns(self, body: JsonObject) -> list[WireTurn]:
        """See WireFormat."""
        read = (_turn(message, place) for place, message in enumerate(sequence(body["messages"])))
        return [turn for turn in read if turn is not None]

    def with_memory(self, body: JsonObject, place: int, block: str) -> Mapping[str, str]:
        """See WireFormat. Inside of the turn: many a chat template takes no two turns of one role."""
        return with_block(body, "messages", place, block, "text")

    def answer(self, body: Mapping[str, Any]) -> list[WireTurn]:
        """See WireFormat. Of several choices the first: which one is taken, the next request shows."""
        for choice in sequence(body.get("choices")):
            turn = _turn(mapping(mapping(choice).get("message")), -1)
            return [] if turn is None else [turn]
        return []

    def reader(self, body: JsonObject) -> AnswerReader:
        """See WireFormat."""
        choices = body["n"]
        return _ChatReader(choices if isinstance(choices, int) else 1)


class _ChatReader(AnswerReader):
    def __init__(self, choices: int) -> None:
        self._open = max(choices, 1)
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._calls: list[list[str]] = []  # id, name, arguments
        self._latest: dict[int, list[str]] = {}  # of these, by the index that the upstream gives
        self._ended = False

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in a chunk."""
        self._ended = False
        for choice in map(mapping, sequence(event.get("choices"))):
            if index(choice.get("index")) == 0:
                self._take(mapping(choice.get("delta")))
            if choice.get("finish_reason"):
                self._open -= 1
                self._ended = self._open == 0

    @property
    def is_complete(self) -> bool:
        """True if every choice has come to its end."""
        return self._ended

    def turns(self) -> list[WireTurn]:
        """The first choice."""
        calls = [tool_call(call_id, name, "".join(more)) for call_id, name, *more in self._calls]
        message = {
            "role": "assistant",
            "content": "".join(self._content) or None,
            "tool_calls": calls or None,
        }
        if self._refusal and not self._content:
            message["content"] = "".join(self._refusal)
        turn = _turn(message, -1)
        return [] if turn is None else [turn]

    def _take(self, delta: Mapping[str, Any]) -> None:
        self._content.append(
            text(delta.get("content")) or text(mapping(delta.get("audio")).get("transcript"))
        )
        self._refusal += filter(None, [text(delta.get("refusal"))])
        for call in map(mapping, sequence(delta.get("tool_calls"))):
            place, call_id = index(call.get("index")), text(call.get("id"))
            function = mapping(call.get("function"))
            fragments = self._latest.get(place)
            if fragments is None or (
                call_id and fragments[0] not in ("", call_id)
            ):  # some count none of them
                fragments = self._latest[place] = ["", ""]
                self._calls.append(fragments)
            fragments[0] = fragments[0] or call_id
            fragments[1] = fragments[1] or text(function.get("name"))
            fragments.append(text(function.get("arguments")))


def with_block(body: JsonObject, name: str, place: int, block: str, part_type: str) -> Mapping[str, str]:
    """The list `name` with a block before the words of its element at `place`; empty when it has none."""
    start = body.member(name).value_start
    changed = _opened_with(body.text, elements_at(body.text, start)[place][0], block, part_type)
    return {} if changed is None else {name: with_element(body.text, start, place, changed)}


def _opened_with(source: str, at: int, block: str, part_type: str) -> str | None:
    """The message that begins there with a block before its own words; None when it has none."""
    message = object_at(source, at)
    content = message["content"]
    if isinstance(content, str):
        return message.rewritten({"content": dumped(f"{block}\n\n{content}")})
    if not isinstance(content, list):
        return None
    start = message.member("content").value_start
    elements = elements_at(source, start)
    first = next((i for i, part in enumerate(content) if mapping(part).get("type") == part_type), None)
    if first is None:
        return None
    pieces = [source[begin:end] for begin, end in elements]
    pieces.insert(first, dumped({"type": part_type, "text": block}))
    return message.rewritten({"content": f"[{','.join(pieces)}]"})


def _turn(message: object, place: int) -> WireTurn | None:
    given = mapping(message)
    shape = {name: given[name] for name in _KEPT if given.get(name) is not None}
    if shape.get("role") == "function":
        shape["role"] = "tool"
    if not shape.get("content") and not shape.get("tool_calls"):
        spoken = mapping(given.get("audio")).get("transcript")
        if not (shape.get("refusal") or spoken):
            return None
        shape["content"] = shape.get("refusal") or spoken
    return wire_turn(shape, place)
