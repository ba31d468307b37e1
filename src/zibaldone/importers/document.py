"""JSON values that know where they stand, so that every fault can be pointed at by its path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from zibaldone.core import Message
from zibaldone.core.validation import to_time
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.log.message_input import MessageLike, to_messages


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value and its place in the file. Reading it as another type raises InvalidImport."""

    value: Any
    at: str  # such as "$[3].mapping" or "line 7: $.content"
    path: Path | str  # of the file, as errors call it

    def fault(self, expected: str, actual: str | None = None) -> InvalidImport:
        """The error to raise when this value cannot be used."""
        return self.error(f"found {actual or describe(self.value)}, expected {expected}")

    def error(self, reason: str) -> InvalidImport:
        """An error that says where this value stands."""
        where = f"{self.path}: {self.at}"
        return InvalidImport(f"{where}: {reason}", where=where, why=reason)

    def get(self, key: str) -> Node | None:
        """The field of an object; None when it is absent or null."""
        value = self._object().get(key)
        return None if value is None else Node(value, f"{self.at}.{key:.80}", self.path)

    def __getitem__(self, key: str) -> Node:
        value = self.get(key)
        if value is None:
            if key in self.value:
                raise Node(None, f"{self.at}.{key:.80}", self.path).fault("a value")
            raise self.fault(f"the field {key!r}")
        return value

    def fields(self) -> dict[str, Node]:
        """Every field of an object, null or not."""
        return {key: Node(value, f"{self.at}.{key:.80}", self.path) for key, value in self._object().items()}

    def items(self) -> list[Node]:
        """The elements of a list."""
        if not isinstance(self.value, list):
            raise self.fault("a list")
        return [Node(value, f"{self.at}[{i}]", self.path) for i, value in enumerate(self.value)]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            raise self.fault("a string")
        return self.value

    def text_of(self, key: str) -> str:
        """A field that is a string; "" for any other."""
        value = self._object().get(key)
        return value if isinstance(value, str) else ""

    def time_of(self, key: str) -> datetime | None:
        """A field that is a moment, where it is there."""
        field = self.get(key)
        return None if field is None else field.time()

    def items_of(self, key: str) -> list[Node]:
        """The elements of a field that is a list; none where it is absent."""
        field = self.get(key)
        return [] if field is None else field.items()

    def says(self, key: str) -> bool:
        """True if a field is the word `true`."""
        return self._object().get(key) is True

    def label(self) -> str:
        """A string that can serve as an id; a whole number is written out."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.fault("a string that is not empty")
        return self.value

    def time(self) -> datetime:
        """A moment, as an ISO 8601 string or epoch seconds; naive means UTC."""
        try:
            return to_time(self.value)
        except (InvalidInput, OverflowError) as error:
            raise self.fault("an ISO 8601 date and time or epoch seconds") from error

    def message(self, given: MessageLike) -> Message:
        """Check the one message made from this value, as `Memory.add` would."""
        return self.messages(given)[0]

    def messages(self, given: MessageLike) -> list[Message]:
        """Check the messages made from this value; results of tools are messages of their own."""
        try:
            made = to_messages([given], session=None)
        except InvalidInput as error:
            reason = error.__cause__ if isinstance(error.__cause__, InvalidInput) else error
            raise self.error(str(reason)) from error
        except OverflowError as error:
            raise self.fault("numbers of a usable size") from error
        return [replace(message, files=()) if message.files else message for message in made]

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            raise self.fault("an object")
        return self.value


def describe(value: object) -> str:
    """A JSON value in a few words."""
    if isinstance(value, dict):
        keys = ", ".join(f"{key!r:.40}" for key in list(value)[:8])
        return f"an object with {keys}{', …' if len(value) > 8 else ''}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if value is None:
        return "null"
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
