"""OpenAI's chat completions, the format that most servers speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from zibaldone.server.gateway.json_body import index, mapping, sequence, text
from zibaldone.server.gateway.wire import FUNCTION, TOOL, HiddenTurn, Json, ToolCall, Wire, changed_event

_KEPT = ("role", "content", "name", "tool_calls", "tool_call_id", "refusal")  # of a message


class ChatCompletions(Wire):
    """POST /v1/chat/completions. A round is one message."""

    path = "/chat/completions"
    offer: ClassVar[Json] = {"type": "function", "function": FUNCTION}
    good_ends = ("stop", "tool_calls", "function_call")

    def __init__(self, body: Json) -> None:
        super().__init__(body)
        self._id: object = None
        self._earlier: list[str] = []  # texts of the rounds before
        self._message = _ChatMessage()

    def shape(self, element: Json) -> Json:
        shape = {name: element[name] for name in _KEPT if element.get(name) is not None}
        if shape.get("role") == "function":
            shape["role"] = "tool"
        if not shape.get("content") and not shape.get("tool_calls"):
            shape["content"] = shape.get("refusal") or mapping(element.get("audio")).get("transcript")
        return shape

    def answered(self, body: Json) -> Sequence[Any]:
        """Only the first choice: the next request shows which one the client took."""
        return [mapping(choice).get("message") for choice in sequence(body.get("choices"))[:1]]

    def is_end(self, event: Json) -> bool:
        return bool(_first_choice(event).get("finish_reason"))

    def next(self, *, is_last: bool) -> None:
        self._earlier += filter(None, [self._message.text])
        self._message = _ChatMessage()
        super().next(is_last=is_last)

    def can_go_on(self) -> bool:
        """False for several choices, and for the older `functions`."""
        return self.body.get("n") in (None, 1) and not self.body.get("functions") and super().can_go_on()

    @property
    def calls(self) -> list[ToolCall]:
        return [
            ToolCall(text(call.get("id")), text(mapping(call.get("function")).get("arguments")))
            for call in self._message.calls
            if self._is_ours(call)
        ]

    @property
    def client_calls(self) -> list[str]:
        return [text(call.get("id")) for call in self._client_calls]

    @property
    def _client_calls(self) -> list[dict[str, Any]]:
        return [call for call in self._message.calls if not self._is_ours(call)]

    def _is_ours(self, call: Json) -> bool:
        return self.is_offered and mapping(call.get("function")).get("name") == TOOL

    def add(self, body: Json) -> None:
        """Add the first choice alone."""
        self._message.add(mapping(_first_choice(body).get("delta")))

    def event(self, event: bytes, body: Json) -> list[bytes]:
        """Later rounds keep the id of the first one, by which clients gather chunks."""
        changed: dict[str, Any] = {}
        if isinstance(body.get("usage"), Mapping):
            self.usage = body["usage"]
            changed = self.used()
        if self.is_first:
            self._id = self._id or body.get("id")
        else:
            changed["id"] = self._id
        choices = [mapping(choice) for choice in sequence(body.get("choices"))]
        if not choices:
            return [] if self.goes_on else [changed_event(event, body, **changed)]
        delta, finish = mapping(choices[0].get("delta")), choices[0].get("finish_reason")
        kept = self._add(delta)
        if finish:
            self.end(finish)
        shown_finish = None if self.goes_on else self.shown_end(finish, "tool_calls", "stop")
        if kept != delta or shown_finish != finish:
            changed["choices"] = [{**choices[0], "delta": kept, "finish_reason": shown_finish}]
        says = shown_finish or any(value for name, value in kept.items() if name != "role")
        if not says and (self.goes_on or (kept != delta and not kept)):
            return []
        return [changed_event(event, body, **changed)]

    def read(self, answer: Json) -> dict[str, Any]:
        self.usage = mapping(answer.get("usage"))
        choice = next(map(mapping, sequence(answer.get("choices"))), {})
        message, finish = mapping(choice.get("message")), choice.get("finish_reason")
        self._message = _ChatMessage(message)
        self.end(finish or "stop")
        if not (self.spent or self._earlier or self.calls):
            return {}
        shown = {**message, "content": self._all_text() or None}
        shown.pop("tool_calls", None)
        if own := self._client_calls:
            shown["tool_calls"] = own
        shown_finish = self.shown_end(finish, "tool_calls", "stop")
        return {"choices": [{**choice, "message": shown, "finish_reason": shown_finish}]}

    def answer(self) -> dict[str, Any]:
        calls = [{**call, "id": text(call.get("id")), "type": "function"} for call in self._client_calls]
        message = {**self._message.fields, "role": "assistant", "tool_calls": calls or None}
        if self._earlier:
            message["content"] = self._all_text()
        return {"choices": [{"message": message}]}

    def _all_text(self) -> str:
        return "\n\n".join([*self._earlier, *filter(None, [self._message.text])])

    def elements(self) -> list[Json]:
        calls = {"tool_calls": self._message.calls} if self._message.calls else {}
        return [{"role": "assistant", "content": None, **self._message.fields, **calls}]

    def result(self, call_id: str, words: str) -> Json:
        return {"role": "tool", "tool_call_id": call_id, "content": words}

    def put_back(self, elements: list[Any], place: int, turn: HiddenTurn) -> None:
        """The client's own results may follow ours in any order."""
        elements[place : place + 1] = [*turn.earlier, *turn.last, *turn.results]

    def _add(self, delta: Json) -> dict[str, Any]:
        """Add a delta to the message; returns the client's part of it."""
        kept = dict(delta)
        if not self.is_first:
            kept.pop("role", None)
            if self._earlier and not self._message.text and text(kept.get("content")):
                kept["content"] = f"\n\n{kept['content']}"
        fragments = self._message.add(delta)
        kept.pop("tool_calls", None)
        places = {id(call): place for place, call in enumerate(self._client_calls)}
        shown = [
            {**fragment, "index": places[id(call)]} for fragment, call in fragments if id(call) in places
        ]
        return {**kept, "tool_calls": shown} if shown else kept


