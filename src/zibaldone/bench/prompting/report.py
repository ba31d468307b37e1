"""The two tables of `bench prompts`: what became of the answers, and what the views cost and hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from zibaldone.bench.prompting.asked_view import AskedView
from zibaldone.bench.table import Column, percent, share, tabulate
from zibaldone.models.answer_log import AnswersHeard


@dataclass(frozen=True, slots=True)
class TaskAnswers:
    """All answers to one task. Shares are from 0 to 1; None of nothing."""

    task: str
    questions: int  # that were answered, or given up
    valid: int
    repaired: int
    degraded: int
    parts: int  # notes, facts, lines ... of the answers that were taken
    refused: int  # of the parts, because their sources do not bear them out
    calls: int
    prompt_tokens: int
    completion_tokens: int

    @property
    def accepted(self) -> float | None:
        """Parts that are kept, of answers that are taken at the first time: both have to hold."""
        if not self.questions:
            return None
        kept = 1 - self.refused / self.parts if self.parts else 1.0
        return kept * self.valid / self.questions


def task_rows(heard: AnswersHeard) -> list[TaskAnswers]:
    """By task, in the order of their names; parts of no task of their own have a row without answers."""
    names = sorted({one.task for one in heard.answers} | {one.task for one in heard.parts})
    rows = []
    for name in names:
        answers = [
            one for one in heard.answers if one.task == name and (one.calls or one.outcome != "degraded")
        ]
        parts = [one for one in heard.parts if one.task == name]
        outcomes = [one.outcome for one in answers]
        rows.append(
            TaskAnswers(
                name,
                len(answers),
                outcomes.count("valid"),
                outcomes.count("repaired"),
                outcomes.count("degraded"),
                sum(one.given for one in parts),
                sum(len(one.refused) for one in parts),
                sum(one.calls for one in answers),
                sum(one.prompt_tokens for one in answers),
                sum(one.completion_tokens for one in answers),
            )
        )
    return rows


def table_of_tasks(rows: Sequence[TaskAnswers]) -> Table:
    """What became of each task's answers."""
    columns = [
        Column("task", lambda row: row.task, left=True),
        Column("ques-\ntions", lambda row: row.questions),
        Column("valid", lambda row: _of(row.valid, row.questions)),
        Column("re-\npaired", lambda row: _of(row.repaired, row.questions)),
        Column("de-\ngraded", lambda row: _of(row.degraded, row.questions)),
        Column("parts", lambda row: row.parts),
        Column("re-\nfused", lambda row: row.refused),
        Column("accepted", lambda row: percent(row.accepted)),
        Column("prompt\ntokens", lambda row: _mean(row.prompt_tokens, row.calls)),
        Column("answer\ntokens", lambda row: _mean(row.completion_tokens, row.calls)),
    ]
    caption = "tokens: of a call; accepted: parts kept, of answers that were valid at once"
    return tabulate("Answers by task", columns, rows, caption=caption)


def table_of_views(rows: Sequence[AskedView], budget_tokens: int) -> Table:
    """What each view cost, and what it holds."""
    columns = [
        Column("view", lambda row: row.view, left=True),
        Column("turns", lambda row: row.turns),
        Column("raw\ntokens", lambda row: row.raw_tokens),
        Column("calls per\n1,000 turns", lambda row: 1000 * row.calls / row.turns, ".0f"),
        Column("tokens per\n1,000 turns", lambda row: 1000 * _tokens(row) / row.turns, ",.0f"),
        Column("model tokens\nper raw token", lambda row: row.per_raw_token, ".1f"),
        Column("calls per\nrecall", lambda row: row.recall_calls / max(1, row.recalls), ".1f"),
        Column("tokens per\nrecall", lambda row: row.recall_tokens / max(1, row.recalls), ",.0f"),
        Column("un-\nread", lambda row: row.unread),
        Column("lost", lambda row: _audited(row, "lost")),
        Column("faults", lambda row: _audited(row, "faults")),
        Column("cited", lambda row: _audited(row, "cited")),
        Column("units", lambda row: _audited(row, "units")),
        Column("in-\nvented", lambda row: _audited(row, "invented")),
        Column("ques-\ntions", lambda row: row.recalls),
        Column("evi-\ndence", lambda row: share(row.evidence)),
        Column("off-\nline", lambda row: share(row.offline)),
    ]
    caption = (
        f"evidence: share of the turns cited at {budget_tokens} tokens, and by the same view made offline;"
        " lost: messages; cited: messages that something found names; invented: units with a name or number"
        " that no message they cite has"
    )
    return tabulate("Views by cost and content", columns, rows, caption=caption)


def _tokens(row: AskedView) -> int:
    return row.prompt_tokens + row.completion_tokens


def _audited(row: AskedView, name: str) -> int | None:
    if not row.audits:
        return None
    figures = [getattr(one, name) for one in row.audits]
    return sum(figure if isinstance(figure, int) else len(figure) for figure in figures)


def _of(part: int, whole: int) -> str | None:
    return percent(part / whole) if whole else None


def _mean(total: int, calls: int) -> str | None:
    return f"{total / calls:.0f}" if calls else None
