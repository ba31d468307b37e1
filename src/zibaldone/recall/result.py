"""Recall: what was recalled, why, and ready for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from zibaldone.core import ChannelScore, Citation, Evidence, Trace
from zibaldone.text.rendering import quotation

CLEAR = 0.2  # keeps .87 to .97 of what can be answered, silences .19 to .71 of others': docs/decisions.md
NEAREST = 3  # passages that are shown all the same


class Passages(tuple[Evidence, ...]):  # noqa: SLOT001 - a tuple has no room for slots
    """The passages of a search, best first, and how likely it is that memory knows of the query."""

    confidence: float  # 0 to 1

    def __new__(cls, evidence: Iterable[Evidence], confidence: float) -> Passages:
        """Keep the confidence beside the passages."""
        made = super().__new__(cls, evidence)
        made.confidence = confidence
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross from process to process with its confidence."""
        return Passages, (tuple(self), self.confidence)

    @property
    def clear(self) -> bool:
        """False: perhaps none of them is about the query, and only the first `NEAREST` are worth showing."""
        return bool(self) and self.confidence >= CLEAR


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

    @property
    def reason(self) -> str:
        """Why nothing was recalled, in a sentence; "" where something was."""
        if self:
            return ""
        nothing = self.trace.note or "memory holds nothing that may be recalled here"
        return next((decision.reason for decision in self.trace.decisions), nothing)

    def __bool__(self) -> bool:
        """False when nothing was recalled."""
        return bool(self.evidence)

    def as_messages(self, messages: Sequence[Any] | None = None, *, role: str = "user") -> list[Any]:
        """Chat messages ready to send: what was recalled, and the question behind it.

        With the `messages` of a chat, these, and what was recalled before the words of the last user's: what
        comes before stays the same from call to call, so that a server's prefix cache holds. It is in that
        message, since many templates refuse two of one role in a row; in one of its own right before it for
        another `role`, and where messages are objects of a library. What was recalled is quoted and said to
        be no instruction. Nothing is put in when nothing was recalled.
        """
        turns = [{"role": "user", "content": self.query}] if messages is None else list(messages)
        if not self:
            return turns
        users = [place for place, turn in enumerate(turns) if _is_users(turn)]
        at = users[-1] if users else len(turns)
        both = _with_words(turns[at], self.quoted()) if users and role == "user" else None
        turns[at : at + (both is not None)] = [both or {"role": role, "content": self.quoted()}]
        return turns

    def quoted(self) -> str:
        """`text` as a `quotation`; what is standing is its first section."""
        standing = any(unit.standing for unit in self.evidence)
        return quotation(self.text, WISHES if standing else "")

    def why(self, seq: int, scope: str = "") -> str:
        """Explain in a sentence why the message is in this recall (or say that it is not).

        `scope` is the shared memory that has it.
        """
        for decision in self.trace.decisions:
            if decision.kept and decision.evidence.scope == scope and seq in decision.evidence.sources:
                ranks = _ranks(decision.evidence.channels)
                return f"Message {seq} is in: {decision.reason}; {ranks}."
        return f"Message {seq} is not in this recall; why_not({seq}) says why."

    def why_not(self, seq: int, scope: str = "") -> str:
        """Explain in a sentence why the message is not in this recall (or say that it is)."""
        if scope and scope not in self.trace.shared:
            return f"The shared memory {scope!r} was not recalled."
        dropped, trace = None, self.trace.shared.get(scope, self.trace)
        of_scope = [d for d in self.trace.decisions if d.evidence.scope == scope]
        for decision in (*of_scope, *(d for d in trace.decisions if scope and not d.kept)):
            if seq in decision.evidence.sources:
                if decision.kept:
                    return f"Message {seq} is in this recall; why({seq}) says why."
                dropped = dropped or decision
        if dropped:
            ranks = _ranks(dropped.evidence.channels)
            return f"Message {seq} was dropped: {dropped.reason}; {ranks}."
        for view in trace.views:
            if view.explain and (channels := view.explain(seq)) is not None:
                within = trace.within
                if seq in trace.without or (within is not None and seq not in within):
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


def _with_words(turn: object, words: str) -> dict[str, Any] | None:
    """A copy of a user's message with these words first; None for one that is no mapping with content."""
    content = turn.get("content") if isinstance(turn, Mapping) else None
    if isinstance(turn, Mapping) and isinstance(content, str):
        return {**turn, "content": f"{words}\n\n{content}"}
    if isinstance(turn, Mapping) and isinstance(content, list):
        kinds = [part.get("type") for part in content if isinstance(part, Mapping)]
        kind = "input_text" if any(str(kind).startswith("input_") for kind in kinds) else "text"
        return {**turn, "content": [{"type": kind, "text": words}, *content]}
    return None


WISHES = " The user's lasting wishes come first: grant those that your instructions allow."


def _ranks(channels: tuple[ChannelScore, ...]) -> str:
    rankings = [f"{c.channel} ranked it {c.rank} ({c.score:.3g})" for c in channels if c.rank]
    return ", ".join(rankings) if rankings else "no channel found it"
