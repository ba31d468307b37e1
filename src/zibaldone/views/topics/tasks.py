"""Tasks of the topics view: prompts A to D of consolidation, and the readers' (section 3.4, prompt E).

The offline answer of a task is empty: the caller then goes on as without a model. Docstrings of
result classes are in the JSON schema that models are sent: another word is another prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from zibaldone.models.dividing import TaskAboutMany
from zibaldone.models.task import NOT_SENT, Task, TaskResult
from zibaldone.views.topics.library import CatalogueLine
from zibaldone.views.topics.markdown.entry import Entry

_LONGEST_FACT = 2000  # characters


class FactNoted(TaskResult):
    """One durable fact of the message of that seq; `date` is when it holds, "" for the message's own day."""

    message: int
    text: str = Field(max_length=_LONGEST_FACT)
    date: str = ""


class Extracted(TaskResult):
    """In the order of the messages: a later one is the more recent."""

    facts: Annotated[list[FactNoted], Field(max_length=1024)]


class Line(TaskResult):
    """One entry that stands for several; an empty `text` leaves the words of the newest."""

    entries: list[int]
    text: str = ""


class SectionWritten(TaskResult):
    """A heading with what stands below it."""

    heading: str
    entries: list[int] = Field(default=[])
    lines: list[Line] = Field(default=[])  # that may be one entry: here they stay apart, in their own words

    @property
    def numbers(self) -> list[int]:
        """Numbers of all entries that it names."""
        return [*self.entries, *(number for line in self.lines for number in line.entries)]


class Superseding(TaskResult):
    """An older entry whose place a newer one takes."""

    older: int
    newer: int


class Rewritten(TaskResult):
    """REWRITE_CURRENT: prompt B. An entry that it does not name stays where it is."""

    title: str = ""
    summary: str = ""
    sections: list[SectionWritten]
    superseded: list[Superseding] = Field(default=[])


class DocumentRewritten(Rewritten):
    """A document: prompt D."""

    document: str


class DocumentsRewritten(TaskResult):
    """A document that it does not name gets what is new without it."""

    documents: list[DocumentRewritten]


class Update(TaskResult):
    """Blocks that go to a document that there is."""

    document: str
    blocks: list[int]


class NewDocument(TaskResult):
    """Blocks that make a new one."""

    title: str
    summary: str = ""
    blocks: list[int]


class Planned(TaskResult):
    """Prompt C."""

    updates: list[Update]
    new_documents: list[NewDocument]


class Groups(TaskResult):
    """Documents to merge."""

    groups: list[list[str]]


@dataclass(frozen=True)
class SectionShown:
    """Entries below a heading ("" for none) as a model sees them, a line each: number, metadata, text."""

    heading: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class BlockShown:
    """A block of REWRITE_CURRENT: who says what in its first entries, which is enough to file it."""

    block: int
    heading: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Extract(TaskAboutMany[Extracted]):
    """Prompt A: extract what is worth keeping from a batch of messages."""

    view = "topics"
    prompt = "extract"
    result = Extracted
    max_tokens = 8192

    sessions: tuple[tuple[str, ...], ...]
    earlier: tuple[str, ...]
    seqs: frozenset[int] = field(metadata=NOT_SENT, compare=False)
    failed: int = field(default=0, metadata=NOT_SENT, compare=False)

    @property
    def parts(self) -> int:
        return len(self.seqs)

    def offline(self) -> Extracted:
        return Extracted(facts=[])

    def check(self, result: Extracted) -> None:
        """Raises ValueError if no fact is of a message that was shown."""
        if result.facts and self.seqs.isdisjoint(fact.message for fact in result.facts):
            raise ValueError(
                f"no fact is of a message of `sessions`: {[fact.message for fact in result.facts[:8]]}"
            )


@dataclass(frozen=True)
class RewriteCurrent(Task[Rewritten]):
    """Prompt B: order CURRENT."""

    view = "topics"
    prompt = "rewrite_current"
    result = Rewritten
    max_tokens = 8192

    entries: tuple[str, ...]

    def offline(self) -> Rewritten:
        return Rewritten(sections=[])


@dataclass(frozen=True)
class PlanUpdates(Task[Planned]):
    """Prompt C: choose the document of each block."""

    view = "topics"
    prompt = "plan_updates"
    result = Planned
    max_tokens = 4096

    blocks: tuple[BlockShown, ...]
    documents: tuple[CatalogueLine, ...]

    def offline(self) -> Planned:
        return Planned(updates=[], new_documents=[])

    def check(self, result: Planned) -> None:
        """Raises ValueError unless each block goes to one place, in an existing document."""
        known = {one.id for one in self.documents}
        if unknown := {one.document for one in result.updates} - known:
            raise ValueError(f"there are no documents {sorted(unknown)}: name ids that are listed")
        groups = [one.blocks for one in result.updates] + [one.blocks for one in result.new_documents]
        placed = [number for group in groups for number in group]
        if sorted(placed) != [one.block for one in self.blocks]:
            raise ValueError(
                f"blocks {placed[:64]}: every one that was given goes to one place, and no other"
            )


@dataclass(frozen=True)
class DocumentOpened:
    """A document with its new entries, as a model sees them."""

    document: str  # its id
    title: str
    old: tuple[SectionShown, ...]
    new: tuple[SectionShown, ...]


