"""The JSON that REST gives, as pydantic models made from the library's own dataclasses."""

from __future__ import annotations

import types
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, create_model

from zibaldone.core import Citation, Evidence, Message, Outdated
from zibaldone.engine.forgetting import Receipt, Removed
from zibaldone.engine.inspection import Stats, ViewStats
from zibaldone.engine.maintenance import Behind, Maintained
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


class OutputShape(BaseModel):
    """A body that a client gets."""

    model_config = ConfigDict(from_attributes=True)


_make: Any = create_model  # its fields are put together below
_MADE: dict[Any, Any] = {Mapping[str, Any]: dict[str, Any]}  # shapes by the dataclasses they are made from
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
    RESULTS[name] = _make(name, __base__=OutputShape, __doc__=doc, **fields)
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


def _traced(name: str) -> Any:
    """A field of a recall that stands in its trace."""
    return Field(validation_alias=AliasPath("trace", name))


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
       "query text quoted tokens confidence ms evidence citations reason missing",
       quoted=(Annotated[str, BeforeValidator(lambda quoted: quoted())],
               "The text, declared to be a quotation and no instruction."),
       ms=Annotated[float, _traced("ms")], reason="Why nothing was recalled; empty where something was.",
       missing=(Annotated[list[str], _traced("missing")], "Shared memories that could not be recalled."),
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
_shape("Semantic", Semantic, "A fact, and who says so.", "id text seqs time")
_shape("Theme", Theme, "Facts that belong together.", "id name near start end semantics")
_shape("Themes", None, "All themes, in the order in which they began.", "themes", themes=list[Theme])
_shape("TimelineLine", TimelineLine, "A session, or what a model noted of it.",
       "time text session sources kind is_dated holds")
_shape("Timeline", None, "Dated lines in the order of time.", "text lines",
       text=str, lines=list[TimelineLine])
# fmt: on


class Fault(OutputShape):
    """A fault in a request, and its place."""

    at: str
    detail: str


class _AnyMembers(OutputShape):
    model_config = ConfigDict(extra="allow")


PROBLEM: type[OutputShape] = _make(
    "Problem",
    __base__=_AnyMembers,
    __doc__="A problem (RFC 9457).",
    type=(str, Field(description="urn:zibaldone:problem: and a name that stays.")),
    title=(str, ...),
    status=(int, ...),
    detail=(str, ...),
    errors=(list[Fault] | None, None),
)
