"""Answers as they come, and those of several rounds merged into one, without the calls of our tool.

A round is one answer of the upstream. If it only calls our tool, another round follows. The client gets one
answer: all text, its own calls, the usage of all rounds. Thoughts are held until the part that they lead to,
and hidden with it: a client must send thoughts back, and cannot without their call. Without the tool there is
one round, and the client gets its events as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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

# Constant over all requests: the upstream's prefix cache begins with them.
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


FUNCTION: Mapping[str, Any] = {"name": TOOL, "description": DESCRIPTION, "parameters": PARAMETERS}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of the tool."""

    id: str
    arguments: str  # JSON, unless the model made a mistake


@dataclass(frozen=True, slots=True)
class HiddenTurn:
    """The part of an answer with client calls that the client did not get, and does not send back."""

    earlier: tuple[str, ...]  # JSON elements of the rounds before the last one
    last: tuple[str, ...]  # of the last one
    results: tuple[str, ...]  # of the tool's calls in the last one
    lead: int  # elements of the last one that the client has before its first call
    words: str  # of the client's turn with its first call, without white space
    quoted: frozenset[tuple[str, int]]  # all messages shown to the model: scope and seq


class Rounds(ABC):
    """The rounds of one answer in one wire format; `next` begins each after the first."""

    offer: ClassVar[str]  # the tool, JSON
    no_calls: ClassVar[str]  # the value of `tool_choice` that forbids calls, JSON
    good_ends: ClassVar[tuple[str, ...]]  # of a round that was neither cut off nor refused
    list_name: ClassVar[str] = "messages"

    def __init__(self) -> None:
        self.is_offered = False  # our tool: else a tool of this name is the client's
        self.is_last = False  # no round follows, whatever this one calls
        self.is_over = False
        self.ended_well = False
        self.usage: Mapping[str, Any] = {}  # of this round
        self.spent: Mapping[str, Any] = {}  # of the rounds before
        self.is_first = True
        self.renamed: tuple[str, str] | None = None  # the answer's ids at the client and at the upstream
        self._opening: list[bytes] = []  # events without content, held until one has some
        self._held: list[bytes] = []  # those of thoughts

    @property
    @abstractmethod
    def calls(self) -> list[ToolCall]:
        """The calls of our tool in this round."""

    @property
    @abstractmethod
    def client_calls(self) -> list[str]:
        """The ids of the client's calls in this round."""

    @property
    def goes_on(self) -> bool:
        """True if this round is over and another one follows."""
        return self.ended_well and bool(self.calls) and not (self.client_calls or self.is_last)

    def end(self, how: object) -> None:
        """End this round, with the reason or status that the upstream gives."""
        self.is_over, self.ended_well = True, how in self.good_ends

    def shown_end(self, how: object, calls: str, other: str) -> object:
        """Return how the round ended for the client: not with `calls` if all of them are ours."""
        return other if how == calls and self.calls and not self.client_calls else how

    def next(self, *, is_last: bool) -> None:
        """Begin the next round."""
        self.spent, self.usage = added(self.spent, self.usage), {}
        self.is_last, self.is_first, self.is_over, self.ended_well = is_last, False, False, False
        self._held = []

    @abstractmethod
    def add(self, body: Mapping[str, Any]) -> None:
        """Add an event of a stream to the round."""

    @abstractmethod
    def event(self, event: bytes, body: Mapping[str, Any]) -> list[bytes]:
        """Add an event of a stream with our tool; returns the client's events for it, possibly none."""

    @abstractmethod
    def answer(self) -> dict[str, Any]:
        """Return the client's answer so far, with the members that its turns are read from."""

    def whole(self, body: JsonObject) -> str:
        """Read a whole answer; returns the client's, for the case that no round follows."""
        answer = {member.name: member.value for member in body.members}
        shown = self.read(answer) | self.used()
        changed = {name: dumped(value) for name, value in shown.items() if value != answer.get(name)}
        return body.rewritten(changed) if changed else body.text

    @abstractmethod
    def read(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Read a whole answer; returns its members as the client gets them, or those that may change."""

    def used(self) -> dict[str, Any]:
        """Return the usage of all rounds as the answer's member; none for the first, which has its own."""
        return {"usage": added(self.spent, self.usage)} if self.spent else {}

    @abstractmethod
    def elements(self) -> list[str]:
        """Return this round as JSON elements of the next request's list."""

    def unseen(self) -> list[str]:
        """Return the elements of this round that the client does not get."""
        return self.elements()

    @property
    def lead(self) -> int:
        """Number of elements of this round that the client has before its first call."""
        return 0

    @abstractmethod
    def result(self, call_id: str, words: str) -> Mapping[str, Any]:
        """Return the result of a call."""

    def results(self, texts: Sequence[str]) -> list[str]:
        """Return the results of this round's calls as JSON."""
        return [dumped(self.result(call.id, words)) for call, words in zip(self.calls, texts, strict=True)]

    def as_elements(self, results: list[str]) -> list[str]:
        """Return results as elements of the request's list."""
        return results

    def places(self, body: JsonObject) -> list[tuple[int, int]]:
        """Return start and end of each element of a request's list."""
        return elements_at(body.text, body.member(self.list_name).value_start)

    def can_go_on(self, body: JsonObject) -> bool:
        """True if elements can be appended to the request's list."""
        return isinstance(body[self.list_name], list)

    def appended(self, body: JsonObject, elements: Sequence[str]) -> str:
        """Return the request's list (JSON) with the elements of all rounds at its end."""
        return body.extended(self.list_name, elements)

    @abstractmethod
    def restored(self, body: JsonObject, hidden: Mapping[int, HiddenTurn]) -> list[Splice]:
        """Insert hidden turns at their indexes in the request's list."""

    def show(self, *events: bytes) -> list[bytes]:
        """Return the held events, then these."""
        shown = [*self._opening, *self._held, *events]
        self._opening, self._held = [], []
        return shown


class ListedRounds(Rounds):
    """Rounds of a format whose answers are lists of parts, with indexes in the stream."""

    place_name: ClassVar[str]
    parts_name: ClassVar[str]  # the answer's member with the parts
    thoughts: ClassVar[tuple[str, ...]]  # types of parts

    def __init__(self) -> None:
        super().__init__()
        self._parts: dict[int, dict[str, Any]] = {}  # of this round, as they come from the upstream
        self._shown_at: dict[int, int | None] = {}  # their indexes at the client; None: hidden
        self._seen: list[Mapping[str, Any]] = []  # parts of earlier rounds that the client has
        self._next = 0  # the client's index of the next part
        self._waiting = 0  # held thoughts

    def next(self, *, is_last: bool) -> None:
        self._seen += self.visible()
        self._parts, self._shown_at, self._waiting = {}, {}, 0
        super().next(is_last=is_last)

    @abstractmethod
    def is_call(self, part: Mapping[str, Any]) -> bool:
        """True for a call of a client's tool, or of ours."""

    def is_ours(self, part: Mapping[str, Any]) -> bool:
        """True for a call of our tool."""
        return self.is_offered and self.is_call(part) and part.get("name") == TOOL

    @property
    def calls(self) -> list[ToolCall]:
        ours = filter(self.is_ours, self.in_order())
        given = [(_id(part), part.get("arguments", part.get("input"))) for part in ours]
        return [ToolCall(call, it if isinstance(it, str) else dumped(it)) for call, it in given]

    @property
    def client_calls(self) -> list[str]:
        own = [part for part in self.in_order() if self.is_call(part) and not self.is_ours(part)]
        return [_id(part) for part in own]

    def in_order(self) -> list[dict[str, Any]]:
        """Return the parts of this round in their order."""
        return [part for _, part in sorted(self._parts.items())]

    def visible(self) -> list[Mapping[str, Any]]:
        """Return the client's parts: without our calls, and without thoughts that lead to these alone."""
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

    def answer(self) -> dict[str, Any]:
        return {self.parts_name: [*self._seen, *self.visible()]}

    def change(self, event: bytes, body: Mapping[str, Any], **changed: Any) -> bytes:
        """Return the event with other members; a format may change further ones."""
        return changed_event(event, body, **changed)

    def begin_part(self, place: int) -> None:
        """Choose a new part's index at the client; then pass its events to `put`."""
        part = self._parts[place]
        if self.is_ours(part):
            self._shown_at[place] = None
            return
        at = self._shown_at[place] = self._next + self._waiting
        self._waiting += 1
        if part.get("type") not in self.thoughts:
            self._next, self._waiting = at + 1, 0

    def put(self, event: bytes, body: Mapping[str, Any]) -> list[bytes]:
        """Return an event of a part with its index at the client."""
        place = index(body.get(self.place_name))
        at = self._shown_at.get(place, place)
        if at is None:
            return []
        changed = self.change(event, body, **{self.place_name: at})
        if self._parts.get(place, {}).get("type") in self.thoughts:
            self._held.append(changed)
            return []
        return self.show(changed)


def changed_event(event: bytes, body: Mapping[str, Any], **changed: Any) -> bytes:
    """Return the event with other members; unchanged, byte for byte, if all are equal."""
    if all(body.get(name) == value for name, value in changed.items()):
        return event
    return with_data(event, encoded(dumped({**body, **changed})))


def _id(call: Mapping[str, Any]) -> str:
    return text(call.get("call_id") or call.get("id"))


def added(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two usages: add numbers, also nested ones; of other values take the second."""
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
