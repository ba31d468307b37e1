"""The figures of a run: a typed report, as JSON for a file and as tables for a terminal."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from zibaldone.bench.base import Benchmark
from zibaldone.bench.runner import Record
from zibaldone.bench.stats import Mean, percentile

# Column heads of the categories.
_SHORT = {
    "multi-hop": "multi",
    "temporal": "time",
    "open-domain": "open",
    "single-hop": "1-hop",
    "single-session-user": "user",
    "single-session-assistant": "asst",
    "single-session-preference": "pref",
    "multi-session": "multi",
    "knowledge-update": "update",
    "temporal-reasoning": "time",
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made a report."""

    command: str
    version: str
    commit: str | None  # None: not run from a checkout; "+" when the checkout was changed since
    date: str  # ISO 8601, UTC

    @classmethod
    def of(cls, command: str) -> Provenance:
        """Of this process, now."""
        try:
            released = version("zibaldone")
        except PackageNotFoundError:
            released = "unknown"
        return cls(command, released, git_commit(), datetime.now(UTC).isoformat(timespec="seconds"))


@dataclass(frozen=True, slots=True)
class Row:
    """One system at one budget. Shares are from 0 to 1; a None had no question to be measured on."""

    system: str
    budget_tokens: int | None
    questions: int
    evidence_recall: Mean | None  # micro-average over the questions
    by_category: dict[str, Mean | None]
    all_evidence: Mean | None  # share of the questions whose every evidence turn was found
    session_recall: Mean | None
    answer_coverage: Mean | None
    tokens_mean: float
    p50_ms: float
    p95_ms: float
    one_hit: float | None  # of all recalled units; xMemory, section 5.2
    two_hit: float | None
    multi_hit: float | None
    answers_covered: float | None  # share of the answers whose every word is in some unit
    cover_units: float | None  # mean over the covered: units, best first, until all words are there
    cover_tokens: float | None
    calls_per_1000_turns: float = 0.0  # of a chat model, to take the conversations in
    tokens_per_1000_turns: float = 0.0
    calls_per_question: float = 0.0
    tokens_per_question: float = 0.0
    f1: Mean | None = None  # of answers that a chat model gave, as LoCoMo's own code scores them
    f1_set: Mean | None = None
    bleu1: Mean | None = None
    without_faulted: Row | None = None  # the same figures without the questions that the audit faults


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run, with a record for every question so that anybody can look at the misses."""

    benchmark: str
    provenance: Provenance
    data: str
    rows: tuple[Row, ...]
    records: tuple[Record, ...]

    def to_json(self) -> str:
        """Every field, by its name here."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def make_report(benchmark: Benchmark, records: Sequence[Record], command: str, data: str) -> Report:
    """One row per (system, budget), in the order in which they were asked."""
    groups: dict[tuple[str, int | None], list[Record]] = {}
    for record in records:
        groups.setdefault((record.system, record.budget_tokens), []).append(record)
    rows = []
    for group in groups.values():
        row = _row(group, benchmark)
        sound = [record for record in group if not record.faulted]
        if benchmark.has_faults and sound:
            row = replace(row, without_faulted=_row(sound, benchmark))
        rows.append(row)
    return Report(benchmark.name, Provenance.of(command), data, tuple(rows), tuple(records))


def _row(records: Sequence[Record], benchmark: Benchmark) -> Row:
    densities = [record.density for record in records if record.density]
    units = sum(density.units for density in densities)
    covered = [d for d in densities if d.cover_units is not None]
    users = list({record.user: record for record in records}.values())
    turns = max(sum(one.turns for one in users), 1)
    return Row(
        system=records[0].system,
        budget_tokens=records[0].budget_tokens,
        questions=len(records),
        evidence_recall=_mean(record.evidence_recall for record in records),
        by_category={
            name: _mean(record.evidence_recall for record in records if record.category == name)
            for name in benchmark.categories
        },
        all_evidence=_mean(float(not record.missed) for record in records if record.evidence),
        session_recall=_mean(record.session_recall for record in records),
        answer_coverage=_mean(record.answer_coverage for record in records),
        tokens_mean=sum(record.tokens for record in records) / len(records),
        p50_ms=percentile([record.ms for record in records], 50),
        p95_ms=percentile([record.ms for record in records], 95),
        one_hit=sum(d.one_hit for d in densities) / units if units else None,
        two_hit=sum(d.two_hit for d in densities) / units if units else None,
        multi_hit=sum(d.multi_hit for d in densities) / units if units else None,
        answers_covered=len(covered) / len(densities) if densities else None,
        cover_units=sum(d.cover_units or 0 for d in covered) / len(covered) if covered else None,
        cover_tokens=sum(d.cover_tokens or 0 for d in covered) / len(covered) if covered else None,
        calls_per_1000_turns=1000 * sum(one.ingest.calls for one in users) / turns,
        tokens_per_1000_turns=1000 * sum(one.ingest.tokens for one in users) / turns,
        calls_per_question=sum(record.cost.calls for record in records) / len(records),
        tokens_per_question=sum(record.cost.tokens for record in records) / len(records),
        f1=_mean(record.scored.f1 for record in records if record.scored),
        f1_set=_mean(record.scored.f1_set for record in records if record.scored),
        bleu1=_mean(record.scored.bleu1 for record in records if record.scored),
    )


