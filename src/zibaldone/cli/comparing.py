"""The command that compares views and settings on a user's own log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs

if TYPE_CHECKING:
    from zibaldone.cli.compare.compare import Comparison
    from zibaldone.cli.compare.evidence import Mean


@runs("build compare")
def compare(call: CliCall) -> None:
    from zibaldone.cli.compare.compare import SYSTEMS
    from zibaldone.cli.compare.compare import compare as compare_on

    with call.opened() as opened, out.progress("comparing", shown=not call.as_json) as progress:
        comparison = compare_on(
            opened,
            call.whose,
            questions=call.given["questions"],
            systems=call.given["system"] or SYSTEMS,
            budgets_tokens=call.given["budget"],
            progress=progress,
        )
    if call.as_json:
        out.write_json(comparison)
        return
    _write(comparison)
    if comparison.are_made:
        out.note(
            "The questions are made from the log and share words with their answers: use them to tell"
            " views apart, not as a measure of your own questions (--questions FILE)."
        )


def _write(comparison: Comparison) -> None:
    """Write a row for each system and budget: shares of the evidence, tokens and milliseconds."""
    kinds = comparison.rows[0].by_kind
    rows = [
        (
            row.system,
            row.budget_tokens,
            _share(row.evidence_recall),
            f"±{row.evidence_recall.error:.3f}" if row.evidence_recall else "",
            *map(_share, row.by_kind.values()),
            round(row.tokens_mean),
            f"{row.recall_ms:.1f}",
        )
        for row in comparison.rows
    ]
    out.table("system", "budget", "evidence", "error", *kinds, "tokens", "ms", rows=rows)
    out.note(f"share of the evidence recalled, of {out.count(len(comparison.questions), 'question')}")


def _share(mean: Mean | None) -> str:
    return f"{mean.value:.3f}" if mean else "-"
