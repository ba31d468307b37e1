"""What goes in and out of the REST interface, as pydantic models; the OpenAPI document is made of them.

Input is strict: unknown fields, and values of another type than the one that is named, are refused. Names in
the document are those here without "Json".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Json, JsonValue, model_validator

from zibaldone.core.validation import to_time
from zibaldone.log.filters import Filter
from zibaldone.recall.ask import MOST_ROUNDS
from zibaldone.recall.recall import RECALL_TOKENS, Order

PAGE, LONGEST_PAGE = 100, 1000
_LARGEST = 2**63 - 1


def _to_time(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be an ISO 8601 string")  # noqa: TRY004 - what pydantic turns into its own
    return to_time(value)


def _whole(value: object) -> object:
    """JSON knows one kind of number, and 3.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _fields(rule: str, **fields: JsonValue) -> ConfigDict:
    """For the document: "oneOf" or "anyOf" these fields, each with a value like this."""
    kinds: list[JsonValue] = [
        {"required": [name], "properties": {name: value}} for name, value in fields.items()
    ]
    return ConfigDict(json_schema_extra={rule: kinds})


View = Literal["chunks", "hierarchy", "messages", "notes", "topics"]
Time = Annotated[datetime, BeforeValidator(_to_time)]
Name = Annotated[str, Field(min_length=1)]
Line = Annotated[str, Field(min_length=1, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$")]
Seq = Annotated[int, Field(ge=1, le=_LARGEST), BeforeValidator(_whole)]
Cursor = Annotated[int, Field(ge=0, le=_LARGEST), BeforeValidator(_whole)]
Budget = Annotated[int, Field(ge=1, le=100_000), BeforeValidator(_whole)]
Passages = Annotated[int, Field(ge=1, le=200), BeforeValidator(_whole)]
PageSize = Annotated[int, Field(ge=1, le=LONGEST_PAGE)]


class InputShape(BaseModel):
    """What a client sends in a body."""

    model_config = ConfigDict(extra="forbid", strict=True)


class QueryShape(BaseModel):
    """What a client says in a URL, where all values are text."""

    model_config = ConfigDict(extra="forbid")


class OutputShape(BaseModel):
    """What a client gets."""

    model_config = ConfigDict(from_attributes=True)


# What is asked for in a URL


class UserQuery(QueryShape):
    """Whose memory."""

    user: Name | None = Field(None, description="Whose memory. Not needed with a user's key.")


class AgentQuery(UserQuery):
    """Whose memory, and which agent's part of it."""

    agent: Name | None = Field(None, description="Only what was said to or by this agent.")


class PagedUsersQuery(QueryShape):
    """A page of names."""

    after: str = Field("", description="Only names that come after this one.")
    limit: PageSize = PAGE


class AuditQuery(UserQuery):
    """Of which time, and how many entries."""

    since: Time | None = None
    newest: PageSize = PAGE


class PagedQuery(UserQuery):
    """A page of what is in the order of seqs."""

    after: Cursor = Field(0, description="The `next` of the page before; 0 is the first page.")
    limit: PageSize = PAGE


class MessagesQuery(AgentQuery):
    """Which messages."""

    session: Name | None = Field(None, description="Only this session.")
    roles: list[Name] | None = Field(None, description="Only these roles (repeat the parameter).")
    since: Time | None = Field(None, description="Only from then on.")
    until: Time | None = Field(None, description="Only before then.")
    metadata: Json[dict[str, Any]] | None = Field(
        None, description='Only with this metadata: {"key": value}, or operators such as {"n": {"$gte": 3}}.'
    )
    after: Cursor = Field(0, description="The `next` of the page before; 0 is the first page.")
    limit: PageSize = PAGE
    last: PageSize | None = Field(None, description="The newest so many, in place of a page.")


class ProfileQuery(UserQuery):
    """How long a profile's text may be."""

    budget_tokens: Budget = Field(400, description="Of the text.")


class TimelineQuery(UserQuery):
    """Which dated lines."""

    query: str = Field("", description="What the lines are to be about.")
    session: Name | None = None
    since: Time | None = None
    until: Time | None = None
    limit: int = Field(100, ge=1, le=1000)


# What is sent


class ContentPartJson(BaseModel):
    """A part of a message in the shape of a chat client: text word for word, anything else described."""

    model_config = ConfigDict(extra="allow", strict=True)
    type: str
    text: str | None = None


class NewMessageJson(InputShape):
    """A message in the OpenAI chat shape, and what belongs to it."""

    model_config = _fields(
        "anyOf", content={"type": ["string", "array"]}, tool_calls={"type": "array", "minItems": 1}
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
    def _says(self) -> NewMessageJson:
        if self.content is None and not self.tool_calls:
            raise ValueError("give a content, or tool calls")
        return self

    def given(self) -> Mapping[str, Any]:
        """What `Memory.add` takes."""
        return self.model_dump(exclude_none=True, exclude_defaults=True) | {"content": self._content()}

    def _content(self) -> object:
        if isinstance(self.content, list):
            return [part.model_dump(exclude_none=True) for part in self.content]
        return self.content


class AddMessagesJson(InputShape):
    """Messages to be kept, all of them or none."""

    messages: list[NewMessageJson] = Field(min_length=1, max_length=1000)
    session: Name | None = Field(None, description="Of those that name none.")
    agent: Name | None = Field(None, description="The agent that they were said to or by.")


class CorrectionJson(InputShape):
    """What a message should have said."""

    content: str
    metadata: dict[str, JsonValue] | None = None


class NarrowedJson(InputShape):
    """What a recall or a search is narrowed to."""

    session: Name | None = None
    exclude_session: Name | None = None
    roles: list[Name] | None = None
    since: Time | None = None
    until: Time | None = Field(None, description="Not itself.")
    metadata: dict[str, JsonValue] | None = Field(
        None, description='{"key": value}, or operators such as {"n": {"$gte": 3}}.'
    )
    agent: Name | None = None
    now: Time | None = Field(None, description='What "last week" in the query is relative to.')

    def filter(self, agent: str | None) -> Filter:
        """The limits of `Memory.recall` and `Memory.search`, of what this agent may see."""
        given = self.model_dump(include=NarrowedJson.model_fields.keys() - {"agent", "now"})
        return Filter(**given, agent=agent)


class SearchJson(NarrowedJson):
    """A search: passages, best first."""

    query: str
    limit: Passages = 20


class RecallJson(NarrowedJson):
    """A recall: a question, or the messages of a chat of which the user's last one is the question."""

    model_config = _fields("anyOf", query={"type": "string"}, messages={"type": "array", "minItems": 1})
    query: str | None = None
    messages: list[NewMessageJson] | None = Field(None, max_length=1000)
    budget_tokens: Budget = RECALL_TOKENS
    views: list[View] | None = Field(None, min_length=1, max_length=20)
    min_confidence: float | None = Field(
        None, ge=0, le=1, description="Recall nothing below this confidence."
    )

    @model_validator(mode="after")
    def _asks(self) -> RecallJson:
        if self.query is None and not self.messages:
            raise ValueError("give a query, or the messages of a chat")
        return self


class AskJson(NarrowedJson):
    """A question that a model is to answer, which may look into memory again."""

    question: Annotated[str, Field(min_length=1)]
    rounds: Annotated[int, Field(ge=0, le=MOST_ROUNDS), BeforeValidator(_whole)] = Field(
        3, description="How often it may look again."
    )
    budget_tokens: Budget = Field(2500, description="Of all evidence that the model is shown.")
    timeout_s: float = Field(120, gt=0, le=600, description="Then what was recalled stands in.")
    stream: bool = Field(
        False,
        description="Server-sent events: a `step` for each look, then `answer`, or `error`.",
    )


class ForgetJson(InputShape):
    """What to forget: exactly one of seqs, session, before and everything."""

    model_config = _fields(
        "oneOf",
        seqs={"type": "array"},
        session={"type": "string"},
        before={"type": "string"},
        everything={"const": True},
    )
    seqs: list[Seq] | None = Field(None, min_length=1, max_length=10_000)
    session: Name | None = None
    before: Time | None = None
    everything: bool = False
    dry_run: bool = Field(False, description="Count what would go, and change nothing.")
    keep_texts: bool = Field(False, description="Give what the messages said, to verify with.")
    shred: bool = Field(False, description="With everything: destroy the user's key, too.")

    @model_validator(mode="after")
    def _selects(self) -> ForgetJson:
        if (
            sum((self.seqs is not None, self.session is not None, self.before is not None, self.everything))
            != 1
        ):
            raise ValueError("give exactly one of seqs, session, before and everything")
        return self


class VerifyJson(InputShape):
    """What is looked for: what a receipt says."""

    seqs: list[Seq] = Field(default_factory=list, max_length=10_000)
    texts: list[str] = Field(default_factory=list, max_length=100_000)


class MaintainJson(InputShape):
    """Which views to bring to the end of the log."""

    views: list[View] | None = Field(None, min_length=1, max_length=20)


class NewEntryJson(InputShape):
    """A note that no message says."""

    kind: Literal["instruction", "constraint", "preference", "fact", "person", "plan", "decision"]
    text: Annotated[str, Field(min_length=1, pattern=r"\S")]


class EntryChangeJson(InputShape):
    """One change of a profile's entry: exactly one of the three."""

    model_config = _fields(
        "oneOf", text={"type": "string"}, pinned={"type": "boolean"}, retired={"const": True}
    )
    text: Name | None = Field(None, description="What it says instead; one that was retired holds again.")
    pinned: bool | None = Field(None, description="Whether it comes first in the text.")
    retired: bool | None = Field(None, description="true: it holds no longer.")

    @model_validator(mode="after")
    def _is_one(self) -> EntryChangeJson:
        if sum(value is not None for value in (self.text, self.pinned, self.retired)) != 1:
            raise ValueError("give exactly one of text, pinned and retired")
        if self.retired is False:
            raise ValueError("a retired entry holds again with a new text")
        return self


class TopicTextJson(InputShape):
    """A topic document as somebody has edited it."""

    text: Name
    before: str | None = Field(
        None, description="As it was when the edit began: what changed since is a conflict."
    )


# What is given back


class MessageJson(OutputShape):
    """A message as it is stored."""

    id: str
    seq: int
    session: str
    role: str
    name: str | None
    content: str
    time: datetime
    metadata: dict[str, Any]


class AddedJson(OutputShape):
    """The messages as they are stored; one whose id was known is as it was first stored."""

    messages: list[MessageJson]
    new: int = Field(description="How many of them were not stored before.")


class MessagePageJson(OutputShape):
    """Messages in the order in which they were stored."""

    messages: list[MessageJson]
    next: int | None = Field(description="`after` of the next page; null: this is the last.")


class SessionJson(OutputShape):
    """One conversation."""

    session: str
    messages: int
    first_seq: int
    last_seq: int
    start: datetime
    end: datetime


class SessionPageJson(OutputShape):
    """Sessions in the order of their first messages."""

    sessions: list[SessionJson]
    next: int | None


class UserPageJson(OutputShape):
    """Names of users, in order."""

    users: list[str]
    next: str | None


class OutdatedJson(OutputShape):
    """What held once and holds no more."""

    since: datetime | None
    by: int = Field(description="Seq of the message that says otherwise.")
    sentence: str


class EvidenceJson(OutputShape):
    """A passage, word for word."""

    text: str
    speaker: str | None
    role: str | None
    sources: list[int] = Field(description="Seqs of its messages.")
    ids: list[str]
    session: str
    time: datetime
    is_dated: bool = Field(description="false: its time is that of an import.")
    view: str
    kind: str
    score: float
    tokens: int
    standing: bool = Field(description="It always holds, and was not recalled for this question alone.")
    begins_inside: bool = Field(description="It begins inside a sentence, whose first words are missing.")
    ends_inside: bool = Field(description="It ends inside a sentence, whose last words are missing.")
    outdated: OutdatedJson | None
    also_outdated: list[OutdatedJson] = Field(description="Further sentences of it that hold no more.")
    metadata: dict[str, Any]


class PassagesJson(OutputShape):
    """What was found, best first."""

    passages: list[EvidenceJson]


class CitationJson(OutputShape):
    """Where text[start:end] of a recall comes from."""

    seq: int
    id: str | None
    role: str | None
    session: str
    time: datetime
    start: int
    end: int


class RecalledJson(OutputShape):
    """The evidence for a question."""

    query: str
    text: str = Field(description="Ready for a prompt; empty when nothing was recalled.")
    quoted: str = Field(description="The text, declared to be a quotation and no instruction.")
    tokens: int
    confidence: float = Field(description="How likely memory has the answer, 0 to 1.")
    ms: float
    evidence: list[EvidenceJson]
    citations: list[CitationJson]


class LookupJson(OutputShape):
    """A query of the model's."""

    query: str
    since: datetime | None
    until: datetime | None
    session: str | None
    role: str | None
    order: Order


class StepJson(OutputShape):
    """One look, or the answer."""

    number: int = Field(description="0 is the first look, before any model.")
    queries: list[LookupJson]
    added: list[int] = Field(description="Seqs of what it brought.")
    tokens: int = Field(description="Of the evidence after it.")
    answered: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int
    ms: float


class AnswerJson(OutputShape):
    """A model's answer to a question, and the evidence that it was shown."""

    question: str
    text: str = Field(description="Empty where no model gave one; then the evidence is what there is.")
    known: bool = Field(description="False: memory does not hold it, as far as the model was shown.")
    confidence: float
    citations: list[CitationJson] = Field(description="Of the messages that it names, in evidence.text.")
    evidence: RecalledJson
    steps: list[StepJson]
    marks: list[str] = Field(description="What is wrong with it, in sentences.")


class CountedJson(OutputShape):
    """So many rows of a kind."""

    kind: str
    rows: int


class RemovedJson(OutputShape):
    """What one view lost."""

    view: str
    counts: list[CountedJson]


class ReceiptJson(OutputShape):
    """What forgetting removed, or in a dry run would remove."""

    user: str
    dry_run: bool
    messages: int
    seqs: list[int]
    views: list[RemovedJson]
    purged: bool = Field(description="No file has the text any more; false in a dry run.")
    time: datetime | None
    texts: list[str] = Field(description="What the messages said, where that was asked for.")
    key: str = Field("", description="The number of the user's key, where it was destroyed.")


class AuditEntryJson(OutputShape):
    """One thing that was done with a user's memory."""

    user: str
    number: int = Field(description="Rises by one per user.")
    time: datetime
    action: Literal["read", "write", "forget"]
    operation: str
    door: str
    key: str | None
    count: int


class AuditJson(OutputShape):
    """Who read, wrote and forgot, in the order of time."""

    entries: list[AuditEntryJson]


class LookedAtJson(OutputShape):
    """A table, a file or an object of a bucket that was looked through."""

    kind: Literal["table", "file", "object", "export"]
    name: str
    rows: int
    bytes: int


class LeftoverJson(OutputShape):
    """Something that should be gone."""

    kind: Literal["text", "normalised text", "word", "reference"]
    where: str
    words: str


class VerificationJson(OutputShape):
    """What was looked at, and what was found."""

    ok: bool
    user: str
    time: datetime
    texts: int
    looked_for: int
    excused: int = Field(description="Of those, how many are in messages that are still there.")
    too_short: int = Field(description="Texts of less than 8 bytes, which were not looked for.")
    purge_is_due: bool
    looked_at: list[LookedAtJson]
    leftovers: list[LeftoverJson]


class ViewStatsJson(OutputShape):
    """What one view holds."""

    view: str
    counts: list[CountedJson]
    lag: int = Field(description="Messages that it has not read yet.")


class StatsJson(OutputShape):
    """What a memory holds."""

    user: str | None
    users: int
    messages: int
    sessions: int
    views: list[ViewStatsJson]
    bytes_on_disk: int | None = Field(description="Of the whole folder; null with a user's key.")


class BehindJson(OutputShape):
    """A view that could not be brought to the end of the log."""

    user: str
    view: str
    reason: str


class MaintainedJson(OutputShape):
    """What a maintenance did."""

    users: int
    messages: int = Field(description="Read by views, each view's counted.")
    cut_short: int = Field(description="Of these, messages so long that the beginning alone was read.")
    behind: list[BehindJson]
    model_calls: int
    degraded: int
    prompt_tokens: int
    completion_tokens: int


class ProfileEntryJson(OutputShape):
    """One thing that is known of a user."""

    id: str
    kind: str
    text: str
    about: str
    sources: list[int]
    time: datetime
    session: str
    holds: bool
    pinned: bool
    retired: bool
    edited: bool
    made_by: str
    supersedes: list[str]
    superseded_by: str | None
    ended_by: int | None


class ProfileJson(OutputShape):
    """What should always be known of a user."""

    text: str = Field(description="For a system prompt.")
    entries: list[ProfileEntryJson]


class TopicLineJson(OutputShape):
    """A topic document before it is opened."""

    id: str
    title: str
    summary: str
    tokens: int


class TopicsJson(OutputShape):
    """All topic documents but the one that is not filed yet."""

    topics: list[TopicLineJson]


class TopicJson(OutputShape):
    """A topic document, as Markdown."""

    id: str
    text: str


class TopicEditedJson(OutputShape):
    """What became of an edit."""

    edits: int = Field(description="Stored; 0 when there was nothing to change.")
    conflicts: list[str] = Field(
        description="What changed meanwhile, as differences; then nothing was stored."
    )


class SemanticJson(OutputShape):
    """A fact, and who says so."""

    id: int
    text: str
    seqs: list[int]
    time: datetime


class ThemeJson(OutputShape):
    """Facts that belong together."""

    id: int
    name: str
    near: list[int]
    start: datetime
    end: datetime
    semantics: list[SemanticJson]


class ThemesJson(OutputShape):
    """All themes, in the order in which they began."""

    themes: list[ThemeJson]


class TimelineLineJson(OutputShape):
    """A session, or what a model noted of it."""

    time: datetime
    text: str
    session: str
    sources: list[int]
    kind: str
    is_dated: bool
    holds: bool


class TimelineJson(OutputShape):
    """Dated lines in the order of time."""

    text: str
    lines: list[TimelineLineJson]


class FaultJson(OutputShape):
    """What is wrong where in a request."""

    at: str
    detail: str


class ProblemJson(OutputShape):
    """What went wrong (RFC 9457)."""

    model_config = ConfigDict(extra="allow")
    type: str = Field(description="urn:zibaldone:problem: and a name that stays.")
    title: str
    status: int
    detail: str
    errors: list[FaultJson] | None = None
