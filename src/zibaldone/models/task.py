"""One question to a model, with the answer that stands in when no model gives one."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter

from zibaldone.models.base import Turn

R = TypeVar("R", bound=BaseModel)
_JSON = TypeAdapter[Any](Any)


class Task(ABC, Generic[R]):
    """A subclass is a frozen dataclass: its fields are the inputs, sent as JSON.

    The instructions are `prompts/<prompt>.md` beside the subclass's module, always the same, so that a
    server can keep them in its prefix cache. A field with the metadata {"sent": False} stays here.
    """

    view: ClassVar[str]  # of whom the meter says that it asked
    prompt: ClassVar[str]
    result: ClassVar[type[BaseModel]]  # the R of the subclass
    max_tokens: ClassVar[int | None] = None  # of the answer

    @property
    def name(self) -> str:
        """Such as "chunks.compress"."""
        return f"{self.view}.{self.prompt}"

    @property
    def prompt_hash(self) -> str:
        """Which version of the instructions it is: 12 hex digits, kept with what they produced."""
        return _hash(_instructions(type(self)))

    def turns(self) -> tuple[Turn, ...]:
        """The instructions, and the inputs as JSON."""
        assert is_dataclass(self)
        inputs = {one.name: getattr(self, one.name) for one in fields(self) if one.metadata.get("sent", True)}
        shown = json.dumps(_JSON.dump_python(inputs, mode="json"), ensure_ascii=False, indent=1)
        return (Turn("system", _instructions(type(self))), Turn("user", shown))

    def schema(self) -> Mapping[str, Any]:
        """The answer's JSON schema."""
        return _schema(self.result)

    def check(self, result: R) -> None:
        """What a schema cannot say: raises ValueError in words that a model can act on."""

    @abstractmethod
    def offline(self) -> R:
        """The answer of a plain algorithm; never fails."""


@dataclass(frozen=True, kw_only=True)
class PlainlyAnswered(Task[R]):
    """A task whose asker brings the plain answer along."""

    fallback: Callable[[], R] = field(metadata={"sent": False}, compare=False)

    def offline(self) -> R:
        return self.fallback()


class TaskAnswer(BaseModel):
    """What every answer has in common: no field beside those asked for."""

    model_config = {"extra": "forbid"}


@dataclass(frozen=True)
class ShownMessage:
    """A message, or a passage of one, as a model sees it."""

    seq: int
    speaker: str
    time: str
    text: str


@cache
def _instructions(task: type[Task[Any]]) -> str:
    module = sys.modules[task.__module__]
    assert module.__file__
    path = Path(module.__file__).parent / "prompts" / f"{task.prompt}.md"
    return path.read_text(encoding="utf-8").strip()


@cache
def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


@cache
def _schema(result: type[BaseModel]) -> Mapping[str, Any]:
    return result.model_json_schema()
