"""The nodes of the hierarchy (section 3.2): messages, episodes, semantics; themes are sets of semantics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Episode:
    """A contiguous block of one session's messages, as it is told afterwards."""

    id: int  # rises by one in the order of creation
    session: str
    seqs: tuple[int, ...]
    title: str
    narrative: str  # third person, relative dates resolved
    start: datetime
    end: datetime
    made_by: str  # the model's name; empty when no model was asked
    degraded: str = ""  # why a model's answer is missing


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact as one message states it."""

    seq: int
    text: str  # stands alone: the speaker's name for "I", relative dates resolved
    verbatim: str  # the words of the message
    start: int = 0  # where they begin in it
    speaker: str = ""  # whose message it is
    question_seq: int | None = None  # of the message with the question that the text quotes

    @property
    def sources(self) -> tuple[int, ...]:
        """All that its text is from, its own message first."""
        return (self.seq,) if self.question_seq is None else (self.seq, self.question_seq)


@dataclass(frozen=True, slots=True)
class Semantic:
    """A reusable fact of an episode: the statement it is known by, and others that say the same."""

    id: int  # rises by one in the order of creation
    episode: int
    statements: tuple[Statement, ...]  # not empty
    time: datetime  # of the first statement's message

    @property
    def text(self) -> str:
        return self.statements[0].text

    @property
    def seqs(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(one.seq for one in self.statements))