@dataclass(frozen=True)
class RewriteDocuments(TaskAboutMany[DocumentsRewritten]):
    """Prompt D: rewrite documents with their new entries; entries are numbered across all of them."""

    view = "topics"
    prompt = "rewrite_documents"
    result = DocumentsRewritten
    max_tokens = 8192

    documents: tuple[DocumentOpened, ...]
    failed: int = field(default=0, metadata=NOT_SENT, compare=False)

    @property
    def parts(self) -> int:
        return len(self.documents)

    def offline(self) -> DocumentsRewritten:
        return DocumentsRewritten(documents=[])


@dataclass(frozen=True)
class ChooseMerges(Task[Groups]):
    """Choose which small documents are about the same subject."""

    view = "topics"
    prompt = "choose_merges"
    result = Groups
    max_tokens = 1024

    documents: tuple[CatalogueLine, ...]
    at_most: int  # documents in a group
    token_limit: int  # of a group

    def offline(self) -> Groups:
        return Groups(groups=[])

    def check(self, result: Groups) -> None:
        """Raises ValueError if groups overlap, are of unknown documents, or break the limits."""
        tokens = {one.id: one.tokens for one in self.documents}
        named = [doc_id for group in result.groups for doc_id in group]
        if unknown := set(named) - tokens.keys():
            raise ValueError(f"there are no documents {sorted(unknown)}: name ids that are listed")
        if len(set(named)) < len(named):
            raise ValueError("a document is named twice: groups must not overlap")
        for group in result.groups:
            if not 2 <= len(group) <= self.at_most:
                raise ValueError(f"the group {group} must have 2 to {self.at_most} documents")
            if (total := sum(tokens[doc_id] for doc_id in group)) > self.token_limit:
                raise ValueError(f"the group {group} has {total} tokens; at most {self.token_limit}")


def shown_entries(numbered: Mapping[int, Entry]) -> tuple[str, ...]:
    """Entries as a model sees them, a line each: number (seq, time, speaker, "superseded") text.

    The time stands only where it differs from the line before.
    """
    lines: list[str] = []
    day = ""
    for number, entry in numbered.items():
        time = str(entry.time or "")
        about = [str(entry.seq), "" if time == day else time, entry.source or "user"]
        if not entry.current:
            about.append("superseded")
        lines.append(f"{number} ({', '.join(filter(None, about))}) {entry.text}")
        day = time
    return tuple(lines)


def shown_sections(numbered: Mapping[int, Entry], headings: Mapping[int, str]) -> tuple[SectionShown, ...]:
    """Entries grouped below their headings, in the order in which headings come."""
    sections: dict[str, dict[int, Entry]] = {}
    for number, entry in numbered.items():
        sections.setdefault(headings.get(number, ""), {})[number] = entry
    return tuple(SectionShown(heading, shown_entries(entries)) for heading, entries in sections.items())


MOST_CALLS = 6  # tools that one round may call; what is more is told so
_MOST = 64


class Listed(BaseModel):
    """A document as a model is shown it before it is opened."""

    id: str
    summary: str


class Called(BaseModel):
    """A tool that the agent called, and its answer."""

    name: str
    arguments: Any = None
    answer: str


class Round(BaseModel):
    """One answer of the agent, and the outcome of its calls."""

    calls: list[Called] = []
    remark: str = ""  # what was wrong with the answer as a whole


class Picked(BaseModel):
    """Ids of documents, the likeliest first."""

    model_config = ConfigDict(extra="forbid")

    documents: Annotated[list[str], Field(max_length=_MOST)]


class Call(BaseModel):
    """A tool to call. Whether it can be called so is for the tool to say."""

    name: str = ""
    arguments: dict[str, Any] = {}


class Snippet(BaseModel):
    """Lines of a document's body, both ends included."""

    doc_id: str
    start_line: int
    end_line: int


class AgentMove(BaseModel):
    """One answer of the agent: tools to call, or the evidence."""

    done: bool = False
    tool_calls: Annotated[list[Call], Field(max_length=_MOST)] = []
    relevant_snippets: Annotated[list[Snippet], Field(max_length=_MOST)] = []
    relevant_docs: Annotated[list[str], Field(max_length=_MOST)] = []


@dataclass(frozen=True)
class PickDocuments(Task[Picked]):
    """Infini Memory-H: pick documents by their summaries. These stand first, for prefix caches."""

    view = "topics"
    prompt = "pick_documents"
    result = Picked
    max_tokens = 800

    documents: tuple[Listed, ...]
    at_most: int
    question: str

    def check(self, result: Picked) -> None:
        """Raises ValueError if all ids are invented; a few invented ones are ignored later."""
        known = {one.id for one in self.documents}
        if result.documents and known.isdisjoint(result.documents):
            raise ValueError(f"none of these ids is in documents: {', '.join(result.documents[:5])}")

    def offline(self) -> Picked:
        return Picked(documents=[])


@dataclass(frozen=True)
class SearchMemory(Task[AgentMove]):
    """Infini Memory-A: the agent's next move. Constant parts stand first, for prefix caches."""

    view = "topics"
    prompt = "search_memory"
    result = AgentMove
    max_tokens = 1200

    question: str
    today: str
    tools: tuple[dict[str, Any], ...]
    documents: tuple[Listed, ...]
    documents_in_all: int
    rounds: tuple[Round, ...]
    rounds_left: int

    def offline(self) -> AgentMove:
        """No move: without a model there is no agent."""
        return AgentMove(done=True)
