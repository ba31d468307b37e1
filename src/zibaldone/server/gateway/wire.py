"""Wire formats: the turns of a request, the place of recalled text, and the answer to it.

An answer is read as it comes. If the model is offered our tool, it may take several rounds: a round is one
answer of the upstream, and if it only calls our tool, another one follows. The client gets one answer: all
text, its own calls, the usage of all rounds. Thoughts are held until the part that they lead to, and hidden
with it: a client must send thoughts back, and cannot without their call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from zibaldone.recall.recall import ORDERS
from zibaldone.server.gateway.events import with_data
from zibaldone.server.gateway.json_body import dumped, encoded, index, mapping, sequence, text
from zibaldone.server.gateway.turns import WireTurn, wire_turns

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
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of the tool."""

    id: str
    arguments: str  # JSON, unless the model made a mistake


@dataclass(frozen=True, slots=True)
class HiddenTurn:
    """The part of an answer with client calls that the client did not get, and does not send back."""

    earlier: Sequence[Json]  # elements of the rounds before the last one
    last: Sequence[Json]  # of the last one
    results: Sequence[Json]  # of the tool's calls in the last one
    lead: int  # elements of the last one that the client has before its first call
    words: str  # of the client's turn with its first call, without white space
    quoted: frozenset[tuple[str, int]]  # all messages shown to the model: scope and seq


class Wire(ABC):
    """A request in one format, and its answer so far; `next` begins each round after the first."""

    path: ClassVar[str]  # below the upstream's address, such as "/chat/completions"
    list_name: ClassVar[str] = "messages"  # the request's member with its turns
    text_part: ClassVar[str] = "text"  # the type of a part that is text
    offer: ClassVar[Json]  # the tool
    no_calls: ClassVar[object] = "none"  # the value of `tool_choice` that forbids calls
    good_ends: ClassVar[tuple[str, ...]]  # of a round that was neither cut off nor refused

    def __init__(self, body: Json) -> None:
        self.body = body
        self.is_offered = False  # our tool: else a tool of this name is the client's
        self.is_last = False  # no round follows, whatever this one calls
        self.is_over = False
        self.ended_well = False
        self.is_first = True
        self.usage: Json = {}  # of this round
        self.spent: Json = {}  # of the rounds before
        self.renamed: tuple[str, str] | None = None  # the answer's ids at the client and at the upstream

    @abstractmethod
    def shape(self, element: Json) -> Json:
        """Return the part of an element that is stored, in one of the shapes that `to_messages` reads."""

    @abstractmethod
    def answered(self, body: Json) -> Sequence[Any]:
        """Return the elements of a whole answer."""

    @abstractmethod
    def is_end(self, event: Json) -> bool:
        """True for the event that ends an answer."""

    @property
    def given(self) -> Sequence[Any]:
        """The elements of the request."""
        return sequence(self.body.get(self.list_name))

    def turns(self) -> list[WireTurn]:
        """Return the request's turns, without instructions of the program."""
        return self._turns(enumerate(self.given))

    def turns_of(self, answer: Json) -> list[WireTurn]:
        """Return the turns of a whole answer."""
        return self._turns((-1, element) for element in self.answered(answer))

    def with_report(self, event: Json, report: Json) -> Json:
        """Return the last event of an answer with the member `memory`."""
        return {**event, "memory": report}

    def with_memory(self, place: int, block: str) -> dict[str, Any]:
        """Return the changed members of the request with `block` at the front of the turn at `place`.

        Within the turn: many chat templates accept no two successive turns of one role. Empty if the turn has
        no text to put it before.
        """
        elements = list(self.given)
        content = elements[place].get("content")
        if isinstance(content, str):
            changed: Any = f"{block}\n\n{content}"
        else:
            parts = list(sequence(content))
            texts = [k for k, part in enumerate(parts) if mapping(part).get("type") == self.text_part]
            if not texts:
                return {}
            changed = [*parts[: texts[0]], {"type": self.text_part, "text": block}, *parts[texts[0] :]]
        elements[place] = {**elements[place], "content": changed}
        return {self.list_name: elements}

    @property
    def continues(self) -> str:
        """The id of the stored answer that the request continues; "" in formats that send the history."""
        return ""

    @property
    def conversation(self) -> str:
        """The conversation that the request names; "" in most formats."""
        return ""

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

    @abstractmethod
    def add(self, body: Json) -> None:
        """Add an event of a stream to the round."""

    @abstractmethod
    def event(self, event: bytes, body: Json) -> list[bytes]:
        """Add an event of a stream with our tool; returns the client's events for it, possibly none."""

    def show(self) -> list[bytes]:
        """Return the events that were held."""
        return []

    @abstractmethod
    def answer(self) -> dict[str, Any]:
        """Return the client's answer so far, with the members that its turns are read from."""

    def so_far(self) -> list[WireTurn]:
        """Return the turns of the client's answer so far."""
        return self.turns_of(self.answer())

    def whole(self, answer: Json) -> Json:
        """Read a whole answer; returns the client's, for the case that no round follows."""
        return {**answer, **self.read(answer), **self.used()}

    @abstractmethod
    def read(self, answer: Json) -> dict[str, Any]:
        """Read a whole answer; returns its members that the client gets otherwise."""

    def used(self) -> dict[str, Any]:
        """Return the usage of all rounds as the answer's member; none for the first, which has its own."""
        return {"usage": added(self.spent, self.usage)} if self.spent else {}

    @abstractmethod
    def elements(self) -> list[Json]:
        """Return this round as elements of the next request's list."""

    def unseen(self) -> list[Json]:
        """Return the elements of this round that the client does not get."""
        return self.elements()

    @property
    def lead(self) -> int:
        """Number of elements of this round that the client has before its first call."""
        return 0

    @abstractmethod
    def result(self, call_id: str, words: str) -> Json:
        """Return the result of a call."""

    def as_elements(self, results: list[Json]) -> list[Json]:
        """Return results as elements of the request's list."""
        return results

    def can_go_on(self) -> bool:
        """True if elements can be appended to the request's list."""
        return bool(self.given)

    @abstractmethod
    def put_back(self, elements: list[Any], place: int, turn: HiddenTurn) -> None:
        """Insert what was hidden of the answer at a place of the request's list."""

    def _turns(self, elements: Iterable[tuple[int, Any]]) -> list[WireTurn]:
        return [turn for place, given in elements for turn in wire_turns(self.shape(mapping(given)), place)]


