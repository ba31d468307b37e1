"""The tables of the kv view's quality benchmark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.table import Table

from zibaldone.bench.kv.quality import Row
from zibaldone.bench.report import Provenance


@dataclass(frozen=True, slots=True)
class QualityReport:
    """One model, one seed."""

    provenance: Provenance
    model: str
    window: int
    seed: int
    rows: tuple[Row, ...]
    ablations: tuple[Row, ...] = ()
    grid: tuple[Row, ...] = ()

    def to_json(self) -> str:
        """Everything, indented."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def tables(report: QualityReport) -> list[Table]:
    """Accuracy by method and length, then what was asked for beside it."""
    made = []
    if report.rows:
        made.append(_by_length(report.rows, f"kv: accuracy of {report.model}, window {report.window} tokens"))
    if report.ablations:
        made.append(_by_length(report.ablations, "the best settings but for one"))
    if report.grid:
        made.append(_by_length(report.grid, "the paper's Figure 5: strategies, block sizes and k"))
    return made


def _by_length(rows: Sequence[Row], title: str) -> Table:
    multiples = list(dict.fromkeys(row.multiple for row in rows))
    tokens = {row.multiple: row.history_tokens for row in rows}
    shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
    shown.add_column("\nmethod", no_wrap=True)
    for multiple in multiples:
        shown.add_column(f"{multiple:g}x\n{tokens[multiple]:,}", justify="right", no_wrap=True)
    for name in ("memory\ntokens", "prefill\ntokens", "ms per\nquestion"):
        shown.add_column(name, justify="right", no_wrap=True)
    for method in dict.fromkeys(row.method for row in rows):
        found = {row.multiple: row for row in rows if row.method == method}
        last = list(found.values())[-1]
        cells = [f"{found[m].accuracy:.2f}" if m in found else "-" for m in multiples]
        shown.add_row(
            method,
            *cells,
            f"{last.memory_tokens:,.0f}",
            f"{last.prefill_tokens:,.0f}",
            f"{1000 * last.seconds / last.questions:.0f}",
        )
    return shown
