"""The interface of a wire format: its turns, where recalled text goes, and its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from zibaldone.server.gateway.json_body import (
    JsonObject,
    Splice,
    dumped,
    edited,
    elements_at,
    mapping,
    object_at,
    put_before,
    sequence,
)
from zibaldone.server.gateway.rounds import Rounds
from zibaldone.server.gateway.turns import WireTurn, wire_turns


class WireFormat(ABC):
    """A format in which clients and upstreams talk."""

    path: ClassVar[str]  # below the upstream's address, such as "/chat/completions"
    list_name: ClassVar[str] = "messages"  # the request's member with its turns
    text_part: ClassVar[str] = "text"  # the type of a part that is text

    @abstractmethod
    def shape(self, element: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the part of an element that is stored, in one of the shapes that `to_messages` reads."""

    @abstractmethod
    def answered(self, body: Mapping[str, Any]) -> Sequence[Any]:
        """Return the elements of a whole answer."""

    @abstractmethod
    def rounds(self, body: JsonObject) -> Rounds:
        """Return the rounds of a request's answer."""

    @abstractmethod
    def is_end(self, event: Mapping[str, Any]) -> bool:
        """True for the event that ends an answer."""

    def elements(self, body: JsonObject) -> Sequence[Any]:
        """Return the elements of a request."""
        return sequence(body[self.list_name])

    def turns(self, body: JsonObject) -> list[WireTurn]:
        """Return the request's turns, without instructions of the program."""
        return self._turns(enumerate(self.elements(body)))

    def answer(self, body: Mapping[str, Any]) -> list[WireTurn]:
        """Return the turns of a whole answer."""
        return self._turns((-1, element) for element in self.answered(body))

    def with_report(self, event: JsonObject, report: str) -> str:
        """Return the last event of an answer with `report` (JSON) as its member `memory`."""
        return event.rewritten({"memory": report})

    def with_memory(self, body: JsonObject, place: int, block: str) -> Mapping[str, str]:
        """Return the changed members (JSON) of the body with `block` at the front of the turn at `place`.

        Within the turn: many chat templates accept no two successive turns of one role. Empty if the turn has
        no text to put it before.
        """
        given = body.member(self.list_name)
        at, _ = elements_at(body.text, given.value_start)[place]
        inserted = _before_text(object_at(body.text, at), block, self.text_part)
        if not inserted:
            return {}
        return {self.list_name: edited(body.text[: given.end], inserted)[given.value_start :]}

    def continues(self, body: JsonObject) -> str | None:  # noqa: ARG002 - most formats send the history
        """Return the id of the stored answer that the request continues."""
        return None

    def conversation(self, body: JsonObject) -> str | None:  # noqa: ARG002 - most formats name none
        """Return the conversation that the request names."""
        return None

    def _turns(self, elements: Iterable[tuple[int, Any]]) -> list[WireTurn]:
        return [turn for place, given in elements for turn in wire_turns(self.shape(mapping(given)), place)]


def _before_text(message: JsonObject, block: str, part_type: str) -> list[Splice]:
    """Return the insertion of a block before a message's text; empty if it has none."""
    content = message["content"]
    if isinstance(content, str):
        given = message.member("content")
        return [Splice(given.value_start, given.end, dumped(f"{block}\n\n{content}"))]
    places = [i for i, part in enumerate(sequence(content)) if mapping(part).get("type") == part_type]
    if not places:
        return []
    before, _ = elements_at(message.text, message.member("content").value_start)[places[0]]
    return [put_before(before, [dumped({"type": part_type, "text": block})])]
