"""What one wire format has to say: where its turns are, where memory goes, and what the answer is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from zibaldone.server.gateway.json_body import JsonObject
from zibaldone.server.gateway.rounds import Rounds
from zibaldone.server.gateway.turns import WireTurn


class AnswerReader(Protocol):
    """Puts an answer together from the events of its stream."""

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        ...

    @property
    def is_complete(self) -> bool:
        """True if the last event that was read ends the answer."""
        ...

    def turns(self) -> list[WireTurn]:
        """The answer, as far as it has come."""
        ...

    def with_report(self, event: JsonObject, report: str) -> str:
        """The last event, saying in `report` (JSON) what memory did: in a member `memory`."""
        return event.rewritten({"memory": report})


class WireFormat(Protocol):
    """One of the shapes in which clients and upstreams talk."""

    path: str  # below the upstream's address, such as "/chat/completions"

    def turns(self, body: JsonObject) -> list[WireTurn]:
        """The request's turns, without what the program itself tells the model."""
        ...

    def with_memory(self, body: JsonObject, place: int, block: str) -> Mapping[str, str]:
        """The members (JSON) that change when a block goes to the front of the turn at `place`.

        Empty where there is nowhere to put it.
        """
        ...

    def continues(self, body: JsonObject) -> str | None:  # noqa: ARG002 - most requests have their history
        """The id of an answer kept by the upstream that the request goes on from."""
        return None

    def conversation(self, body: JsonObject) -> str | None:  # noqa: ARG002 - as said
        """The conversation that the request itself names."""
        return None

    def answer(self, body: Mapping[str, Any]) -> list[WireTurn]:
        """What an answer in one piece says."""
        ...

    def reader(self, body: JsonObject) -> AnswerReader:
        """A reader of the streamed answer to a request."""
        ...

    def rounds(self, body: JsonObject) -> Rounds | None:
        """For the answer to a request that is offered our tool; None where it cannot be."""
        ...
