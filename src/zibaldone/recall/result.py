"""Recall: what was recalled, why, and ready for a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from zibaldone.core import ChannelScore, Citation, Evidence, Trace
from zibaldone.text.rendering import quotation


@dataclass(frozen=True, slots=True)
class Recall:
    """The evidence chosen for one query."""

    query: str
    text: str  # ready for a prompt: session by session, under headers of their days
    tokens: int  # of `text`, by the memory's tokenizer
    evidence: tuple[Evidence, ...]  # in the order of `text`
    citations: tuple[Citation, ...]
    trace: Trace

    @property
    def confidence(self) -> float:
        """Probability that memory holds the answer, told before anybody has read what was recalled."""
        return self.trace.confidence

    def __bool__(self) -> bool:
        """False when nothing was recalled."""
        return bool(self.evidence)

    def as_messages(self, messages: Sequence[Any] | None = None, *, role: str = "user") -> list[Any]:
        """Chat messages ready to send: what was recalled, in one message of that role, and the question.

        With the `messages` of a chat, these as they are, and what was recalled right before the last user's:
        what comes before stays the same from call to call, so that a server's prefix cache holds. What was
        recalled is quoted and said to be no instruction. Nothing is put in when nothing was recalled.
        """
        turns = [{"role": "user", "content": self.query}] if messages is None else list(messages)
        if not self:
            return turns
        users = [place for place, turn in enumerate(turns) if _is_users(turn)]
        turns.insert(users[-1] if users else len(turns), {"role": role, "content": self.quoted()})
        return turns

    def quoted(self) -> str:
        """`text` as a `quotation`; what is standing is its first section."""
        standing = any(unit.standing for unit in self.evidence)
        return quotation(self.text, WISHES if standing else "")

    def why(self, seq: int) -> str:
        """Explain in a sentence why the message is in this recall (or say that it is not)."""
        for decision in self.trace.decisions:
            if decision.kept and seq in decision.evidence.sources:
                ranks = _ranks(decision.evidence.channels)
                return f"Message {seq} is in: {decision.reason}; {ranks}."
        return f"Message {seq} is not in this recall; why_not({seq}) says why."

    def why_not(self, seq: int) -> str:
        """Explain in a sentence why the message is not in this recall (or say that it is)."""
        dropped = None
        for decision in self.trace.decisions:
            if seq in decision.evidence.sources:
                if decision.kept:
                    return f"Message {seq} is in this recall; why({seq}) says why."
                dropped = dropped or decision
        if dropped:
            ranks = _ranks(dropped.evidence.channels)
            return f"Message {seq} was dropped: {dropped.reason}; {ranks}."
        for view in self.trace.views:
            if view.explain and (channels := view.explain(seq)) is not None:
                within = self.trace.within
                if seq in self.trace.without or (within is not None and seq not in within):
                    return f"Message {seq} is outside of what this recall was narrowed to."
                return (
                    f"Message {seq} is not among the {view.candidates} candidates"
                    f" that the {view.view} view chose from {view.considered} units; {_ranks(channels)}."
                )
        return f"There was no message {seq} for this user when this was recalled."


def _is_users(turn: object) -> bool:
    """True if a chat message, of whatever library, is the user's, and not what tools gave back."""
    get = turn.get if isinstance(turn, Mapping) else partial(getattr, turn)
    parts = content if isinstance(content := get("content", None), list) else ()
    outputs = [part for part in parts if isinstance(part, Mapping) and part.get("type") == "tool_result"]
    return not outputs and (get("role", None) or get("type", None)) in ("user", "human")


WISHES = " The user's lasting wishes come first: grant those that your instructions allow."


def _ranks(channels: tuple[ChannelScore, ...]) -> str:
    rankings = [f"{c.channel} ranked it {c.rank} ({c.score:.3g})" for c in channels if c.rank]
    return ", ".join(rankings) if rankings else "no channel found it"
