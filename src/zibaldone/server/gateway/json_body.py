"""A JSON object whose members can be replaced while every other byte stays as it came."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_decode = json.JSONDecoder().raw_decode
_SPACE = re.compile(r"[ \t\n\r]*")


class NotAnObject(ValueError):
    """The text is not a JSON object, or is nested too deeply."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object with its position."""

    name: str
    value: Any
    start: int  # of the name's quotation mark
    value_start: int
    end: int  # of the value


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object in a text: `text[start:end]`."""

    text: str
    members: tuple[Member, ...]
    start: int
    end: int

    def __getitem__(self, name: str) -> Any:
        """Return a member's value, None if it is missing; of duplicates the last one counts."""
        return next((member.value for member in reversed(self.members) if member.name == name), None)

    def __contains__(self, name: str) -> bool:
        return any(member.name == name for member in self.members)

    def member(self, name: str) -> Member:
        """Return a member that exists."""
        return next(member for member in reversed(self.members) if member.name == name)

    def rewritten(self, replaced: Mapping[str, str], *, removed: Sequence[str] = ()) -> str:
        """Return the object with values replaced, added (JSON) or removed; all else stays as it is."""
        pieces, before = [], self.start + 1
        for member in self.members:
            space = self.text[before : member.start].replace(",", "")
            before = member.end
            if member.name not in removed:
                value = replaced.get(member.name, self.text[member.value_start : member.end])
                pieces.append(f"{space}{self.text[member.start : member.value_start]}{value}")
        pieces += [f"{dumped(name)}:{value}" for name, value in replaced.items() if name not in self]
        return f"{{{','.join(pieces)}{self.text[before : self.end]}"

    def extended(self, name: str, elements: Sequence[str]) -> str:
        """Return the list of a member (JSON) with elements at its end."""
        given = self.member(name)
        without_end = self.text[given.value_start : given.end - 1]
        return f"{without_end}{',' if given.value else ''}{','.join(elements)}]"


def dumped(value: object) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encoded(text: str) -> bytes:
    """Encode as UTF-8, with a question mark for lone surrogates."""
    return text.encode(errors="replace")


def read_object(data: bytes) -> JsonObject:
    """Parse a body with the positions of its members. Raises NotAnObject."""
    try:
        text = data.decode()
        read = object_at(text, _after_space(text, 0))
        if _after_space(text, read.end) != len(text):
            raise NotAnObject("something follows the object")
    except (ValueError, RecursionError) as error:
        raise NotAnObject(str(error)) from error
    return read


def object_at(text: str, at: int) -> JsonObject:
    """Parse the object that begins at `at`. Raises NotAnObject."""
    start = at
    members: list[Member] = []
    at = _opened(text, at, "{", "}")
    while at >= 0:
        name, after_name = _value(text, at)
        colon = _after_space(text, after_name)
        if not isinstance(name, str) or text[colon : colon + 1] != ":":
            raise NotAnObject(f"no member at character {at}")
        value_start = _after_space(text, colon + 1)
        value, end = _value(text, value_start)
        members.append(Member(name, value, at, value_start, end))
        at, closed = _next(text, end, "}")
        if at < 0:
            return JsonObject(text, tuple(members), start, closed)
    return JsonObject(text, (), start, _after_space(text, start + 1) + 1)


def elements_at(text: str, at: int) -> list[tuple[int, int]]:
    """Return start and end of each element of the list that begins at `at`. Raises NotAnObject."""
    elements: list[tuple[int, int]] = []
    at = _opened(text, at, "[", "]")
    while at >= 0:
        _, end = _value(text, at)
        elements.append((at, end))
        at, _ = _next(text, end, "]")
    return elements


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _decode(text, at)
    except StopIteration as error:  # what the decoder's scanner raises at the end of a text
        raise NotAnObject(f"no value at character {at}") from error


def _opened(text: str, at: int, opening: str, closing: str) -> int:
    """Return the start of the first member or element; -1 if there is none."""
    if text[at : at + 1] != opening:
        raise NotAnObject(f"no {opening} at character {at}")
    first = _after_space(text, at + 1)
    return -1 if text[first : first + 1] == closing else first


def _next(text: str, end: int, closing: str) -> tuple[int, int]:
    """Return (start of the next member or element, 0), or (-1, end of the container)."""
    at = _after_space(text, end)
    if text[at : at + 1] == closing:
        return -1, at + 1
    if text[at : at + 1] != ",":
        raise NotAnObject(f"no comma at character {at}")
    return _after_space(text, at + 1), 0


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


@dataclass(frozen=True, slots=True)
class Splice:
    """A replacement of `text[start:end]`."""

    start: int
    end: int
    text: str


def put_before(at: int, elements: Sequence[str]) -> Splice:
    """Insert elements before the one at a position of a list."""
    return Splice(at, at, "".join(f"{element}," for element in elements))


def edited(text: str, splices: Iterable[Splice]) -> str:
    """Return the text with these splices, which must not overlap."""
    pieces, at = [], 0
    for splice in sorted(splices, key=lambda splice: splice.start):
        pieces += [text[at : splice.start], splice.text]
        at = splice.end
    return "".join([*pieces, text[at:]])


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one; upstreams may send anything."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def index(value: object) -> int:
    """Return the value if it is a number, else 0: some upstreams omit the index of a single thing."""
    return value if isinstance(value, int) else 0


def text(value: object) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""
