"""The tables of the weights benchmark: what each feature is worth, and how far its weight moves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np
from rich import box
from rich.table import Table

from zibaldone.bench.report import Provenance
from zibaldone.search.ranker import DEFAULT_WEIGHTS, Weights


@dataclass(frozen=True, slots=True)
class Recalled:
    """One question under one variant."""

    id: str
    category: str
    shares: tuple[float, ...]  # of its evidence that was recalled, per budget


@dataclass(frozen=True, slots=True)
class Row:
    """One variant; means over all questions, each judged with the weights of its conversation."""

    variant: str
    evidence_recall: tuple[float, ...]  # per budget
    by_category: dict[str, float | None]  # at the middle budget; None: no question
    change: float  # of the recall at the middle budget against the first variant
    change_error: float  # its standard error, over the questions' own changes
    folds: dict[str, Weights]  # conversation -> the weights that it was judged with
    recalled: tuple[Recalled, ...]


@dataclass(frozen=True, slots=True)
class WeightsReport:
    """All variants, the first the one that the others are held against."""

    provenance: Provenance
    data: str
    budgets_tokens: tuple[int, ...]
    rows: tuple[Row, ...]

    @property
    def middle(self) -> int:
        """Place of the budget at which categories and changes are given."""
        return len(self.budgets_tokens) // 2

    def to_json(self) -> str:
        """Every field, by its name here."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def make_row(
    variant: str,
    folds: dict[str, Weights],
    recalled: Sequence[Recalled],
    categories: Sequence[str],
    first: Row | None,
) -> Row:
    """`first` is the row that this one is held against; None for that row itself."""
    shares = np.array([one.shares for one in recalled])
    middle = shares.shape[1] // 2
    changes = shares - [one.shares for one in first.recalled] if first else np.zeros_like(shares)
    of = {name: [i for i, one in enumerate(recalled) if one.category == name] for name in categories}
    return Row(
        variant=variant,
        evidence_recall=tuple(shares.mean(axis=0).tolist()),
        by_category={name: float(shares[rows, middle].mean()) if rows else None for name, rows in of.items()},
        change=float(changes[:, middle].mean()),
        change_error=float(changes[:, middle].std() / len(changes) ** 0.5),
        folds=folds,
        recalled=tuple(recalled),
    )


def tables(report: WeightsReport) -> tuple[Table, Table]:
    """In Markdown, so that they can be pasted: the variants, and the weights of the first over its folds."""
    return _variants(report), _weights(report)


def _variants(report: WeightsReport) -> Table:
    first = report.rows[0]
    budget = report.budgets_tokens[report.middle]
    shown = Table(
        title=f"evidence recall by budget; categories and change at {budget} tokens"
        f" ({len(first.recalled)} questions)",
        title_justify="left",
        box=box.MARKDOWN,
    )
    shown.add_column("weights", no_wrap=True)
    for name in (*map(str, report.budgets_tokens), *first.by_category, "change ± error"):
        shown.add_column(name, justify="right", no_wrap=True)
    for row in report.rows:
        shown.add_row(
            row.variant,
            *map(_share, row.evidence_recall),
            *map(_share, row.by_category.values()),
            "" if row is first else f"{row.change:+.3f} ± {row.change_error:.3f}",
        )
    return shown


def _weights(report: WeightsReport) -> Table:
    shown = Table(title="weights", title_justify="left", box=box.MARKDOWN)
    shown.add_column("feature", no_wrap=True)
    for name in ("shipped", "fitted: lowest", "mean", "highest"):
        shown.add_column(name, justify="right", no_wrap=True)
    for field in fields(Weights):
        fitted = [getattr(weights, field.name) for weights in report.rows[0].folds.values()]
        shown.add_row(
            field.name,
            f"{getattr(DEFAULT_WEIGHTS, field.name):.2f}",
            *(f"{value:.3f}" for value in (min(fitted), sum(fitted) / len(fitted), max(fitted))),
        )
    return shown


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}".removeprefix("0")
