"""What making one view with a model has cost, and what it holds."""

from __future__ import annotations

from dataclasses import dataclass

from zibaldone.bench.prompting.audit import ViewAudit


@dataclass(frozen=True, slots=True)
class AskedView:
    """One view, made of all pieces."""

    view: str
    turns: int
    raw_tokens: int  # of the messages' lines
    calls: int  # to make it
    prompt_tokens: int
    completion_tokens: int
    recalls: int
    recall_calls: int
    recall_tokens: int
    unread: int  # messages that it has not read, because a question is open or the model cannot be had
    audits: tuple[ViewAudit, ...]
    evidence: float | None  # share of the questions' evidence that it cites; None without questions
    offline: float | None  # and that it recalls when it was made without a model

    @property
    def per_raw_token(self) -> float:
        return (self.prompt_tokens + self.completion_tokens) / self.raw_tokens
