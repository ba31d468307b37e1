"""One question to a model, with the answer that stands in when no model gives one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter

from zibaldone.core import Message
from zibaldone.models.base import Turn

R = TypeVar("R", bound=BaseModel)
NOT_SENT: Final = MappingProxyType({"sent": False})
_JSON = TypeAdapter[Any](Any)


class TaskResult(BaseModel):
    """A result, or a part of one, that forbids extra fields."""

    model_config = {"extra": "forbid"}


class Task(Generic[R]):
    """A subclass is a frozen dataclass: its fields are the inputs, sent as JSON.

    The instructions are `prompts/<prompt>.md` beside the subclass's module, always the same, so that a
    server can keep them in its prefix cache. A field with the metadata NOT_SENT stays here.
    """

    offline: Callable[[], R]  # the answer of a plain algorithm; never fails: a field, or a method

    def __init_subclass__(cls) -> None:
        if not hasattr(cls, "offline") and "offline" not in cls.__annotations__:
            raise TypeError(f"{cls.__name__} has no offline answer: give it a field or a method `offline`")

    view: ClassVar[str]  # the view that asks, for the meter
    prompt: ClassVar[str]
    result: ClassVar[type[BaseModel]]  # the type of answers, R
    max_tokens: ClassVar[int | None] = None  # of the answer

    @property
    def divisible(self) -> bool:
        """True if parts of it are asked after it fails, so that the failure does not count yet."""
        return False

    @property
    def failures(self) -> int:
        """Number of failures that a bad answer counts for in the breaker."""
        return 0 if self.divisible else 1

    @property
    def name(self) -> str:
        """The task's full name, such as "chunks.compress"."""
        return f"{self.view}.{self.prompt}"

    @property
    def prompt_hash(self) -> str:
        """Digest of the instructions, 12 hex digits, kept with their results."""
        return _hash(self._instructions())

    def turns(self) -> tuple[Turn, ...]:
        """The instructions, and the inputs as JSON."""
        assert is_dataclass(self)
        sent = [given.name for given in fields(self) if given.metadata.get("sent", True)]
        inputs = {name: getattr(self, name) for name in sent}
        shown = json.dumps(_JSON.dump_python(inputs, mode="json"), ensure_ascii=False)
        return (Turn("system", self._instructions()), Turn("user", shown))

    def _instructions(self) -> str:
        file = sys.modules[type(self).__module__].__file__
        assert file
        return _prompt(Path(file).parent / "prompts" / f"{self.prompt}.md")

    def schema(self) -> Mapping[str, Any]:
        """The answer's JSON schema."""
        return _schema(self.result)

    def check(self, result: R) -> None:
        """Check what a schema cannot express; raise ValueError in words that a model can act on."""


@dataclass(frozen=True)
class ShownMessage:
    """A message, or a passage of one, as a model sees it."""

    seq: int
    speaker: str
    time: str
    text: str


def shown_message(message: Message, text: str | None = None) -> ShownMessage:
    """The message, or this text of it."""
    time = message.time.isoformat(timespec="minutes") if message.time else ""
    return ShownMessage(message.seq, message.speaker, time, message.content if text is None else text)


def check_sources(text: str, sources: Collection[int], known: Collection[int], what: str) -> None:
    """Raise ValueError unless a model's item names sources, all of them known."""
    if not sources:
        raise ValueError(f"the item {text[:60]!r} names no sources: give ids of {what}")
    if unknown := set(sources).difference(known):
        raise ValueError(
            f"the item {text[:60]!r} names sources {sorted(unknown)[:8]}, which are not among the {what}"
        )


def check_ids(ids: Sequence[Any], known: Collection[Any], what: str) -> None:
    """Raise ValueError for unknown or duplicate ids."""
    if unknown := set(ids).difference(known):
        raise ValueError(f"{what} has ids that were not given: {sorted(unknown)[:8]}")
    if len(set(ids)) < len(ids):
        raise ValueError(f"{what} names an id twice")


@cache
def _prompt(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


@cache
def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


@cache
def _schema(result: type[BaseModel]) -> Mapping[str, Any]:
    return result.model_json_schema()