def _mean(values: Iterator[float | None]) -> Mean | None:
    return Mean.of([value for value in values if value is not None])


def print_report(report: Report, console: Console) -> None:
    """Two tables: what was found at what cost, and how dense the answers lie in it. 80 columns serve."""
    console.print(_found_table(report))
    console.print()
    if any(row.one_hit is not None for row in report.rows):
        console.print(_density_table(report))
    if any(row.calls_per_1000_turns or row.calls_per_question or row.f1 for row in report.rows):
        console.print()
        console.print(_model_table(report))


def _found_table(report: Report) -> Table:
    faults = any(row.without_faulted for row in report.rows)
    sessions = any(row.session_recall for row in report.rows)
    categories = report.rows[0].by_category
    table = _table(
        f"{report.benchmark}: share of the evidence recalled ({report.rows[0].questions:,} questions)"
    )
    for name in (
        "evi-\ndence",
        "95 %\n",
        *(["sound\nonly"] if faults else []),
        *(_SHORT.get(name, name) + "\n" for name in categories),
        "all\nfound",
        *(["ses-\nsions"] if sessions else []),
        "to-\nkens",
        "p50\nms",
        "p95\nms",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report.rows:
        table.add_row(
            *_asked(row),
            _share(row.evidence_recall),
            _interval(row.evidence_recall),
            *(
                [_share(row.without_faulted.evidence_recall if row.without_faulted else None)]
                if faults
                else []
            ),
            *(_share(mean) for mean in row.by_category.values()),
            _share(row.all_evidence),
            *([_share(row.session_recall)] if sessions else []),
            f"{row.tokens_mean:.0f}",
            f"{row.p50_ms:.1f}",
            f"{row.p95_ms:.1f}",
        )
    if faults:
        table.caption = "sound only: without the questions that the audit faults"
    return table


def _density_table(report: Report) -> Table:
    table = _table("words of the gold answer in the recalled units (xMemory, section 5.2)")
    for name in (
        "words in\nthe text",
        "1-hit\nunits",
        "2-hit\nunits",
        "multi-hit\nunits",
        "answers\ncovered",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("units\nto cover", "tokens\nto cover"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report.rows:
        table.add_row(
            *_asked(row),
            _share(row.answer_coverage),
            *(_percent(share) for share in (row.one_hit, row.two_hit, row.multi_hit, row.answers_covered)),
            "-" if row.cover_units is None else f"{row.cover_units:.1f}",
            "-" if row.cover_tokens is None else f"{row.cover_tokens:.0f}",
        )
    return table


def _model_table(report: Report) -> Table:
    table = _table("what a chat model was used for, and its answers from the recalled text")
    for name in (
        "calls per\n1,000 turns",
        "tokens per\n1,000 turns",
        "calls per\nquestion",
        "tokens per\nquestion",
        "F1\n",
        "F1\nof sets",
        "BLEU-1\n",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report.rows:
        table.add_row(
            *_asked(row),
            f"{row.calls_per_1000_turns:.0f}",
            f"{row.tokens_per_1000_turns:.0f}",
            f"{row.calls_per_question:.2f}",
            f"{row.tokens_per_question:.0f}",
            *(_share(mean) for mean in (row.f1, row.f1_set, row.bleu1)),
        )
    return table


def _table(title: str) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("\nsystem", no_wrap=True)
    table.add_column("\nbudget", no_wrap=True, justify="right")
    return table


def _asked(row: Row) -> tuple[str, str]:
    return row.system, "all" if row.budget_tokens is None else str(row.budget_tokens)


def _interval(mean: Mean | None) -> str:
    return f"[dim]{_decimals(mean.low, 2)}-{_decimals(mean.high, 2)}[/]" if mean else "-"


def _share(mean: Mean | None) -> str:
    return _decimals(mean.value, 3) if mean else "-"


def _decimals(share: float, places: int) -> str:
    return f"{share:.{places}f}".removeprefix("0")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def git_commit() -> str | None:
    """The commit of the checkout that this file belongs to, with a "+" when its files were changed."""
    git = shutil.which("git")
    here = Path(__file__).resolve()
    if git is None or not (here.parents[3] / ".git").exists():
        return None

    def ask(*words: str) -> str:
        command = [git, "-C", str(here.parents[3]), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    try:
        return ask("rev-parse", "--short=12", "HEAD") + ("+" if ask("status", "--porcelain", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return None
