"""OpenAI's responses: lists of items, of which messages are one kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zibaldone.server.gateway.json_body import (
    JsonObject,
    Splice,
    dumped,
    index,
    mapping,
    object_at,
    put_before,
    sequence,
    text,
)
from zibaldone.server.gateway.rounds import FUNCTION, TOOL, HiddenTurn, ListedRounds, Rounds
from zibaldone.server.gateway.wire import WireFormat

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_OF_TOOLS = ("type", "call_id", "name", "arguments", "input", "output")
_OTHER_CALLS = ("computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request")
_BEGINNINGS = ("response.created", "response.queued", "response.in_progress")
_DELTAS = (".output_text.delta", ".refusal.delta", "_arguments.delta", "_call_input.delta")
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class Responses(WireFormat):
    """POST /v1/responses."""

    path = "/responses"
    list_name = "input"
    text_part = "input_text"

    def shape(self, element: Mapping[str, Any]) -> Mapping[str, Any]:
        kind = text(element.get("type", "message"))
        if kind == "message":
            return {"role": element.get("role"), "content": element.get("content")}
        known = _OF_TOOLS if kind in (*_CALLS, *_RESULTS) else ()
        return {name: element[name] for name in known if name in element}

    def answered(self, body: Mapping[str, Any]) -> Sequence[Any]:
        return sequence(body.get("output"))

    def elements(self, body: JsonObject) -> Sequence[Any]:
        given = body["input"]
        return [{"role": "user", "content": given}] if isinstance(given, str) else sequence(given)

    def with_memory(self, body: JsonObject, place: int, block: str) -> Mapping[str, str]:
        given = body["input"]
        if isinstance(given, str):
            return {"input": dumped(f"{block}\n\n{given}")}
        return super().with_memory(body, place, block)

    def continues(self, body: JsonObject) -> str | None:
        return text(body["previous_response_id"]) or None

    def conversation(self, body: JsonObject) -> str | None:
        conversation = body["conversation"]
        return text(conversation) or text(mapping(conversation).get("id")) or None

    def rounds(self, body: JsonObject) -> Rounds:
        return _ResponseRounds(stores=body["store"] is not False)

    def is_end(self, event: Mapping[str, Any]) -> bool:
        return event.get("type") in _ENDS

    def with_report(self, event: JsonObject, report: str) -> str:
        """Put the member into the event's response."""
        if not isinstance(event["response"], Mapping):
            return super().with_report(event, report)
        response = object_at(event.text, event.member("response").value_start)
        return event.rewritten({"response": response.rewritten({"memory": report})})


