"""Answers of several rounds, as their clients get them: as one, without the calls of the tool that is ours.

A round is one answer of the upstream. While it calls for nothing but our tool, another one follows; what a
client gets of all of them is one answer: its text, its own calls, the usage of all rounds. Thoughts wait for
what they lead to, and go where that goes: a client that sends them back, as it must, has no thought whose
call it never saw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from zibaldone.recall.recall import ORDERS
from zibaldone.server.gateway.events import with_data
from zibaldone.server.gateway.json_body import (
    JsonObject,
    Splice,
    dumped,
    elements_at,
    encoded,
    index,
    mapping,
    text,
)

# Nothing of these ever changes from request to request: the upstream's prefix cache begins with them.
TOOL = "search_memory"
DESCRIPTION = (
    "Searches what was said in earlier conversations with this user. Use it when the answer may depend on"
    " something that is not in this conversation; search again, in other words or with other limits, when"
    " that was not enough."
)
_DAY = "A day, such as 2023-05-08."
PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for, in a few words or as a question."},
        "since": {"type": "string", "description": f"Nothing earlier. {_DAY}"},
        "until": {"type": "string", "description": f"Nothing later. {_DAY}"},
        "session": {"type": "string", "description": "That conversation alone, as results name it."},
        "role": {"type": "string", "enum": ["user", "assistant", "tool"], "description": "Who said it."},
        "order": {
            "type": "string",
            "enum": list(ORDERS),
            "description": "Of what fits best, the earliest (first) or the latest (last) first.",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of the tool."""

    id: str
    arguments: str  # JSON, if the model kept to it


@dataclass(frozen=True, slots=True)
class HiddenTurn:
    """The part of an answer with a client's own calls that it did not get, and does not send back."""

    earlier: tuple[str, ...]  # elements of the rounds before the last one, JSON
    last: tuple[str, ...]  # of the last one
    results: tuple[str, ...]  # of the tool's calls in the last one
    lead: int  # elements of the last one that the client has before its first call
    words: str  # the text that the client got, without white space
    seqs: frozenset[int]  # of all messages that were shown


class Rounds(ABC):
    """The rounds of one answer in one wire format; `next` begins each after the first."""

    offer: ClassVar[str]  # the tool, JSON
    no_calls: ClassVar[str]  # the value of `tool_choice` that forbids calls, JSON
    list_name: ClassVar[str] = "messages"

    def __init__(self) -> None:
        self.is_last = False  # whatever this round calls for, none follows
        self.is_over = False
        self.ended_well = False  # it is over, and was neither cut off nor refused
        self.usage: Mapping[str, Any] = {}  # of this round
        self.spent: Mapping[str, Any] = {}  # of those before
        self.is_first = True
        self.renamed: tuple[str, str] | None = None  # what the client calls the answer, and the upstream
        self._opening = b""  # events that say nothing yet, and wait for one that does
        self._held = b""  # thoughts

    @property
    @abstractmethod
    def calls(self) -> list[ToolCall]:
        """Calls of our tool in this round."""

    @property
    @abstractmethod
    def own(self) -> list[str]:
        """The ids of the client's calls in this round."""

    @property
    def goes_on(self) -> bool:
        """True if this round is over, and another one has to follow."""
        return self.ended_well and bool(self.calls) and not (self.own or self.is_last)

    @property
    def is_stripped(self) -> bool:
        """True if all that this round calls for stays hidden, and none follows."""
        return bool(self.calls) and not self.own

    def next(self, *, is_last: bool) -> None:
        """Begin a round."""
        self.spent, self.usage = added(self.spent, self.usage), {}
        self.is_last, self.is_first, self.is_over, self.ended_well = is_last, False, False, False
        self._held = b""

    @abstractmethod
    def event(self, event: bytes, body: Mapping[str, Any]) -> bytes:
        """The client's events for one of a stream; may be none."""

    @abstractmethod
    def whole(self, body: JsonObject) -> str:
        """The client's answer for one in one piece, if none follows."""

    @abstractmethod
    def words(self) -> str:
        """All text that the client got."""

    @abstractmethod
    def elements(self) -> list[str]:
        """This round as it goes back to the upstream: JSON elements of the request's list."""

    def unseen(self) -> list[str]:
        """The elements that a client lacks when it sends back what it got; the lead is how many it has."""
        return self.elements()

    @property
    def lead(self) -> int:
        """How many elements of this round the client has before its first call."""
        return 0

    @abstractmethod
    def result(self, call_id: str, words: str) -> Mapping[str, Any]:
        """The result of a call."""

    def results(self, texts: Sequence[str]) -> list[str]:
        """The results of this round's calls, JSON."""
        return [dumped(self.result(call.id, words)) for call, words in zip(self.calls, texts, strict=True)]

    def as_elements(self, results: list[str]) -> list[str]:
        """Results as elements of the request's list."""
        return results

    def places(self, body: JsonObject) -> list[tuple[int, int]]:
        """Where the elements of a request's list stand."""
        return elements_at(body.text, body.member(self.list_name).value_start)

    def can_go_on(self, body: JsonObject) -> bool:
        """True if a request has a list that more can stand behind."""
        return isinstance(body[self.list_name], list)

    def appended(self, body: JsonObject, elements: Sequence[str], latest: Sequence[str]) -> Splice:  # noqa: ARG002
        """How a request goes on with all rounds; `latest` is what no upstream can have kept."""
        places = self.places(body)
        at = places[-1][1] if places else body.member(self.list_name).value_start + 1
        return Splice(at, at, ",".join(["", *elements] if places else elements))

    @abstractmethod
    def restored(self, body: JsonObject, hidden: Mapping[int, HiddenTurn]) -> list[Splice]:
        """How hidden turns go back to their places in the request's list."""

    def show(self, data: bytes) -> bytes:
        """The event, behind those that waited for it."""
        data = self._opening + self._held + data
        self._opening = self._held = b""
        return data