class ListedWire(Wire):
    """A format whose answers are lists of parts, with indexes in the stream."""

    place_name: ClassVar[str]
    parts_name: ClassVar[str]  # the answer's member with the parts
    thoughts: ClassVar[tuple[str, ...]]  # types of parts

    def __init__(self, body: Json) -> None:
        super().__init__(body)
        self._parts: dict[int, dict[str, Any]] = {}  # of this round, as they come from the upstream
        self._shown_at: dict[int, int] = {}  # indexes at the client of those that it has
        self._seen: list[Json] = []  # parts of earlier rounds that the client has
        self._held: list[tuple[bytes, Json]] = []  # events of thoughts

    def next(self, *, is_last: bool) -> None:
        self._seen += self.visible()
        self._parts, self._shown_at, self._held = {}, {}, []
        super().next(is_last=is_last)

    @abstractmethod
    def is_call(self, part: Json) -> bool:
        """True for a call of a client's tool, or of ours."""

    def is_ours(self, part: Json) -> bool:
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

    def visible(self) -> list[Json]:
        """Return the client's parts: without our calls, and without thoughts that lead to these alone."""
        shown: list[Json] = []
        held: list[Json] = []
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

    def part_event(self, event: bytes, body: Json) -> list[bytes]:
        """Return the client's events for an event of a part."""
        part = self._parts.get(index(body.get(self.place_name)), {})
        if self.is_ours(part):
            return []
        self._held.append((event, body))
        return [] if part.get("type") in self.thoughts else self.show()

    def show(self) -> list[bytes]:
        held, self._held = self._held, []
        return [self._moved(event, body) for event, body in held]

    def _moved(self, event: bytes, body: Json) -> bytes:
        """Return an event of a part with its index at the client."""
        place = index(body.get(self.place_name))
        at = self._shown_at.setdefault(place, len(self._seen) + len(self._shown_at))
        return changed_event(event, body, **{self.place_name: at})


def changed_event(event: bytes, body: Json, **changed: Any) -> bytes:
    """Return the event with other members; unchanged, byte for byte, if all are equal."""
    if all(body.get(name) == value for name, value in changed.items()):
        return event
    return with_data(event, encoded({**body, **changed}))


def _id(call: Json) -> str:
    return text(call.get("call_id") or call.get("id"))


def added(before: Json, after: Json) -> dict[str, Any]:
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
