"""What the two readers ask a model (§3.4; Appendix A.1, prompt E)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from zibaldone.models.task import NOT_SENT, Task

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
    """What came of one answer of the agent."""

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
    """Infini Memory-H: which documents to read, by their summaries."""

    view = "topics"
    prompt = "pick_documents"
    result = Picked
    max_tokens = 800

    question: str
    documents: tuple[Listed, ...]
    at_most: int
    likely: tuple[str, ...] = field(default=(), metadata=NOT_SENT)  # ids by words and vectors

    def check(self, result: Picked) -> None:
        """Invented ids are left out later; an answer of nothing else is no answer."""
        known = {one.id for one in self.documents}
        if result.documents and known.isdisjoint(result.documents):
            raise ValueError(f"none of these ids is in documents: {', '.join(result.documents[:5])}")

    def offline(self) -> Picked:
        """The likeliest by words and vectors."""
        return Picked(documents=list(self.likely[: self.at_most]))


@dataclass(frozen=True)
class SearchMemory(Task[AgentMove]):
    """Infini Memory-A: the next move. What does not change between rounds comes first, for prefix caches."""

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
        """Nothing: without a model there is no agent."""
        return AgentMove(done=True)
