"""The leaderboard's main rows in one run, to be held against those of another commit.

Evidence recall of the baselines and of each view alone, and how far contexts follow updated facts. Offline,
so that two runs of one commit print the same shares; times compare within a run only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from zibaldone.bench.base import Benchmark, Tools
from zibaldone.bench.consolidation import report as consolidation_report
from zibaldone.bench.consolidation import run as consolidation
from zibaldone.bench.consolidation.facts import Wordings, make_stream
from zibaldone.bench.report import Provenance, Row, make_report
from zibaldone.bench.runner import Progress, run

SYSTEMS = ("bm25", "dense", "rag", "messages", "chunks", "topics-h", "hierarchy")
BUDGETS_TOKENS = (500, 1000, 2000)
UPDATED_SYSTEMS = ("messages", "topics-h")
WORDINGS: tuple[Wordings, ...] = ("same", "mixed")
STREAM_TOKENS, STREAM_QUESTIONS, STREAM_BUDGET_TOKENS = 6_000, 50, 2000


@dataclass(frozen=True, slots=True)
class Recalled:
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
class Updated:
    """One system on one stream of updated facts."""

    wordings: Wordings
    kind: str
    system: str
    questions: int
    correct: float  # every current link there, and no superseded value that is not marked
    complete: float  # every current link there
    tokens: float


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """A whole run."""

    provenance: Provenance
    recalled: tuple[Recalled, ...]
    updated: tuple[Updated, ...]

    def to_json(self) -> str:
        """Every field, by its name here."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def evaluate(
    benchmarks: Sequence[Benchmark], tools: Tools, command: str, progress: Progress, limit: int | None = None
) -> Leaderboard:
    """`limit` is the number of questions per data set."""
    recalled: list[Recalled] = []
    for benchmark in benchmarks:
        records = run(benchmark, SYSTEMS, BUDGETS_TOKENS, tools, limit=limit, progress=progress)
        rows = make_report(benchmark, records, command, benchmark.name).rows
        recalled += [_recalled(benchmark.name, row) for row in rows]
    updated = [row for wordings in WORDINGS for row in _updated(wordings, tools, progress)]
    return Leaderboard(Provenance.of(command), tuple(recalled), tuple(updated))


def _recalled(benchmark: str, row: Row) -> Recalled:
    sound = row.without_faulted and row.without_faulted.evidence_recall
    return Recalled(
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


def _updated(wordings: Wordings, tools: Tools, progress: Progress) -> list[Updated]:
    stream = make_stream(11, STREAM_TOKENS, tools.tokenizer, STREAM_QUESTIONS, wordings)
    records, loads = consolidation.evaluate(
        stream, UPDATED_SYSTEMS, (STREAM_BUDGET_TOKENS,), tools, progress=progress
    )
    return [
        Updated(
            wordings=wordings,
            kind=row.kind,
            system=row.system,
            questions=row.questions,
            correct=row.correct.value if row.correct else 0.0,
            complete=row.complete.value if row.complete else 0.0,
            tokens=row.tokens_mean,
        )
        for row in consolidation_report.make_report(records, loads, 11, wordings, "").rows
    ]


def tables(board: Leaderboard) -> list[Table]:
    """Evidence in the context, and updates followed."""
    recalled = Table(title="share of the evidence recalled", title_justify="left", box=None, pad_edge=False)
    recalled.add_column("data", no_wrap=True)
    recalled.add_column("system", no_wrap=True)
    for name in ("budget", "evidence", "sound", "covered", "tokens", "p50 ms"):
        recalled.add_column(name, justify="right", no_wrap=True)
    for row in board.recalled:
        recalled.add_row(
            row.benchmark,
            row.system,
            str(row.budget_tokens),
            *(_share(share) for share in (row.evidence_recall, row.sound_recall, row.answers_covered)),
            f"{row.tokens:.0f}",
            f"{row.p50_ms:.1f}",
        )
    updated = Table(
        title=f"updated facts, {STREAM_TOKENS:,} tokens, budget {STREAM_BUDGET_TOKENS}",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    for name in ("wordings", "kind", "system"):
        updated.add_column(name, no_wrap=True)
    for name in ("questions", "correct", "complete", "tokens"):
        updated.add_column(name, justify="right", no_wrap=True)
    for fact in board.updated:
        updated.add_row(
            fact.wordings,
            fact.kind,
            fact.system,
            str(fact.questions),
            _share(fact.correct),
            _share(fact.complete),
            f"{fact.tokens:.0f}",
        )
    return [recalled, updated]


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"
