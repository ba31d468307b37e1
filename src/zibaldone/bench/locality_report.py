"""The table and the plot of the locality benchmark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.table import Table

from zibaldone.bench.locality import Result
from zibaldone.bench.report import Provenance
from zibaldone.errors import InvalidInput, MissingExtra


@dataclass(frozen=True, slots=True)
class LocalityReport:
    """One trace, replayed against several layouts; the first is what the others are compared with."""

    provenance: Provenance
    data: str
    updates: float  # share of related chunks that a gate rewrites beside what offline answers update
    requests: int
    results: tuple[Result, ...]

    def to_json(self) -> str:
        """Everything, indented."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1)


def table(report: LocalityReport) -> Table:
    """A row per layout; each is compared with the append-only one of the same settings, above it."""
    shown = Table(
        title=f"locality on {report.data}: {report.requests} requests, updates {report.updates:g}",
        title_justify="left",
        box=None,
        pad_edge=False,
        collapse_padding=True,
    )
    shown.add_column("\nlayout", no_wrap=True)
    heads = (
        "KiB",
        "tau",
        "gc",
        "blocks /\nrequest",
        "\n",
        "p50\nms",
        "p95\nms",
        "KiB /\nrequest",
        "space",
        "write",
    )
    for name in (*heads, "blocks"):
        shown.add_column(name if "\n" in name else f"\n{name}", justify="right", no_wrap=True)
    baseline = report.results[0].blocks_per_request
    for one in report.results:
        if one.layout == report.results[0].layout:
            baseline = one.blocks_per_request
        shown.add_row(
            one.layout,
            f"{one.block_bytes / 1024:g}",
            f"{one.tau_assoc:g}",
            f"{one.gc_invalid_ratio:g}",
            f"{one.blocks_per_request:.2f}",
            f"{one.blocks_per_request / baseline - 1:+.0%}",
            f"{one.p50_ms:.2f}",
            f"{one.p95_ms:.2f}",
            f"{one.kib_per_request:.0f}",
            f"{one.space_amplification:.2f}x",
            f"{one.write_amplification:.2f}x",
            str(one.blocks),
        )
    return shown


def can_plot() -> None:
    """Raises MissingExtra without matplotlib: before a measurement, not after it."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("no module 'matplotlib': pip install 'zibaldone[plot]'")


def plot(report: LocalityReport, path: Path) -> None:
    """Figure 10 as a PNG: blocks per request, cold p95, space and write amplification.

    Raises MissingExtra, and InvalidInput when the file cannot be written.
    """
    can_plot()
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = [one.layout for one in report.results]
    panels: Sequence[tuple[str, list[float]]] = (
        ("blocks per request", [one.blocks_per_request for one in report.results]),
        ("cold-cache p95, ms", [one.p95_ms for one in report.results]),
        ("space amplification", [one.space_amplification for one in report.results]),
        ("write amplification", [one.write_amplification for one in report.results]),
    )
    figure, axes = plt.subplots(1, len(panels), figsize=(14, 4), layout="constrained")
    for axis, (title, values) in zip(axes, panels, strict=True):
        bars = axis.barh(names, values, color=["#9aa5b1", "#7b9fc7", "#d1603d"] + ["#e0b9a8"] * len(names))
        axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
        axis.set_title(title, fontsize=10)
        axis.invert_yaxis()
        axis.margins(x=0.18)
        if axis is not axes[0]:
            axis.set_yticklabels([])
    figure.suptitle(
        f"{report.data}, {report.requests} requests, commit {report.provenance.commit}", fontsize=9
    )
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--plot {str(path)!r} cannot be written: {error}") from error
    finally:
        plt.close(figure)
