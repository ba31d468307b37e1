"""The figures of a fact consolidation run: typed rows, as JSON and as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from zibaldone.bench.consolidation.facts import HOPS
from zibaldone.bench.consolidation.judging import Judgement
from zibaldone.bench.consolidation.run import Load, Record
from zibaldone.bench.report import Provenance
from zibaldone.bench.stats import Mean, percentile

SINGLE, MULTI = "single-hop", "multi-hop"


@dataclass(frozen=True, slots=True)
class Row:
    """One system at one budget on one stream, over the questions of one kind. Shares are from 0 to 1."""

    kind: str  # SINGLE or MULTI
    system: str
    streaming: str
    stream_tokens: int
    budget_tokens: int | None
    questions: int
    correct: Mean | None  # every current link there, and no superseded value that is not marked
    complete: Mean | None  # every current link there
    links: float  # share of the current links that are there
    stale: float  # share of the questions with a superseded value that is not marked
    marked: float  # share of the questions with a superseded value that is marked
    complete_by_hops: dict[int, float | None]
    tokens_mean: float
    p50_ms: float


@dataclass(frozen=True, slots=True)
class ConsolidationReport:
    """A whole run, with a record per question."""

    provenance: Provenance
    seed: int
    wordings: str
    rows: tuple[Row, ...]
    loads: tuple[Load, ...]
    records: tuple[Record, ...]

    def to_json(self) -> str:
        """Every field, by its name here."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def make_report(
    records: Sequence[Record], loads: Sequence[Load], seed: int, wordings: str, command: str
) -> ConsolidationReport:
    """One row per stream, kind of question, system and budget, in the order in which they were asked."""
    groups: dict[tuple[str, int, str, str, int | None], list[Record]] = {}
    for one in records:
        kind = SINGLE if one.hops == 1 else MULTI
        key = (kind, one.stream_tokens, one.streaming, one.system, one.budget_tokens)
        groups.setdefault(key, []).append(one)
    rows = tuple(_row(key[0], group) for key, group in groups.items())
    return ConsolidationReport(Provenance.of(command), seed, wordings, rows, tuple(loads), tuple(records))


def _row(kind: str, records: Sequence[Record]) -> Row:
    judged = [one.judgement for one in records]
    first = records[0]
    return Row(
        kind=kind,
        system=first.system,
        streaming=first.streaming,
        stream_tokens=first.stream_tokens,
        budget_tokens=first.budget_tokens,
        questions=len(records),
        correct=Mean.of([float(one.correct) for one in judged]),
        complete=Mean.of([float(one.complete) for one in judged]),
        links=sum(one.current for one in judged) / sum(one.links for one in judged),
        stale=_share(judged, lambda one: one.stale > 0),
        marked=_share(judged, lambda one: one.marked > 0),
        complete_by_hops={
            hops: _share(some, lambda one: one.complete) if some else None
            for hops in HOPS
            for some in [[one.judgement for one in records if one.hops == hops]]
        },
        tokens_mean=sum(one.tokens for one in records) / len(records),
        p50_ms=percentile([one.ms for one in records], 50),
    )


def _share(judged: Sequence[Judgement], is_so: Callable[[Judgement], bool]) -> float:
    return sum(is_so(one) for one in judged) / len(judged)


def tables(report: ConsolidationReport) -> list[Table]:
    """One for each stream and kind of question, and what taking the streams in has cost."""
    made = []
    for stream in dict.fromkeys((row.stream_tokens, row.streaming) for row in report.rows):
        for kind in (SINGLE, MULTI):
            rows = [
                row
                for row in report.rows
                if (row.stream_tokens, row.streaming) == stream and row.kind == kind
            ]
            if rows:
                made.append(_table(rows, report.wordings))
    return [*made, _loads(report.loads)]


def _table(rows: Sequence[Row], wordings: str) -> Table:
    first = rows[0]
    multi = first.kind == MULTI
    table = Table(
        title=f"consolidation, {first.kind}: {first.stream_tokens:,} tokens, {first.questions} questions",
        caption=f"a message per {first.streaming.removesuffix('s')}, {wordings} wordings",
        caption_justify="left",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_column("\nsystem", no_wrap=True)
    hops = HOPS[1:] if multi else ()
    for name in (
        "\nbudget",
        "\ncorrect",
        "\n95 %",
        "all links\ncurrent" if multi else "current\nthere",
        *(["share of\nlinks"] if multi else []),
        *(f"{count}\nhops" for count in hops),
        "outdated\nunmarked",
        "outdated\nmarked",
        "\ntokens",
        "p50\nms",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.system,
            "all" if row.budget_tokens is None else str(row.budget_tokens),
            f"{row.correct.value:.2f}" if row.correct else "-",
            f"[dim]{row.correct.low:.2f}-{row.correct.high:.2f}[/]" if row.correct else "-",
            f"{row.complete.value:.2f}" if row.complete else "-",
            *([f"{row.links:.2f}"] if multi else []),
            *("-" if (share := row.complete_by_hops[count]) is None else f"{share:.2f}" for count in hops),
            f"{row.stale:.2f}",
            f"{row.marked:.2f}",
            f"{row.tokens_mean:.0f}",
            f"{row.p50_ms:.1f}",
        )
    return table


def _loads(loads: Sequence[Load]) -> Table:
    table = Table(title="taking the facts in", title_justify="left", box=None, pad_edge=False)
    for name in ("system", "one message per"):
        table.add_column(name, no_wrap=True)
    for name in ("tokens", "facts", "seconds", "model calls", "model tokens"):
        table.add_column(name, justify="right", no_wrap=True)
    for load in loads:
        table.add_row(
            load.system,
            load.streaming.removesuffix("s"),
            f"{load.stream_tokens:,}",
            f"{load.facts:,}",
            f"{load.seconds:.1f}",
            f"{load.cost.calls:,}",
            f"{load.cost.tokens:,}",
        )
    return table
