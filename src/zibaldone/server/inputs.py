"""Requests of REST and arguments of tools, as pydantic models made from the table of operations.

Unknown fields are refused, and in a body values of another type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    JsonValue,
    create_model,
    model_validator,
)

from zibaldone.api.operations import LARGEST, REQUIRED, Operation, Parameter, Tool
from zibaldone.core.validation import to_time
from zibaldone.views.topics.read.agent_tools import Arguments


class InputShape(BaseModel):
    """A body that a client sends."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _to_time(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be an ISO 8601 string")  # noqa: TRY004 - what pydantic turns into its own
    return to_time(value)


def _whole(value: object) -> object:
    """JSON knows one kind of number, and 3.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _alternatives(rule: str, given: Mapping[str, JsonValue]) -> ConfigDict:
    """Tell the document that "oneOf" or "anyOf" these fields is given, each with a value like this."""
    kinds: list[JsonValue] = [
        {"required": [name], "properties": {name: value}} for name, value in given.items()
    ]
    return ConfigDict(json_schema_extra={rule: kinds})


Time = Annotated[datetime, BeforeValidator(_to_time)]
Name = Annotated[str, Field(min_length=1)]
Line = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$")]
Seq = Annotated[int, Field(ge=1, le=LARGEST), BeforeValidator(_whole)]


class ContentPart(BaseModel):
    """A part of a message in the shape of a chat client: text word for word, anything else described."""

    model_config = ConfigDict(extra="allow", strict=True)
    type: str
    text: str | None = None


class NewMessage(InputShape):
    """A message in the OpenAI chat shape, and what belongs to it."""

    model_config = _alternatives(
        "anyOf", {"content": {"type": ["string", "array"]}, "tool_calls": {"type": "array", "minItems": 1}}
    )
    content: str | list[ContentPart] | None = None
    role: Line = "user"
    name: Line | None = None
    time: Time | None = Field(None, description="When it was said; unless given, now.")
    session: Name | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    id: Name | None = Field(
        None, description="Your own; sending a message of the same id again adds nothing."
    )
    tool_calls: list[dict[str, JsonValue]] | None = None
    tool_call_id: str | None = None
    refusal: str | None = None

    @model_validator(mode="after")
    def _has_content(self) -> NewMessage:
        if self.content is None and not self.tool_calls:
            raise ValueError("give a content, or tool calls")
        return self

    def given(self) -> Mapping[str, Any]:
        """The message as `Memory.add` takes it."""
        content: object = self.content
        if isinstance(self.content, list):
            content = [part.model_dump(exclude_none=True) for part in self.content]
        return self.model_dump(exclude_none=True, exclude_defaults=True) | {"content": content}


_bounded: Any = Field  # its keywords are put together below
_make: Any = create_model


def _type_of(part: Parameter, *, in_url: bool) -> Any:
    """A parameter's type with its bounds."""
    if part.kind in ("number", "fraction", "seconds"):
        lowest = "gt" if part.kind == "seconds" else "ge"
        bounds = _set(**{lowest: part.least, "le": part.most})
        whole = Annotated[int, bounds, BeforeValidator(_whole)]
        return whole if part.kind == "number" else Annotated[float, bounds]
    kinds: dict[str, Any] = {
        "time": Time,
        "session": Name,
        "words": Annotated[str, Field(min_length=1, pattern=r"\S")],
        "flag": bool,
        "boolean": bool,
        "object": Json[dict[str, Any]] if in_url else dict[str, JsonValue],
        "text": str,
        "texts": list[str] if part.default == () else list[Name],
        "seqs": list[Seq],
        "messages": list[NewMessage],
    }
    if part.kind in ("choice", "choices"):
        named: Any = Literal.__getitem__(part.choices)
        kinds |= {"choice": named, "choices": list[named]}
    if part.kind in ("text", "texts", "seqs", "choices", "messages"):
        return Annotated[kinds[part.kind], _set(min_length=part.least, max_length=part.most)]
    return kinds[part.kind]


def _set(**bounds: float | None) -> Any:
    return _bounded(**{name: value for name, value in bounds.items() if value is not None})


def _field(part: Parameter, *, in_url: bool) -> tuple[Any, Any]:
    """A parameter as `create_model` takes a field."""
    taken, described = _type_of(part, in_url=in_url), {"description": part.help or None}
    if part.default is REQUIRED:
        return taken, _bounded(**described)
    if part.default == ():
        return taken, _bounded(default_factory=list, **described)
    return taken | None if part.default is None else taken, _bounded(part.default, **described)


def _is_in_url(operation: Operation, part: Parameter) -> bool:
    assert operation.rest is not None
    return not operation.rest.body or part.name in operation.rest.in_url


def arguments_shape(tool: Tool) -> type[Arguments]:
    """The arguments of a tool; its description is their docstring."""
    fields = {part.name: _field(part, in_url=False) for part in tool.parameters}
    made = _make(tool.name, __base__=Arguments, __doc__=tool.description, **fields)
    return cast("type[Arguments]", made)


@cache
def query_shape(operation: Operation) -> type[Arguments]:
    """The parameters of an operation's URL."""
    user = Field(None, description="Whose memory. Not needed with a user's key.")
    fields = {} if operation.whose == "none" else {"user": (Name | None, user)}
    parts = (part for part in operation.parameters_of("rest") if _is_in_url(operation, part))
    fields |= {part.name: _field(part, in_url=True) for part in parts}
    return cast("type[Arguments]", _make("Query", __base__=Arguments, **fields))


@cache
def body_shape(operation: Operation) -> type[InputShape] | None:
    """The body of an operation's request; None where it has none."""
    assert operation.rest is not None
    if not operation.rest.body:
        return None
    parts = {part.name: part for part in operation.parameters_of("rest") if not _is_in_url(operation, part)}
    names = operation.one_of or operation.any_of
    base = _with_alternatives(operation, [parts[name] for name in names]) if names else InputShape
    fields = {name: _field(part, in_url=False) for name, part in parts.items()}
    made = _make(operation.rest.body, __base__=base, __doc__=operation.summary, **fields)
    return cast("type[InputShape]", made)


_GIVEN_AS: dict[str, JsonValue] = {
    "flag": {"const": True},
    "boolean": {"type": "boolean"},
    "seqs": {"type": "array"},
    "messages": {"type": "array", "minItems": 1},
}


def _with_alternatives(operation: Operation, parts: Sequence[Parameter]) -> type[InputShape]:
    """The base of a body of which exactly one, or at least one, of these fields is needed."""
    given = {part.name: _GIVEN_AS.get(part.kind, {"type": "string"}) for part in parts}

    class Alternatives(InputShape):
        model_config = _alternatives("oneOf" if operation.one_of else "anyOf", given)

    return Alternatives
