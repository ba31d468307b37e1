"""Recall against tokens: a line per system, a point per budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zibaldone.bench.outcome import need
from zibaldone.bench.report import RecallRow
from zibaldone.errors import InvalidInput


def plot(rows: Sequence[RecallRow], title: str, path: Path) -> None:
    """A PNG. Raises MissingExtra, and InvalidInput when no row has a share or the file cannot be written."""
    need("matplotlib")
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.evidence_recall is not None:
            lines.setdefault(row.system, []).append((row.tokens_mean, row.evidence_recall.value))
    if not lines:
        raise InvalidInput("--png: no question has evidence, so there is no recall to be drawn")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    for system, points in lines.items():
        tokens, recall = zip(*sorted(points), strict=True)
        axis.plot(tokens, recall, marker="o", label=system)
    axis.set(title=title, xlabel="tokens of a recall, mean", ylabel="share of the evidence", ylim=(0, 1.02))
    axis.grid(alpha=0.3)
    axis.legend()
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--png {str(path)!r} cannot be written: {error}") from error
    finally:
        plt.close(figure)
