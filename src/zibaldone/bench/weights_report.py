"""The tables of the weights benchmark: what each feature is worth, and how far its weight moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from rich.table import Table

from zibaldone.bench.outcome import Provenance
from zibaldone.bench.table import Column, share, tabulate
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

    provenance: Provenance | None
    data: str
    budgets_tokens: tuple[int, ...]
    rows: tuple[Row, ...]

    @property
    def middle(self) -> int:
        """Place of the budget at which categories and changes are given."""
        return len(self.budgets_tokens) // 2


def make_row(
    variant: str,
    folds: dict[str, Weights],
    recalled: Sequence[Recalled],
    categories: Sequence[str],
    first: Row | None,
) -> Row:
    """`first` is the row that this one is held against; None for that row itself."""
    shares = np.array([question.shares for question in recalled])
    middle = shares.shape[1] // 2
    changes = shares - [question.shares for question in first.recalled] if first else np.zeros_like(shares)
    of = {
        name: [i for i, question in enumerate(recalled) if question.category == name] for name in categories
    }
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
    first, middle = report.rows[0], report.budgets_tokens[report.middle]
    count = len(first.recalled)
    title = f"evidence recall by budget; categories and change at {middle} tokens ({count} questions)"
    variants = [
        Column("weights", lambda row: row.variant, left=True),
        *(_at_budget(at, tokens) for at, tokens in enumerate(report.budgets_tokens)),
        *map(_of_category, first.by_category),
        Column(
            "change ± error",
            lambda row: "" if row is first else f"{row.change:+.3f} ± {row.change_error:.3f}",
        ),
    ]

    def fitted(name: str) -> list[float]:
        return [getattr(weights, name) for weights in first.folds.values()]

    weights = [
        Column("feature", lambda name: name, left=True),
        Column("shipped", lambda name: getattr(DEFAULT_WEIGHTS, name), ".2f"),
        Column("fitted: lowest", lambda name: min(fitted(name)), ".3f"),
        Column("mean", lambda name: sum(fitted(name)) / len(first.folds), ".3f"),
        Column("highest", lambda name: max(fitted(name)), ".3f"),
    ]
    names = [field.name for field in fields(Weights)]
    return (
        tabulate(title, variants, report.rows, markdown=True),
        tabulate("weights", weights, names, markdown=True),
    )


def _at_budget(place: int, tokens: int) -> Column:
    return Column(str(tokens), lambda row: share(row.evidence_recall[place]))


def _of_category(name: str) -> Column:
    return Column(name, lambda row: share(row.by_category[name]))
