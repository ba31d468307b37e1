"""The sample, the questions to it, and which phrases a right recall holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files

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
    """A question and what was recalled for it."""

    question: DemoQuestion
    recall: Recall
    phrases: Mapping[int, str]  # of the answer, by the seqs of the messages that hold them
    ms: float  # as the caller waits

    def phrase_in(self, passage: Evidence) -> str | None:
        """The part of the answer that a passage holds and cites, if any."""
        held = (phrase for seq, phrase in self.phrases.items() if seq in passage.sources)
        return next((phrase for phrase in held if phrase in passage.text), None)

    @property
    def missing(self) -> dict[int, str]:
        """The phrases that were not recalled, by their seqs."""
        held = {self.phrase_in(passage) for passage in self.recall.evidence}
        return {seq: phrase for seq, phrase in self.phrases.items() if phrase not in held}

    @property
    def right(self) -> bool:
        """Every part of the answer is there; or nothing at all, where there is nothing to recall."""
        return not self.missing if self.phrases else not self.recall


def questions() -> list[DemoQuestion]:
    """The ten questions, in the order in which they are asked."""
    text = (files(__package__) / "questions.jsonl").read_text(encoding="utf-8")
    return [DemoQuestion(**json.loads(line)) for line in text.splitlines()]
