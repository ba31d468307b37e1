"""The engine as a system: a memory in a temporary folder, asked for some of its views."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from zibaldone.bench.base import Context, Cost, Tools, Unit
from zibaldone.core import Evidence, Message, Recall
from zibaldone.memory import Memory
from zibaldone.views.chunks import MemAttention
from zibaldone.views.hierarchy import XMemory
from zibaldone.views.topics.retrieval import SUPERSEDED


class Messages:
    """The messages view alone, with the engine's own defaults."""

    name = "messages"
    budgeted = True
    views: tuple[str, ...] = ("messages",)
    settings: MemAttention | None = None
    hierarchy: XMemory | None = None

    def __init__(self, tools: Tools) -> None:
        self._floor = tools.floor
        folder = tempfile.mkdtemp(dir=tools.folder)
        self._memory = Memory(
            folder, embedder=tools.embedder, chat=tools.chat, chunks=self.settings, hierarchy=self.hierarchy
        )

    def load(self, user: str, messages: Sequence[Message]) -> Cost:
        """One durable call, and a maintenance where a view asks for one."""
        before = self._cost()
        self._memory.add(messages, user=user)
        if self.views != ("messages",):
            self._memory.maintain(user=user, views=self.views)
        return _difference(before, self._cost())

    def recall(self, user: str, question: str, budget_tokens: int, now: datetime | None = None) -> Context:
        """As any caller would."""
        before = self._cost()
        found = self._memory.recall(
            question, user=user, budget_tokens=budget_tokens, views=self.views, floor=self._floor, now=now
        )
        return replace(to_context(found), cost=_difference(before, self._cost()))

    def close(self) -> None:
        """Close the memory; the folder goes with the run's own."""
        self._memory.close()

    def _cost(self) -> Cost:
        used = self._memory.usage()
        return Cost(
            sum(one.calls for one in used), sum(one.prompt_tokens + one.completion_tokens for one in used)
        )


class Chunks(Messages):
    """The chunks view alone: Akashic's MemAttention."""

    name = "chunks"
    views = ("chunks",)


class ChunksWholeContext(Chunks):
    """Akashic, section 5.5: all memory is compacted anew at every gate."""

    name = "chunks-whole"
    settings = MemAttention(maintenance="whole_context")


class ChunksNoJoint(Chunks):
    """Akashic, section 5.5: a new chunk never touches earlier ones."""

    name = "chunks-nojoint"
    settings = MemAttention(joint=False)


class ChunksDense(Chunks):
    """Akashic, section 5.5: chunks are selected by the cosine alone."""

    name = "chunks-dense"
    settings = MemAttention(relevance="dense")


class ChunksOfSessions(Chunks):
    """The paper's namespace: no chunk spans two sessions."""

    name = "chunks-session"
    settings = MemAttention(scope="session")


class MessagesAndChunks(Messages):
    """Both views, fused."""

    name = "messages+chunks"
    views = ("messages", "chunks")


class Hierarchy(Messages):
    """The hierarchy view alone: xMemory with both stages."""

    name = "hierarchy"
    views = ("hierarchy",)


class HierarchyMemoryOnly(Hierarchy):
    """xMemory, section 5.1: the same nodes, searched by similarity alone."""

    name = "hierarchy-memory"
    hierarchy = XMemory(select=False, include=False)


class HierarchyRepSel(Hierarchy):
    """xMemory, section 5.1: with Stage I."""

    name = "hierarchy-repsel"
    hierarchy = XMemory(include=False)


class HierarchyUncSion(Hierarchy):
    """xMemory, section 5.1: with Stage II."""

    name = "hierarchy-uncsion"
    hierarchy = XMemory(select=False)


class MessagesAndHierarchy(Messages):
    """Both views, fused."""

    name = "messages+hierarchy"
    views = ("messages", "hierarchy")


class Topics(Messages):
    """The topics view alone: Infini Memory-H; without a model words and vectors choose the documents."""

    name = "topics-h"
    views = ("topics",)

    def marked(self, line: str, sentence: str) -> bool:  # noqa: ARG002 - a line may have several entries
        """Whether a fact is shown as superseded."""
        return SUPERSEDED in sentence


def _difference(before: Cost, after: Cost) -> Cost:
    return Cost(after.calls - before.calls, after.tokens - before.tokens)


def to_context(found: Recall) -> Context:
    """One unit per message shown: passages of one message stand in one line of the text.

    A unit ranks by its best passage; scores of one view compare.
    """
    shown: dict[tuple[str, tuple[int, ...]], list[Evidence]] = {}
    for evidence in found.evidence:
        shown.setdefault((evidence.view, evidence.sources), []).append(evidence)
    best = sorted(shown, key=lambda key: -max(evidence.score for evidence in shown[key]))
    ranks = {key: rank for rank, key in enumerate(best, start=1)}
    units = (
        Unit(" ".join(evidence.text for evidence in parts), parts[0].session, ranks[key])
        for key, parts in shown.items()
    )
    return Context(found.text, tuple(units), found.tokens)
