"""The sample, the questions to it, and what counts as a right recall."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files

from zibaldone.api.memory import Memory
from zibaldone.core import Evidence
from zibaldone.recall.result import Recall

USER = "leonie"
NOW = datetime(2025, 4, 9, tzinfo=UTC)  # when the questions are asked: just after the last session
CONVERSATION = files(__package__) / "conversation.jsonl"


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """One question of the sample."""

    question: str
    kind: str
    answer: str  # by hand, no model wrote it; empty: memory was never told
    evidence: dict[str, str]  # id of a message that holds a part of the answer -> the phrase that does


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """A question, what was recalled, and whether that is right."""

    question: DemoQuestion
    recall: Recall
    holds: dict[int, str]  # index into recall.evidence -> the phrase of the answer in it
    missing: dict[int, str]  # seq of a message -> its part of the answer, which was not recalled
    ms: float  # as the caller waits

    @property
    def right(self) -> bool:
        """Every part of the answer is there; or nothing at all, where there is nothing to recall."""
        return not self.missing if self.question.evidence else not self.recall


def questions() -> list[DemoQuestion]:
    """The ten questions, in the order in which they are asked."""
    text = (files(__package__) / "questions.jsonl").read_text(encoding="utf-8")
    return [DemoQuestion(**json.loads(line)) for line in text.splitlines()]


def ask(memory: Memory, question: DemoQuestion, seqs: Mapping[str, int], budget_tokens: int) -> DemoAnswer:
    """Recall, and look for each part of the answer in the evidence that cites the message holding it.

    `seqs` maps the messages' ids to their seqs.
    """
    started = time.perf_counter()
    recall = memory.recall(question.question, user=USER, budget_tokens=budget_tokens, now=NOW)
    ms = (time.perf_counter() - started) * 1000
    holds: dict[int, str] = {}
    missing: dict[int, str] = {}
    for id_, phrase in question.evidence.items():
        places = [i for i, passage in enumerate(recall.evidence) if _holds(passage, seqs[id_], phrase)]
        holds.update(dict.fromkeys(places, phrase))
        if not places:
            missing[seqs[id_]] = phrase
    return DemoAnswer(question, recall, holds, missing, ms)


def _holds(evidence: Evidence, seq: int, phrase: str) -> bool:
    return seq in evidence.sources and phrase in evidence.text
