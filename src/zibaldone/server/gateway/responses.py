"""OpenAI's responses: lists of items, of which messages are one kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from zibaldone.server.gateway.json_body import index, mapping, sequence, text
from zibaldone.server.gateway.wire import FUNCTION, TOOL, HiddenTurn, Json, ListedWire, changed_event

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_OF_TOOLS = ("type", "call_id", "name", "arguments", "input", "output")
_OTHER_CALLS = ("computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request")
_BEGINNINGS = ("response.created", "response.queued", "response.in_progress")
_DELTAS = (".output_text.delta", ".refusal.delta", "_arguments.delta", "_call_input.delta")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class Responses(ListedWire):
    """POST /v1/responses. A round is one list of items."""

    path = "/responses"
    list_name = "input"
    text_part = "input_text"
    offer: ClassVar[Json] = {"type": "function", **FUNCTION, "strict": False}
    good_ends = ("completed",)
    place_name = "output_index"
    parts_name = "output"
    thoughts = ("reasoning",)

    def __init__(self, body: Json) -> None:
        super().__init__(body)
        self._stores = body.get("store") is not False  # the upstream knows items by their ids
        self._opened = ""  # id of the stream that the client gets

    def shape(self, element: Json) -> Json:
        kind = text(element.get("type", "message"))
        if kind == "message":
            return {"role": element.get("role"), "content": element.get("content")}
        known = _OF_TOOLS if kind in (*_CALLS, *_RESULTS) else ()
        return {name: element[name] for name in known if name in element}

    def answered(self, body: Json) -> Sequence[Any]:
        return sequence(body.get("output"))

    @property
    def given(self) -> Sequence[Any]:
        """A string is one item."""
        given = self.body.get("input")
        return [{"role": "user", "content": given}] if isinstance(given, str) else sequence(given)

    @property
    def continues(self) -> str:
        return text(self.body.get("previous_response_id"))

    @property
    def conversation(self) -> str:
        conversation = self.body.get("conversation")
        return text(conversation) or text(mapping(conversation).get("id"))

    def is_end(self, event: Json) -> bool:
        return event.get("type") in _ENDS

    def with_report(self, event: Json, report: Json) -> Json:
        """Put the member into the event's response."""
        return {**event, "response": super().with_report(mapping(event.get("response")), report)}

    def is_call(self, part: Json) -> bool:
        return text(part.get("type")) in (*_CALLS, *_OTHER_CALLS)

    def add(self, body: Json) -> None:
        """Add an event; of an item that does not end there is what came of its text."""
        kind, place = text(body.get("type")), index(body.get(self.place_name))
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._parts[place] = dict(mapping(body.get("item")))
        elif kind.endswith(_DELTAS) and (item := self._parts.get(place)):
            name = _CALLS.get(text(item.get("type")), "content")
            item[name] = text(item.get(name)) + text(body.get("delta"))
        elif kind in _ENDS:
            self._end(mapping(body.get("response")))

    def event(self, event: bytes, body: Json) -> list[bytes]:
        self.add(body)
        if self.place_name in body:
            return self.part_event(event, body)
        response, changed = mapping(body.get("response")), dict[str, Any]()
        if body.get("type") in _BEGINNINGS:
            if not self.is_first:
                return []
            self._opened = text(response.get("id"))
            changed = {"response": _without_ours(response)}
        elif body.get("type") in _ENDS:
            changed = {"response": self._shown(response) | self.used()}
        return [] if self.goes_on else [*self.show(), changed_event(event, body, **changed)]

    def read(self, answer: Json) -> dict[str, Any]:
        self._end(answer)
        return self._shown(answer)

    def elements(self) -> list[Json]:
        return self._sent(self.in_order())

    def unseen(self) -> list[Json]:
        seen = [id(item) for item in self.visible()]
        return self._sent([item for item in self.in_order() if id(item) not in seen])

    @property
    def lead(self) -> int:
        visible = self.visible()
        return next((k for k, item in enumerate(visible) if self.is_call(item)), len(visible))

    def result(self, call_id: str, words: str) -> Json:
        return {"type": "function_call_output", "call_id": call_id, "output": words}

    def can_go_on(self) -> bool:
        """False for what is in the background or in a conversation: the upstream goes on with it."""
        return not (self.body.get("background") or self.body.get("conversation")) and super().can_go_on()

    def put_back(self, elements: list[Any], place: int, turn: HiddenTurn) -> None:
        """If the upstream keeps the calls, it lacks only our results."""
        if mapping(elements[place]).get("type") in _RESULTS:
            elements[place:place] = turn.results
            return
        lead = [mapping(item) for item in elements[max(place - turn.lead, 0) : place]]
        is_whole = not any(item.get("role") == "user" or item.get("type") in _RESULTS for item in lead)
        first = place - len(lead) if is_whole else place
        elements[place:place] = [*turn.last, *turn.results]
        elements[first:first] = turn.earlier

    def _sent(self, items: Sequence[Json]) -> list[Json]:
        """Return items without ids, and without thoughts in words, if the upstream keeps none."""
        if self._stores:
            return list(items)
        return [
            {name: value for name, value in item.items() if name != "id"}
            for item in items
            if item.get("type") not in self.thoughts or item.get("encrypted_content")
        ]

    def _end(self, response: Json) -> None:
        self.usage = mapping(response.get("usage"))
        if output := sequence(response.get("output")):
            self._parts = dict(enumerate(dict(mapping(item)) for item in output))
        self.end(response.get("status"))

    def _shown(self, response: Json) -> dict[str, Any]:
        """Return the client's response: a stream ends with the id that it began with."""
        shown = _without_ours(response)
        if self._opened and response.get("id") != self._opened:
            shown["id"] = self._opened
            self.renamed = self._opened, text(response.get("id"))
        if self._seen or self.calls:
            shown |= self.answer()
        return shown


def _without_ours(response: Json) -> dict[str, Any]:
    """Return a response without our tool in its list of tools."""
    if not isinstance(response.get("tools"), list):
        return dict(response)
    return {**response, "tools": [tool for tool in response["tools"] if mapping(tool).get("name") != TOOL]}
