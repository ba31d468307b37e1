"""The engine as a system: a memory in a temporary folder, asked for some of its views."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from zibaldone.bench.base import ContextUnit, Cost, Equipment, RecalledContext
from zibaldone.core import Evidence, Message
from zibaldone.errors import InvalidInput
from zibaldone.memory import Memory
from zibaldone.recalled import Recall
from zibaldone.views.chunks import MemAttention
from zibaldone.views.hierarchy import XMemory
from zibaldone.views.topics import Consolidation
from zibaldone.views.topics.retrieval import SUPERSEDED


@dataclass(frozen=True, slots=True)
class Setup:
    """Which views are asked, and with what settings; None: the engine's own."""

    views: tuple[str, ...] | None  # None: what recall asks by default, after a maintenance as by default
    chunks: MemAttention | None = None
    hierarchy: XMemory | None = None
    topics: Consolidation | None = None


ENGINES: Mapping[str, Setup] = {
    "zibaldone": Setup(None),
    "messages": Setup(("messages",)),
    # The default recall without one of its overlays.
    "zibaldone-nonotes": Setup(("messages",)),
    "chunks": Setup(("chunks",)),
    # Akashic, section 5.5: all memory compacted anew at every gate; a new chunk never touches earlier ones;
    # chunks selected by the cosine alone; and the paper's namespace, no chunk spans two sessions.
    "chunks-whole": Setup(("chunks",), chunks=MemAttention(maintenance="whole_context")),
    "chunks-nojoint": Setup(("chunks",), chunks=MemAttention(joint=False)),
    "chunks-dense": Setup(("chunks",), chunks=MemAttention(relevance="dense")),
    "chunks-session": Setup(("chunks",), chunks=MemAttention(scope="session")),
    "messages+chunks": Setup(("messages", "chunks")),
    # xMemory, section 5.1: both stages; the same nodes by similarity alone; Stage I; Stage II.
    "hierarchy": Setup(("hierarchy",)),
    "hierarchy-memory": Setup(("hierarchy",), hierarchy=XMemory(select=False, include=False)),
    "hierarchy-repsel": Setup(("hierarchy",), hierarchy=XMemory(include=False)),
    "hierarchy-uncsion": Setup(("hierarchy",), hierarchy=XMemory(select=False)),
    "messages+hierarchy": Setup(("messages", "hierarchy")),
    # Infini Memory-H: without a model words and vectors choose the documents.
    "topics-h": Setup(("topics",)),
    # Infini Memory-A, which needs a chat model; documents picked by their summaries alone; no document split
    # or merged.
    "topics-a": Setup(("topics",), topics=Consolidation(reader="agentic")),
    "topics-summary": Setup(("topics",), topics=Consolidation(reader="summary")),
    "topics-nosplitmerge": Setup(("topics",), topics=Consolidation(restructure=False)),
}


class Engine:
    """The engine, with its own defaults but for the named setup."""

    budgeted = True

    def __init__(self, name: str, setup: Setup, tools: Equipment) -> None:
        if setup.topics is not None and setup.topics.reader == "agentic" and tools.chat is None:
            raise InvalidInput(f"{name} reads with a chat model: set ZIBALDONE_CHAT_MODEL")
        self.name, self._setup, self._floor = name, setup, tools.floor
        self._memory = Memory(
            tempfile.mkdtemp(dir=tools.folder),
            embedder=tools.embedder,
            chat=tools.chat,
            chunks=self._setup.chunks,
            hierarchy=self._setup.hierarchy,
            topics=self._setup.topics,
            key=tools.key,
            blocks=None,  # the folder goes after the run; objects of it in a bucket would stay
            replica=None,
        )

    def load(self, user: str, messages: Sequence[Message]) -> Cost:
        """One durable call, and a maintenance where a view asks for one."""
        before = self._cost()
        self._memory.add(messages, user=user)
        if self._setup.views != ("messages",):
            self._memory.maintain(user=user, views=self._setup.views)
        return self._since(before)

    def recall(
        self, user: str, question: str, budget_tokens: int, now: datetime | None = None
    ) -> RecalledContext:
        before = self._cost()
        recall = self._memory.recall(
            question,
            user=user,
            budget_tokens=budget_tokens,
            views=self._setup.views,
            floor=self._floor,
            now=now,
        )
        return replace(to_context(recall), cost=self._since(before))

    def marked(self, line: str, sentence: str) -> bool:  # noqa: ARG002 - a line may have several entries
        """Whether a fact is shown as superseded; only topics do that."""
        return self._setup.views == ("topics",) and SUPERSEDED in sentence

    def close(self) -> None:
        self._memory.close()

    def _cost(self) -> Cost:
        used = self._memory.usage()
        tokens = sum(task.prompt_tokens + task.completion_tokens for task in used)
        return Cost(sum(task.calls for task in used), tokens)

    def _since(self, before: Cost) -> Cost:
        now = self._cost()
        return Cost(now.calls - before.calls, now.tokens - before.tokens)


def to_context(recall: Recall) -> RecalledContext:
    """One unit per message shown: passages of one message stand in one line of the text.

    A unit ranks by its best passage; scores of one view compare.
    """
    shown: dict[tuple[str, tuple[int, ...]], list[Evidence]] = {}
    for evidence in recall.evidence:
        shown.setdefault((evidence.view, evidence.sources), []).append(evidence)
    best = sorted(shown, key=lambda key: -max(evidence.score for evidence in shown[key]))
    ranks = {key: rank for rank, key in enumerate(best, start=1)}
    units = (
        ContextUnit(" ".join(evidence.text for evidence in parts), parts[0].session, ranks[key])
        for key, parts in shown.items()
    )
    return RecalledContext(recall.text, tuple(units), recall.tokens)