class _ChatMessage:
    """A message that is assembled from the deltas of a stream."""

    def __init__(self, message: Json | None = None) -> None:
        self.fields = {name: value for name, value in (message or {}).items() if value is not None}
        self.calls = [dict(mapping(call)) for call in sequence(self.fields.pop("tool_calls", None))]
        self._by_index: dict[int, dict[str, Any]] = {}  # of calls; some upstreams give all the same index

    @property
    def text(self) -> str:
        """The text so far."""
        return text(self.fields.get("content"))

    def add(self, delta: Json) -> list[tuple[Json, dict[str, Any]]]:
        """Add a delta; returns its fragments of calls, each with its call."""
        for name, value in delta.items():
            before = self.fields.get(name)
            if isinstance(value, str) and name != "role":
                self.fields[name] = text(before) + value
            elif isinstance(value, list) and name != "tool_calls":
                self.fields[name] = [*sequence(before), *value]
            elif isinstance(value, Mapping):  # audio
                transcript = text(mapping(before).get("transcript")) + text(value.get("transcript"))
                self.fields[name] = {**mapping(before), **value, "transcript": transcript}
            elif value is not None and name != "tool_calls":
                self.fields[name] = value
        fragments = map(mapping, sequence(delta.get("tool_calls")))
        return [(fragment, self._add_call(fragment)) for fragment in fragments]

    def _add_call(self, fragment: Json) -> dict[str, Any]:
        given = dict(fragment)
        place, call_id = index(given.pop("index", None)), text(given.get("id"))
        function = mapping(given.get("function"))
        call = self._by_index.get(place)
        if call is None or (call_id and call.get("id") not in (None, "", call_id)):
            call = self._by_index[place] = {**given, "function": {**function, "arguments": ""}}
            self.calls.append(call)
        call |= {name: value for name, value in given.items() if name != "function" and value is not None}
        call["function"]["name"] = text(call["function"].get("name")) or text(function.get("name"))
        call["function"]["arguments"] += text(function.get("arguments"))
        return call


def _first_choice(event: Json) -> Json:
    """Return an event's part of the first choice; the next request shows which one the client took."""
    choices = map(mapping, sequence(event.get("choices")))
    return next((choice for choice in choices if index(choice.get("index")) == 0), {})
