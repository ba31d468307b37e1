"""The engine as a system: a memory in a temporary folder, asked for one of its views."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime

from commonplace.bench.base import Context, Tools, Unit
from commonplace.core import Evidence, Message, Recall
from commonplace.memory import Memory


class Messages:
    """The messages view alone, with the engine's own defaults."""

    name = "messages"
    budgeted = True

    def __init__(self, tools: Tools) -> None:
        self._floor = tools.floor
        self._memory = Memory(tempfile.mkdtemp(dir=tools.folder), embedder=tools.embedder)

    def load(self, user: str, messages: Sequence[Message]) -> None:
        """One durable call."""
        self._memory.add(messages, user=user)

    def recall(self, user: str, question: str, budget_tokens: int, now: datetime | None = None) -> Context:
        """As any caller would."""
        found = self._memory.recall(
            question, user=user, budget_tokens=budget_tokens, views=[self.name], floor=self._floor, now=now
        )
        return to_context(found)

    def close(self) -> None:
        """Close the memory; the folder goes with the run's own."""
        self._memory.close()


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
