"""The interface of a wire format: its turns, where recalled text goes, and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from zibaldone.server.gateway.json_body import (
    JsonObject,
    dumped,
    elements_at,
    mapping,
    object_at,
    with_element,
)
from zibaldone.server.gateway.rounds import Rounds
from zibaldone.server.gateway.turns import WireTurn


class AnswerReader(Protocol):
    """Assembles an answer from the events of its stream."""

    is_complete: bool = False  # the last event that was read ended the answer

    def read(self, event: Mapping[str, Any]) -> None:
        """Read one event."""
        ...

    def turns(self) -> list[WireTurn]:
        """Return the answer's turns so far."""
        ...

    def with_report(self, event: JsonObject, report: str) -> str:
        """Return the last event with `report` (JSON) as its member `memory`."""
        return event.rewritten({"memory": report})


class WireFormat(Protocol):
    """A format in which clients and upstreams talk."""

    path: str  # below the upstream's address, such as "/chat/completions"

    def turns(self, body: JsonObject) -> list[WireTurn]:
        """Return the request's turns, without instructions of the program."""
        ...

    def with_memory(self, body: JsonObject, place: int, block: str) -> Mapping[str, str]:
        """Return the changed members (JSON) of the body with `block` at the front of the turn at `place`.

        Empty if the turn has no text to put it before.
        """
        ...

    def continues(self, body: JsonObject) -> str | None:  # noqa: ARG002 - most formats send the history
        """Return the id of the stored answer that the request continues."""
        return None

    def conversation(self, body: JsonObject) -> str | None:  # noqa: ARG002 - most formats name none
        """Return the conversation that the request names."""
        return None

    def answer(self, body: Mapping[str, Any]) -> list[WireTurn]:
        """Return the turns of a whole answer."""
        ...

    def reader(self, body: JsonObject) -> AnswerReader:
        """Return a reader for the streamed answer to a request."""
        ...

    def rounds(self, body: JsonObject) -> Rounds | None:
        """Return the rounds of a request that is offered our tool; None if it cannot be."""
        ...


def with_block(body: JsonObject, name: str, place: int, block: str, part_type: str) -> Mapping[str, str]:
    """Return the list `name` with a block before the text of its element at `place`; empty if it has none."""
    elements = elements_at(body.text, body.member(name).value_start)
    changed = _with_text_before(body.text, elements[place][0], block, part_type)
    return {} if changed is None else {name: with_element(body.text, elements, place, changed)}


def _with_text_before(source: str, at: int, block: str, part_type: str) -> str | None:
    """Return the message at `at` with a block before its text; None if it has none."""
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
