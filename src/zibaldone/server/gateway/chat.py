"""Chat completions, OpenAI's shape that most servers speak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zibaldone.server.gateway.events import with_data
from zibaldone.server.gateway.json_body import (
    JsonObject,
    Splice,
    dumped,
    elements_at,
    encoded,
    index,
    mapping,
    object_at,
    sequence,
    text,
    with_element,
)
from zibaldone.server.gateway.rounds import (
    DESCRIPTION,
    PARAMETERS,
    TOOL,
    HiddenTurn,
    Rounds,
    ToolCall,
    added,
)
from zibaldone.server.gateway.turns import WireTurn, tool_call, wire_turn
from zibaldone.server.gateway.wire import AnswerReader, WireFormat

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
        return _ChatReader(_choices(body))

    def rounds(self, body: JsonObject) -> Rounds | None:
        """See WireFormat. Of several choices each would call for other rounds; functions are no tools yet."""
        return ChatRounds() if _choices(body) == 1 and not body["functions"] else None


def _choices(body: JsonObject) -> int:
    choices = body["n"]
    return choices if isinstance(choices, int) else 1


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


class ChatRounds(Rounds):
    """Rounds of chat completions: a message each."""

    offer = dumped(
        {"type": "function", "function": {"name": TOOL, "description": DESCRIPTION, "parameters": PARAMETERS}}
    )
    no_calls = '"none"'

    def __init__(self) -> None:
        super().__init__()
        self._id: object = None
        self._earlier: list[str] = []  # texts of the rounds before
        self._message: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._latest: dict[int, dict[str, Any]] = {}  # of these, by the index that the upstream gives

    def next(self, *, is_last: bool) -> None:
        """See Rounds."""
        self._earlier += filter(None, [self._text()])
        self._message, self._calls, self._latest = {}, [], {}
        super().next(is_last=is_last)

    @property
    def calls(self) -> list[ToolCall]:
        """See Rounds."""
        return [
            ToolCall(text(call.get("id")), text(mapping(call.get("function")).get("arguments")))
            for call in self._calls
            if _is_ours(call)
        ]

    @property
    def own(self) -> list[str]:
        """See Rounds."""
        return [text(call.get("id")) for call in self._calls if not _is_ours(call)]

    def event(self, event: bytes, body: Mapping[str, Any]) -> bytes:
        """See Rounds. Later rounds go on under the name of the first one, which clients gather chunks by."""
        changed: dict[str, Any] = {}
        usage = body.get("usage")
        if isinstance(usage, Mapping):
            self.usage = usage
            changed = {"usage": added(self.spent, usage)} if self.spent else {}
        if self.is_first:
            self._id = self._id or body.get("id")
        else:
            changed["id"] = self._id
        choices = [mapping(choice) for choice in sequence(body.get("choices"))]
        if not choices:
            return b"" if self.goes_on else self.show(_changed(event, body, changed))
        delta, finish = mapping(choices[0].get("delta")), choices[0].get("finish_reason")
        kept = self._taken(delta)
        self._finish(finish)
        shown_finish = self._shown_finish(finish)
        if kept != delta or shown_finish != finish:
            changed["choices"] = [{**choices[0], "delta": kept, "finish_reason": shown_finish}]
        says = shown_finish or any(value for name, value in kept.items() if name != "role")
        if not says and (self.goes_on or (kept != delta and not kept)):
            return b""
        data = _changed(event, body, changed)
        if self.is_first and not says and not self._message.get("content"):
            self._opening += data
            return b""
        return self.show(data)

    def whole(self, body: JsonObject) -> str:
        """See Rounds."""
        self.usage = mapping(body["usage"])
        choice = next(map(mapping, sequence(body["choices"])), {})
        message, finish = mapping(choice.get("message")), choice.get("finish_reason")
        self._message = {name: value for name, value in message.items() if value is not None}
        self._calls = [dict(mapping(call)) for call in sequence(self._message.pop("tool_calls", None))]
        self._finish(finish or "stop")
        if not (self.spent or self._earlier or self.calls):
            return body.text
        shown = {**message, "content": "\n\n".join([*self._earlier, *filter(None, [self._text()])]) or None}
        shown.pop("tool_calls", None)
        if own := [call for call in self._calls if not _is_ours(call)]:
            shown["tool_calls"] = own
        choices = [{**choice, "message": shown, "finish_reason": self._shown_finish(finish)}]
        changed = {"choices": dumped(choices)}
        if self.spent:
            changed["usage"] = dumped(added(self.spent, self.usage))
        return body.rewritten(changed)

    def words(self) -> str:
        """See Rounds."""
        return "".join([*self._earlier, self._text()])

    def elements(self) -> list[str]:
        """See Rounds."""
        calls = {"tool_calls": self._calls} if self._calls else {}
        return [dumped({"role": "assistant", "content": None, **self._message, **calls})]

    def result(self, call_id: str, words: str) -> Mapping[str, Any]:
        """See Rounds."""
        return {"role": "tool", "tool_call_id": call_id, "content": words}

    def restored(self, body: JsonObject, hidden: Mapping[int, HiddenTurn]) -> list[Splice]:
        """See Rounds. The client's results follow in any order."""
        places = self.places(body)
        return [
            Splice(*places[place], ",".join([*turn.earlier, *turn.last, *turn.results]))
            for place, turn in hidden.items()
        ]

    def _text(self) -> str:
        return text(self._message.get("content"))

    def _finish(self, finish: object) -> None:
        if finish:
            self.is_over, self.ended_well = True, finish in ("stop", "tool_calls", "function_call")

    def _shown_finish(self, finish: object) -> object:
        if self.goes_on:
            return None
        return "stop" if self.is_stripped and finish == "tool_calls" else finish

    def _taken(self, delta: Mapping[str, Any]) -> dict[str, Any]:
        """Take in what a chunk says; what of it the client gets."""
        kept = dict(delta)
        if not self.is_first:
            kept.pop("role", None)
            if self._earlier and not self._text() and text(kept.get("content")):
                kept["content"] = f"\n\n{kept['content']}"
        for name, value in delta.items():
            if name == "tool_calls":
                shown = [own for call in sequence(value) if (own := self._call(mapping(call))) is not None]
                kept.pop(name)
                kept |= {name: shown} if shown else {}
            elif isinstance(value, str) and name != "role":
                self._message[name] = text(self._message.get(name)) + value
            elif isinstance(value, list):
                self._message[name] = [*sequence(self._message.get(name)), *value]
            elif value is not None:
                self._message[name] = value
        return kept

    def _call(self, fragment: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Take in a part of a call; the client gets it with its place among its own."""
        given = dict(fragment)
        place, call_id = index(given.pop("index", None)), text(given.get("id"))
        function = mapping(given.get("function"))
        call = self._latest.get(place)
        if call is None or (call_id and call.get("id") not in (None, "", call_id)):
            call = self._latest[place] = {**given, "function": {**function, "arguments": ""}}
            self._calls.append(call)
        call |= {name: value for name, value in given.items() if name != "function" and value is not None}
        call["function"]["name"] = text(call["function"].get("name")) or text(function.get("name"))
        call["function"]["arguments"] += text(function.get("arguments"))
        if _is_ours(call):
            return None
        own = [other for other in self._calls if not _is_ours(other)]
        return {**fragment, "index": next(k for k, other in enumerate(own) if other is call)}


def _is_ours(call: Mapping[str, Any]) -> bool:
    return bool(mapping(call.get("function")).get("name") == TOOL)


def _changed(event: bytes, body: Mapping[str, Any], changed: Mapping[str, Any]) -> bytes:
    """The event with other members; as it came where there are none."""
    return with_data(event, encoded(dumped({**body, **changed}))) if changed else event


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