class ListedRounds(Rounds):
    """Rounds of a format whose answers are lists of parts, which its streams tell by their places."""

    place_name: ClassVar[str]
    thoughts: ClassVar[tuple[str, ...]]  # types of parts

    def __init__(self) -> None:
        super().__init__()
        self._parts: dict[int, dict[str, Any]] = {}  # of this round, as they come from the upstream
        self._shown_at: dict[int, int | None] = {}  # the client's places of them; None: hidden
        self._seen: list[Mapping[str, Any]] = []  # parts that the client has of earlier rounds
        self._next = 0  # the client's place of the part that is shown next
        self._waiting = 0  # thoughts that are held

    def next(self, *, is_last: bool) -> None:
        """See Rounds."""
        self._seen += self.visible()
        self._parts, self._shown_at, self._waiting = {}, {}, 0
        super().next(is_last=is_last)

    @abstractmethod
    def is_call(self, part: Mapping[str, Any]) -> bool:
        """True for a call of a tool that the client runs, or ours."""

    def is_ours(self, part: Mapping[str, Any]) -> bool:
        """True for a call of our tool."""
        return self.is_call(part) and part.get("name") == TOOL

    @property
    def calls(self) -> list[ToolCall]:
        """See Rounds."""
        ours = filter(self.is_ours, self.in_order())
        given = [(_id(part), part.get("arguments", part.get("input"))) for part in ours]
        return [ToolCall(call, it if isinstance(it, str) else dumped(it)) for call, it in given]

    @property
    def own(self) -> list[str]:
        """See Rounds."""
        own = [part for part in self.in_order() if self.is_call(part) and not self.is_ours(part)]
        return [_id(part) for part in own]

    def in_order(self) -> list[dict[str, Any]]:
        """The parts of this round."""
        return [part for _, part in sorted(self._parts.items())]

    def visible(self) -> list[Mapping[str, Any]]:
        """The client's part of this round: no thoughts that lead to hidden calls alone."""
        shown: list[Mapping[str, Any]] = []
        held: list[Mapping[str, Any]] = []
        for part in self.in_order():
            if self.is_ours(part):
                continue
            held.append(part)
            if part.get("type") not in self.thoughts:
                shown += held
                held = []
        return shown if self.goes_on else shown + held

    def change(self, event: bytes, body: Mapping[str, Any], **changed: Any) -> bytes:
        """The event with other members; as it came where none is another."""
        if all(body.get(name) == value for name, value in changed.items()):
            return event
        return with_data(event, encoded(dumped({**body, **changed})))

    def begin_part(self, place: int, part: Mapping[str, Any]) -> None:
        """Take in a part that begins; say by `put` what comes of it."""
        self._parts[place] = dict(part)
        if self.is_ours(part):
            self._shown_at[place] = None
            return
        at = self._shown_at[place] = self._next + self._waiting
        self._waiting += 1
        if part.get("type") not in self.thoughts:
            self._next, self._waiting = at + 1, 0

    def put(self, event: bytes, body: Mapping[str, Any]) -> bytes:
        """An event of a part, with the client's place of it."""
        place = index(body.get(self.place_name))
        at = self._shown_at.get(place, place)
        if at is None:
            return b""
        data = self.change(event, body, **{self.place_name: at})
        if self._parts.get(place, {}).get("type") in self.thoughts:
            self._held += data
            return b""
        return self.show(data)


def _id(call: Mapping[str, Any]) -> str:
    return text(call.get("call_id") or call.get("id"))


def added(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Two usages as one: numbers are added, also further in; of all else the latter."""
    total = dict(before)
    for name, value in after.items():
        had = before.get(name)
        if isinstance(value, Mapping):
            total[name] = added(mapping(had), value)
        elif _is_number(value) and _is_number(had):
            total[name] = had + value
        elif value is not None or had is None:
            total[name] = value
    return total


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def strings(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each as JSON."""
    return [dumped(part) for part in parts]
