"""The JSON that goes in and out of REST, as pydantic models; the OpenAPI document is made of them.

Requests are made from the table of operations, and results from the library's own dataclasses; only those
that differ are written out. Input is strict: unknown fields, and values of another type, are refused.
Names in the document are those here without "Json".
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

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

from zibaldone.api.operations import LARGEST, REQUIRED, Operation, Parameter
from zibaldone.core import Citation, Evidence, Message, Outdated
from zibaldone.core.validation import to_time
from zibaldone.engine.forgetting import Receipt, Removed
from zibaldone.engine.inspection import Stats, ViewStats
from zibaldone.engine.maintenance import Behind, Maintained
from zibaldone.engine.verification.receipts import Leftover, LookedAt, Verification
from zibaldone.log import Session
from zibaldone.log.audit import AuditEntry
from zibaldone.log.grants import Grant
from zibaldone.recall.ask import Answer, Step
from zibaldone.recall.lookup import Lookup
from zibaldone.recall.result import Recall
from zibaldone.recall.timeline import TimelineLine
from zibaldone.views.base import Counted
from zibaldone.views.hierarchy.nodes import Semantic
from zibaldone.views.hierarchy.themes import Theme
from zibaldone.views.notes import UserNote
from zibaldone.views.topics.library import CatalogueLine


class InputShape(BaseModel):
    """A body that a client sends."""

    model_config = ConfigDict(extra="forbid", strict=True)


class QueryShape(BaseModel):
    """The parameters in a URL, where all values are text."""

    model_config = ConfigDict(extra="forbid")


class OutputShape(BaseModel):
    """A body that a client gets."""

    model_config = ConfigDict(from_attributes=True)


# Requests


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


class ContentPartJson(BaseModel):
    """A part of a message in the shape of a chat client: text word for word, anything else described."""

    model_config = ConfigDict(extra="allow", strict=True)
    type: str
    text: str | None = None


class NewMessageJson(InputShape):
    """A message in the OpenAI chat shape, and what belongs to it."""

    model_config = _alternatives(
        "anyOf", {"content": {"type": ["string", "array"]}, "tool_calls": {"type": "array", "minItems": 1}}
    )
    content: str | list[ContentPartJson] | None = None
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
    def _has_content(self) -> NewMessageJson:
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
        return (
            Annotated[int, bounds, BeforeValidator(_whole)]
            if part.kind == "number"
            else Annotated[float, bounds]
        )
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
        "messages": list[NewMessageJson],
    }
    if part.kind in ("choice", "choices"):
        named: Any = Literal.__getitem__(part.choices)
        kinds |= {"choice": named, "choices": list[named]}
    if part.kind in ("text", "texts", "seqs", "choices", "messages"):
        return Annotated[kinds[part.kind], _set(min_length=part.least, max_length=part.most)]
    return kinds[part.kind]


def _set(**bounds: float | None) -> Any:
    whole = {
        name: int(value) if "length" in name else value for name, value in bounds.items() if value is not None
    }
    return _bounded(**whole)


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


@cache
def query_shape(operation: Operation) -> type[QueryShape]:
    """The parameters of an operation's URL."""
    user = Field(None, description="Whose memory. Not needed with a user's key.")
    fields = {} if operation.whose == "none" else {"user": (Name | None, user)}
    parts = (part for part in operation.parameters_of("rest") if _is_in_url(operation, part))
    fields |= {part.name: _field(part, in_url=True) for part in parts}
    return cast("type[QueryShape]", _make("Query", __base__=QueryShape, **fields))


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
    made = _make(f"{operation.rest.body}Json", __base__=base, __doc__=operation.summary, **fields)
    return cast("type[InputShape]", made)


_GIVEN_AS: dict[str, JsonValue] = {
    "flag": {"const": True},
    "boolean": {"type": "boolean"},
    "seqs": {"type": "array"},
}
_GIVEN_AS["messages"] = {"type": "array", "minItems": 1}


def _with_alternatives(operation: Operation, parts: Sequence[Parameter]) -> type[InputShape]:
    """The base of a body that needs exactly one, or at least one, of these fields."""
    *names, last = (part.name for part in parts)
    rule = "oneOf" if operation.one_of else "anyOf"

    class Alternatives(InputShape):
        model_config = _alternatives(
            rule, {part.name: _GIVEN_AS.get(part.kind, {"type": "string"}) for part in parts}
        )

        @model_validator(mode="after")
        def _has_one(self) -> Alternatives:
            given = sum(_is_given(part, getattr(self, part.name)) for part in parts)
            if operation.one_of and given != 1:
                raise ValueError(f"give exactly one of {', '.join(names)} and {last}")
            if not given:
                raise ValueError(f"give {', '.join(names)} or {last}")
            return self

    return Alternatives