class _ResponseRounds(ListedRounds):
    """Rounds of responses: one list of items each."""

    offer = dumped({"type": "function", **FUNCTION, "strict": False})
    no_calls = '"none"'
    good_ends = ("completed",)
    list_name = "input"
    place_name = "output_index"
    parts_name = "output"
    thoughts = ("reasoning",)

    def __init__(self, *, stores: bool) -> None:
        """`stores`: the upstream knows items by their ids."""
        super().__init__()
        self._stores = stores
        self._number = 0  # sequence number of the next event
        self._opened: object = None  # id of the round whose first events the client gets

    def is_call(self, part: Mapping[str, Any]) -> bool:
        return text(part.get("type")) in (*_CALLS, *_OTHER_CALLS)

    def change(self, event: bytes, body: Mapping[str, Any], **changed: Any) -> bytes:
        """Renumber the events, as some are left out."""
        if "sequence_number" in body:
            changed["sequence_number"] = self._number
            self._number += 1
        return super().change(event, body, **changed)

    def add(self, body: Mapping[str, Any]) -> None:
        """Add an event; of an item that does not end there is what came of its text."""
        kind, place = text(body.get("type")), index(body.get(self.place_name))
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._parts[place] = dict(mapping(body.get("item")))
        elif kind.endswith(_DELTAS) and (item := self._parts.get(place)):
            name = _CALLS.get(text(item.get("type")), "content")
            item[name] = text(item.get(name)) + text(body.get("delta"))
        elif kind in _ENDS:
            self._end(mapping(body.get("response")))

    def event(self, event: bytes, body: Mapping[str, Any]) -> list[bytes]:
        kind = body.get("type")
        self.add(body)
        if kind in _BEGINNINGS:
            self._begin(event, body)
            return []
        if kind == "response.output_item.added":
            self.begin_part(index(body.get(self.place_name)))
        elif kind in _ENDS:
            response = mapping(body.get("response"))
            if self.goes_on:
                return []
            return self.show(self.change(event, body, response=self._shown(response) | self.used()))
        if self.place_name in body:
            return self.put(event, body)
        return [] if self.goes_on else self.show(self.change(event, body))

    def read(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        self._end(answer)
        return self._shown(answer)

    def elements(self) -> list[str]:
        return self._sent(self.in_order())

    def unseen(self) -> list[str]:
        seen = [id(item) for item in self.visible()]
        return self._sent([item for item in self.in_order() if id(item) not in seen])

    @property
    def lead(self) -> int:
        visible = self.visible()
        return next((k for k, item in enumerate(visible) if self.is_call(item)), len(visible))

    def result(self, call_id: str, words: str) -> Mapping[str, Any]:
        return {"type": "function_call_output", "call_id": call_id, "output": words}

    def can_go_on(self, body: JsonObject) -> bool:
        """A string is one item; what is in the background or in a conversation the upstream goes on with."""
        is_whole = not (body["background"] or body["conversation"])
        return is_whole and isinstance(body[self.list_name], list | str)

    def appended(self, body: JsonObject, elements: Sequence[str]) -> str:
        given = body[self.list_name]
        if isinstance(given, str):
            return f"[{','.join([dumped({'role': 'user', 'content': given}), *elements])}]"
        return super().appended(body, elements)

    def restored(self, body: JsonObject, hidden: Mapping[int, HiddenTurn]) -> list[Splice]:
        """If the upstream keeps the calls, it lacks only our results."""
        items = sequence(body[self.list_name])
        places = self.places(body)
        edits = []
        for place, turn in hidden.items():
            if mapping(items[place]).get("type") in _RESULTS:
                edits.append(put_before(places[place][0], turn.results))
                continue
            lead = items[max(place - turn.lead, 0) : place]
            is_whole = not any(
                mapping(item).get("role") == "user" or mapping(item).get("type") in _RESULTS for item in lead
            )
            first = place - len(lead) if is_whole else place
            edits += [
                put_before(places[first][0], turn.earlier),
                put_before(places[place][0], [*turn.last, *turn.results]),
            ]
        return edits

    def _sent(self, items: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return items as JSON; without ids, and without thoughts in words, if the upstream keeps none."""
        if self._stores:
            return list(map(dumped, items))
        return [
            dumped({name: value for name, value in item.items() if name != "id"})
            for item in items
            if item.get("type") not in self.thoughts or item.get("encrypted_content")
        ]

    def _begin(self, event: bytes, body: Mapping[str, Any]) -> None:
        """Hold back the first events; if nothing is shown of a round, those of the next take their place."""
        response = mapping(body.get("response"))
        if response.get("id") != self._opened and (self._opening or self._opened is None):
            self._opened, self._opening, self._number = response.get("id"), [], 0
        if response.get("id") == self._opened:
            self._opening.append(self.change(event, body, response=_without_ours(response)))

    def _end(self, response: Mapping[str, Any]) -> None:
        self.usage = mapping(response.get("usage"))
        if output := sequence(response.get("output")):
            self._parts = dict(enumerate(dict(mapping(item)) for item in output))
        self.end(response.get("status"))

    def _shown(self, response: Mapping[str, Any]) -> dict[str, Any]:
        shown = _without_ours(response)
        if self._opened is not None and response.get("id") != self._opened:
            shown["id"] = self._opened
            self.renamed = text(self._opened), text(response.get("id"))
        if self._seen or self.calls:
            shown |= self.answer()
        return shown


def _without_ours(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response without our tool in its list of tools."""
    if not isinstance(response.get("tools"), list):
        return dict(response)
    return {**response, "tools": [tool for tool in response["tools"] if mapping(tool).get("name") != TOOL]}
