"""The leaderboard's main rows in one run, to be held against those of another commit.

Evidence recall of the baselines and of each view alone, and how far contexts follow updated facts. Offline,
so that two runs of one commit print the same shares; times compare within a run only.
"""

from __future__ import annotations

from dataclasses import dataclass

from zibaldone.bench.base import DataSet, Equipment
from zibaldone.bench.consolidation import run as updates
from zibaldone.bench.consolidation.facts import Wordings, make_stream
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.longmemeval import LongMemEvalQuestions
from zibaldone.bench.outcome import Measurement, Progress, Run
from zibaldone.bench.registry import LeaderboardOptions
from zibaldone.bench.report import RecallRow, make_rows
from zibaldone.bench.runner import run as recall
from zibaldone.bench.table import Column, tabulate

SYSTEMS = ("bm25", "dense", "rag", "messages", "chunks", "topics-h", "hierarchy")
BUDGETS_TOKENS = (500, 1000, 2000)
UPDATED_SYSTEMS = ("messages", "topics-h")
WORDINGS: tuple[Wordings, ...] = ("same", "mixed")
SEED, STREAM_TOKENS, STREAM_QUESTIONS, STREAM_BUDGET_TOKENS = 11, 6_000, 50, 2000


@dataclass(frozen=True, slots=True)
class RecallFigure:
    """One system at one budget on one data set."""

    benchmark: str
    system: str
    budget_tokens: int
    questions: int
    evidence_recall: float | None  # None: no question has marked evidence
    sound_recall: float | None  # without the questions that an audit faults
    answers_covered: float | None  # share of the answers whose every word is in some recalled unit
    tokens: float  # mean of a recall
    p50_ms: float


@dataclass(frozen=True, slots=True)
class UpdateFigure:
    """One system on one stream of updated facts."""

    wordings: Wordings
    kind: str
    system: str
    questions: int
    correct: float  # every current link there, and no superseded value that is not marked
    complete: float  # every current link there
    tokens: float


def run(options: LeaderboardOptions, run: Run) -> Measurement:
    """One table of evidence recalled, one of updates followed."""
    data: list[DataSet] = [LoCoMoQuestions(options.path)]
    if options.longmemeval:
        data.append(LongMemEvalQuestions(options.longmemeval))
    tools = run.tools()
    rows = [row for of in data for row in _recalled(of, tools, options.limit, run.progress)]
    updated = [row for wordings in WORDINGS for row in _updated(wordings, tools, run.progress)]
    title = f"updated facts, {STREAM_TOKENS:,} tokens, budget {STREAM_BUDGET_TOKENS}"
    shown = (tabulate("share of the evidence recalled", _RECALLED, rows), tabulate(title, _UPDATED, updated))
    return Measurement({"recalled": rows, "updated": updated}, shown)


_RECALLED = (
    Column("data", lambda row: row.benchmark, left=True),
    Column("system", lambda row: row.system, left=True),
    Column("budget", lambda row: row.budget_tokens),
    Column("evidence", lambda row: row.evidence_recall, ".3f"),
    Column("sound", lambda row: row.sound_recall, ".3f"),
    Column("covered", lambda row: row.answers_covered, ".3f"),
    Column("tokens", lambda row: row.tokens, ".0f"),
    Column("p50 ms", lambda row: row.p50_ms, ".1f"),
)
_UPDATED = (
    Column("wordings", lambda row: row.wordings, left=True),
    Column("kind", lambda row: row.kind, left=True),
    Column("system", lambda row: row.system, left=True),
    Column("questions", lambda row: row.questions),
    Column("correct", lambda row: row.correct, ".3f"),
    Column("complete", lambda row: row.complete, ".3f"),
    Column("tokens", lambda row: row.tokens, ".0f"),
)


def _recalled(data: DataSet, tools: Equipment, limit: int | None, progress: Progress) -> list[RecallFigure]:
    records = recall(data, SYSTEMS, BUDGETS_TOKENS, tools, limit=limit, progress=progress)
    return [_row(data.name, row) for row in make_rows(data, records)]


def _row(benchmark: str, row: RecallRow) -> RecallFigure:
    sound = row.without_faulted and row.without_faulted.evidence_recall
    return RecallFigure(
        benchmark=benchmark,
        system=row.system,
        budget_tokens=row.budget_tokens or 0,
        questions=row.questions,
        evidence_recall=row.evidence_recall.value if row.evidence_recall else None,
        sound_recall=sound.value if sound else None,
        answers_covered=row.answers_covered,
        tokens=row.tokens_mean,
        p50_ms=row.p50_ms,
    )


def _updated(wordings: Wordings, tools: Equipment, progress: Progress) -> list[UpdateFigure]:
    stream = make_stream(SEED, STREAM_TOKENS, tools.tokenizer, STREAM_QUESTIONS, wordings)
    records, _ = updates.evaluate(stream, UPDATED_SYSTEMS, (STREAM_BUDGET_TOKENS,), tools, progress=progress)
    return [
        UpdateFigure(
            wordings=wordings,
            kind=row.kind,
            system=row.system,
            questions=row.questions,
            correct=row.correct.value if row.correct else 0.0,
            complete=row.complete.value if row.complete else 0.0,
            tokens=row.tokens_mean,
        )
        for row in updates.make_rows(records)
    ]
