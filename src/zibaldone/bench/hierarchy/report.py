"""The tables of the hierarchy view's benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from zibaldone.bench.hierarchy import signal
from zibaldone.bench.hierarchy.selecting import Selecting
from zibaldone.bench.hierarchy.structure import QUARTERS, Row
from zibaldone.bench.hierarchy.upkeep import Upkeep
from zibaldone.bench.report import Provenance

# Theme sizes in the columns of a table; the JSON has every size.
_BANDS: tuple[tuple[int, int | None], ...] = ((1, 1), (2, 3), (4, 6), (7, 9), (10, None))


@dataclass(frozen=True, slots=True)
class HierarchyReport:
    """One file. A part that was not asked for is empty."""

    provenance: Provenance
    data: str
    conversations: int
    messages: int
    questions: int  # that can be answered, and whose evidence is marked
    budget_tokens: int
    structure: tuple[Row, ...] = ()
    caps: tuple[Row, ...] = ()
    embedders: tuple[Row, ...] = ()
    upkeep: tuple[Upkeep, ...] = ()
    selection: tuple[Selecting, ...] = ()
    signal_questions: int = 0  # of which an episode holds evidence
    signals: tuple[signal.Row, ...] = ()
    policies: tuple[signal.Spent, ...] = ()

    def to_json(self) -> str:
        """Everything, indented."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def tables(report: HierarchyReport) -> list[Table]:
    """What was measured, in the order of the report's fields."""
    made = []
    for title, rows in (
        ("what may be restructured", report.structure),
        ("the cap of a theme", report.caps),
        ("embedder", report.embedders),
    ):
        if rows:
            recalled = f"f and recall of {report.questions:,} questions at {report.budget_tokens:,} tokens"
            data = f"{report.data}, {report.messages:,} messages"
            made += [_sizes(rows, f"hierarchy by {title}: {data}"), _course(rows, recalled)]
    if report.embedders:
        made.append(_thresholds(report.embedders))
    if report.upkeep:
        made.append(_upkeep(report.upkeep))
    if report.selection:
        made.append(_selection(report.selection))
    if report.signals:
        made.append(_signals(report))
    if report.policies:
        made.append(_policies(report.policies))
    return made


def _sizes(rows: Sequence[Row], title: str) -> Table:
    bands = [
        str(low) if low == high else f"{low}-{high}" if high else f"{low}+"  # of semantics
        for low, high in _BANDS
    ]
    of_sizes = (f"{'of size' if place == 0 else ''}\n{band}" for place, band in enumerate(bands))
    heads = ("epi-\nsodes", "seman-\ntics", "\nthemes", "mean\nsize", "\nmost", *of_sizes)
    shown = _table(title, "setting", heads)
    for row in rows:
        shown.add_row(
            row.setting,
            f"{row.episodes:,}",
            f"{row.semantics:,}",
            f"{row.themes:,}",
            f"{row.per_theme:.2f}",
            str(row.largest),
            *(f"{sum(row.sizes[low - 1 : high]) / max(row.themes, 1):.0%}" for low, high in _BANDS),
        )
    return shown


def _course(rows: Sequence[Row], title: str) -> Table:
    quarters = [f"{'f after' if n == 1 else ''}\n{n}/{QUARTERS}" for n in range(1, QUARTERS)]
    heads = (*quarters, "f at\nend", "re-\nassigned", "evi-\ndence", "95 %\n", "to-\nkens", "ms /\nmessage")
    shown = _table(title, "setting", heads)
    for row in rows:
        mean = row.recall
        shown.add_row(
            row.setting,
            *(f"{value:.3f}" for value in row.f_over_time[:-1]),
            f"{row.f:.3f}",
            f"{row.reassigned:.1%}",
            f"{mean.value:.3f}" if mean else "-",
            f"{mean.low:.2f}-{mean.high:.2f}" if mean else "-",
            "-" if row.tokens is None else f"{row.tokens:.0f}",
            f"{row.ms_per_message:.1f}",
        )
    return shown


def _thresholds(rows: Sequence[Row]) -> Table:
    names = list(asdict(rows[0].thresholds))
    shown = _table("cosines that the embedders' thresholds came to", "setting", tuple(names))
    for row in rows:
        shown.add_row(row.setting, *(f"{value:.3f}" for value in asdict(row.thresholds).values()))
    return shown


def _upkeep(rows: Sequence[Upkeep]) -> Table:
    columns: Sequence[tuple[str, Callable[[Upkeep], str]]] = (
        ("\nthemes", lambda one: f"{one.themes:,}"),
        ("median\nms", lambda one: f"{one.median_ms:.2f}"),
        ("p95\nms", lambda one: f"{one.p95_ms:.2f}"),
        ("of themes\nms", lambda one: f"{one.themes_ms:.2f}"),
        ("of the graph\nms", lambda one: f"{one.graph_ms:.2f}"),
        ("by eights\nms", lambda one: f"{one.together_ms:.2f}"),
    )
    shown = _table(
        "one more semantic: attach, split, merge, both graphs", "semantics", [head for head, _ in columns]
    )
    for row in rows:
        shown.add_row(f"{row.semantics:,}", *(cell(row) for _, cell in columns))
    return shown


def _selection(rows: Sequence[Selecting]) -> Table:
    heads = ("\nthemes", "median\nms", "p95\nms", "of the product\nms")
    shown = _table("Stage I of one question", "semantics", heads)
    for row in rows:
        times = (row.median_ms, row.p95_ms, row.product_ms)
        shown.add_row(f"{row.semantics:,}", f"{row.themes:,}", *(f"{ms:.2f}" for ms in times))
    return shown


def _signals(report: HierarchyReport) -> Table:
    heads = ("per\nquestion", "among\ncandidates", "over-\nall", "\nfirst")
    shown = _table(
        f"which episode holds the evidence: areas under the ROC curve, {report.signal_questions:,} questions",
        "signal",
        heads,
    )
    for row in report.signals:
        shown.add_row(row.signal, *(f"{x:.3f}" for x in (row.mean, row.candidates, row.overall, row.top)))
    return shown


def _policies(rows: Sequence[signal.Spent]) -> Table:
    shown = _table(
        "admission by the offline signal, without a budget", "policy", ("evidence", "tokens", "episodes")
    )
    for row in rows:
        shown.add_row(row.policy, f"{row.recall:.3f}", f"{row.tokens:.0f}", f"{row.episodes:.1f}")
    return shown


def _table(title: str, first: str, heads: Sequence[str]) -> Table:
    two = any("\n" in head for head in heads)
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    shown.add_column(f"\n{first}" if two else first, no_wrap=True)
    for head in heads:
        shown.add_column(head, justify="right", no_wrap=True)
    return shown