def _is_given(part: Parameter, value: object) -> bool:
    return bool(value) if part.kind in ("flag", "messages") else value is not None


# Results


_MADE: dict[Any, Any] = {
    Mapping[str, Any]: dict[str, Any]
}  # shapes by the dataclasses that they are made from
RESULTS: dict[str, type[OutputShape]] = {}  # by name


def _shape(name: str, of: type[Any] | None, doc: str, names: str, /, **differing: Any) -> None:
    """Make the shape of these fields and properties of a dataclass.

    `differing` has a field's description, its type, or both, where the dataclass says otherwise or nothing.
    """
    hints = get_type_hints(of) if of else {}
    fields: dict[str, Any] = {}
    for field in names.split():
        given = differing.get(field, ())
        parts = given if isinstance(given, tuple) else (given,)
        description = next((part for part in parts if isinstance(part, str)), None)
        declared = next((part for part in parts if not isinstance(part, str)), None)
        if declared is None:
            declared = hints[field] if field in hints else get_type_hints(getattr(of, field).fget)["return"]
        fields[field] = (_as_json(declared), Field(description=description))
    RESULTS[name] = _make(f"{name}Json", __base__=OutputShape, __doc__=doc, **fields)
    if of is not None:
        _MADE.setdefault(of, RESULTS[name])


def _as_json(declared: Any) -> Any:
    """A type with shapes in place of dataclasses, and lists in place of tuples."""
    origin, inner = get_origin(declared), get_args(declared)
    if origin in (tuple, list):
        return list[_as_json(inner[0])]  # type: ignore[misc]
    if origin in (Union, types.UnionType):
        return Union[tuple(map(_as_json, inner))]  # noqa: UP007 - made of a tuple
    return _MADE.get(declared, declared)


# fmt: off
_shape("Message", Message, "A message as it is stored.", "id seq session role name content time metadata",
       id=str, time=datetime)
_shape("Added", None, "The messages as they are stored; one whose id was known is as it was first stored.",
       "messages new", messages=list[Message], new=(int, "How many of them were not stored before."))
_shape("MessagePage", None, "Messages in the order in which they were stored.", "messages next",
       messages=list[Message], next=(int | None, "`after` of the next page; null: this is the last."))
_shape("Session", Session, "One conversation.", "session messages first_seq last_seq start end")
_shape("SessionPage", None, "Sessions in the order of their first messages.", "sessions next",
       sessions=list[Session], next=int | None)
_shape("UserPage", None, "Names of users, in order.", "users next", users=list[str], next=str | None)
_shape("Outdated", Outdated, "What held once and holds no more.", "since by sentence",
       by="Seq of the message that says otherwise.")
_shape("Evidence", Evidence, "A passage, word for word.",
       "text speaker role sources ids session time is_dated view kind score tokens standing begins_inside"
       " ends_inside outdated also_outdated metadata scope",
       scope="The shared memory that has it; empty: the user's own.", sources="Seqs of its messages.",
       is_dated="false: its time is that of an import.",
       standing="It always holds, and was not recalled for this question alone.",
       begins_inside="It begins inside a sentence, whose first words are missing.",
       ends_inside="It ends inside a sentence, whose last words are missing.",
       also_outdated="Further sentences of it that hold no more.")
_shape("Passages", None, "What was found, best first.", "passages confidence", passages=list[Evidence],
       confidence=(float, "How likely memory knows of the query, 0 to 1; low: perhaps none is about it."))
_shape("Citation", Citation, "Where text[start:end] of a recall comes from.",
       "seq id role session time start end scope", scope="The shared memory that has the message.")
_shape("Recalled", Recall, "The evidence for a question.",
       "query text quoted tokens confidence ms evidence citations reason missing", quoted=(
           str, "The text, declared to be a quotation and no instruction."), ms=float,
       reason="Why nothing was recalled; empty where something was.",
       missing=(list[str], "Shared memories that could not be recalled."),
       text="Ready for a prompt; empty when nothing was recalled.",
       confidence="How likely memory has the answer, 0 to 1.")
