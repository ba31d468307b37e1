"""What the tools give as data: the schemas that clients are told."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from zibaldone.views.topics.read.tool_text import ToolAnswer


class McpAnswer(BaseModel):
    """What one tool gives."""

    model_config = ConfigDict(frozen=True)


class RememberAnswer(McpAnswer):
    """The message as it is stored."""

    seq: int  # its number, by which it can be forgotten
    session: str
    time: datetime


class Source(McpAnswer):
    """A message that something was taken from."""

    seq: int
    session: str
    time: datetime


class RecallAnswer(McpAnswer):
    """What memory says of a question."""

    text: str
    tokens: int
    confidence: float  # from 0 to 1, that memory can answer
    sources: list[Source]


class Passage(McpAnswer):
    """A message, or a part of one."""

    text: str
    speaker: str | None
    seqs: list[int]
    session: str
    time: datetime | None  # None: nobody knows
    score: float
    holds: bool  # False: a later message says otherwise


class SearchAnswer(McpAnswer):
    """Passages, best first."""

    passages: list[Passage]


class ProfileLine(McpAnswer):
    """One thing that holds."""

    id: str
    kind: str  # instruction, preference, decision, relation or fact
    text: str
    time: datetime
    pinned: bool


class ProfileAnswer(McpAnswer):
    """What is always known of the user."""

    text: str
    entries: list[ProfileLine]


class ForgetAnswer(McpAnswer):
    """What was deleted, or would be."""

    dry_run: bool
    messages: int
    seqs: list[int]  # of the first thousand
    purged: bool  # no file has the text any more


class TopicsAnswer(McpAnswer):
    """What was found in the topic documents."""

    result: ToolAnswer