_shape("Lookup", Lookup, "A query of the model's.", "query since until session role order")
_shape("Step", Step, "One look, or the answer.",
       "number queries added tokens answered calls prompt_tokens completion_tokens ms",
       number="0 is the first look, before any model.", added="Seqs of what it brought.",
       tokens="Of the evidence after it.")
_shape("Answer", Answer, "A model's answer to a question, and the evidence that it was shown.",
       "question text known confidence citations evidence steps marks",
       text="Empty where no model gave one; then the evidence is what there is.",
       known="False: memory does not hold it, as far as the model was shown. null: no model read it.",
       citations="Of the messages that it names, in evidence.text.",
       marks="What is wrong with it, in sentences.")
_shape("Counted", Counted, "So many rows of a kind.", "kind rows")
_shape("Removed", Removed, "What one view lost.", "view counts")
_shape("Receipt", Receipt, "What forgetting removed, or in a dry run would remove.",
       "user dry_run messages seqs views purged time texts key",
       purged="No file has the text any more; false in a dry run.",
       texts="What the messages said, where that was asked for.",
       key="The number of the user's key, where it was destroyed.")
_shape("Grant", Grant, "The right to read a shared memory, and perhaps to write.", "scope user write since",
       scope="The shared memory, a user of its own.")
_shape("Grants", None, "Who may read which shared memories.", "grants", grants=list[Grant])
_shape("AuditEntry", AuditEntry, "One thing that was done with a user's memory.",
       "user number time action operation door key count", number="Rises by one per user.")
_shape("Audit", None, "Who read, wrote and forgot, in the order of time.", "entries",
       entries=list[AuditEntry])
_shape("LookedAt", LookedAt, "A table, a file or an object of a bucket that was looked through.",
       "kind name rows bytes")
_shape("Leftover", Leftover, "Something that should be gone.", "kind where words")
_shape("Verification", Verification, "What was looked at, and what was found.",
       "ok user time texts looked_for excused too_short purge_is_due looked_at leftovers",
       excused="Of those, how many are in messages that are still there.",
       too_short="Texts of less than 8 bytes, which were not looked for.")
_shape("ViewStats", ViewStats, "What one view holds.", "view counts lag",
       lag="Messages that it has not read yet.")
_shape("Stats", Stats, "What a memory holds.", "user users messages sessions views bytes_on_disk",
       bytes_on_disk=(int | None, "Of the whole folder; null with a user's key."))
_shape("Behind", Behind, "A view that could not be brought to the end of the log.", "user view reason")
_shape("Maintained", Maintained, "What a maintenance did.",
       "users messages cut_short behind model_calls degraded prompt_tokens completion_tokens",
       messages="Read by at least one view.",
       cut_short="Of these, messages so long that the beginning alone was read.")
_shape("ProfileEntry", UserNote, "One thing that is known of a user.",
       "id kind text about sources time session holds pinned retired edited made_by supersedes"
       " superseded_by ended_by")
_shape("Profile", None, "What should always be known of a user.", "text entries",
       text=(str, "For a system prompt."), entries=list[UserNote])
_shape("TopicLine", CatalogueLine, "A topic document before it is opened.", "id title summary tokens")
_shape("Topics", None, "All topic documents but the one that is not filed yet.", "topics",
       topics=list[CatalogueLine])
_shape("Topic", None, "A topic document, as Markdown.", "id text", id=str, text=str)
_shape("TopicEdited", None, "What became of an edit.", "edits conflicts",
       edits=(int, "Stored; 0 when there was nothing to change."),
       conflicts=(list[str], "What changed meanwhile, as differences; then nothing was stored."))
_shape("Semantic", Semantic, "A fact, and who says so.", "id text seqs time")
_shape("Theme", Theme, "Facts that belong together.", "id name near start end semantics")
_shape("Themes", None, "All themes, in the order in which they began.", "themes", themes=list[Theme])
_shape("TimelineLine", TimelineLine, "A session, or what a model noted of it.",
       "time text session sources kind is_dated holds")
_shape("Timeline", None, "Dated lines in the order of time.", "text lines",
       text=str, lines=list[TimelineLine])
# fmt: on


class FaultJson(OutputShape):
    """A fault in a request, and its place."""

    at: str
    detail: str


class ProblemJson(OutputShape):
    """A problem (RFC 9457)."""

    model_config = ConfigDict(extra="allow")
    type: str = Field(description="urn:zibaldone:problem: and a name that stays.")
    title: str
    status: int
    detail: str
    errors: list[FaultJson] | None = None
