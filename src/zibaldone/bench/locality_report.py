"""The table and the plot of the locality benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from zibaldone.bench.locality import Result, layouts, replay, trace, with_updates
from zibaldone.bench.locomo import LoCoMo
from zibaldone.bench.outcome import Outcome, Provenance, Run, need_extra
from zibaldone.bench.registry import LocalityOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.errors import InvalidInput
from zibaldone.views.chunks.storage.placement import Placement


def run(options: LocalityOptions, run: Run) -> Outcome:
    """Every layout under every setting, on one trace."""
    if options.plot:
        need_extra("plot", "matplotlib")
    settings = [
        Placement(block_bytes=size * 1024, tau_assoc=tau_assoc, gc_invalid_ratio=ratio)
        for size in options.block_kib
        for tau_assoc in options.tau
        for ratio in options.gc
    ]
    tools = run.tools()
    events = trace(LoCoMo(options.path), tools, run.progress)
    if options.updates:
        events = with_updates(events, options.updates)
    results = []
    for number, placement in enumerate(settings):
        for layout in layouts(placement):
            run.progress(f"{layout.name}, {placement.block_bytes // 1024} KiB", number, len(settings))
            results.append(replay(events, layout, tools))
    if not (requests := results[0].requests):
        raise InvalidInput(f"{str(options.path)!r} has no question: nothing to measure")
    report = LocalityReport(
        Provenance.of(run.command), options.path.name, options.updates, requests, tuple(results)
    )
    if options.plot:
        plot(report, options.plot)
    return Outcome(report, [table(report)], (f"written: {options.plot}",) if options.plot else ())


@dataclass(frozen=True, slots=True)
class LocalityReport:
    """One trace, replayed against several layouts; the first is what the others are compared with."""

    provenance: Provenance
    data: str
    updates: float  # share of related chunks that a gate rewrites beside what offline answers update
    requests: int
    results: tuple[Result, ...]


def table(report: LocalityReport) -> Table:
    """A row per layout; each is compared with the append-only one of the same settings, above it."""
    baselines: dict[int, float] = {}
    for result in report.results:
        if result.layout == report.results[0].layout:
            baseline = result.blocks_per_request
        baselines[id(result)] = baseline
    columns = (
        Column("layout", lambda row: row.layout, left=True),
        Column("KiB", lambda row: row.block_bytes / 1024, "g"),
        Column("tau", lambda row: row.tau_assoc, "g"),
        Column("gc", lambda row: row.gc_invalid_ratio, "g"),
        Column("blocks /\nrequest", lambda row: row.blocks_per_request, ".2f"),
        Column("", lambda row: row.blocks_per_request / baselines[id(row)] - 1, "+.0%"),
        Column("p50\nms", lambda row: row.p50_ms, ".2f"),
        Column("p95\nms", lambda row: row.p95_ms, ".2f"),
        Column("KiB /\nrequest", lambda row: row.kib_per_request, ".0f"),
        Column("space", lambda row: f"{row.space_amplification:.2f}x"),
        Column("write", lambda row: f"{row.write_amplification:.2f}x"),
        Column("blocks", lambda row: row.blocks),
    )
    title = f"locality on {report.data}: {report.requests} requests, updates {report.updates:g}"
    return tabulate(title, columns, report.results)


def plot(report: LocalityReport, path: Path) -> None:
    """Figure 10 as a PNG: blocks per request, cold p95, space and write amplification.

    Raises MissingExtra, and InvalidInput when the file cannot be written.
    """
    need_extra("plot", "matplotlib")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = [result.layout for result in report.results]
    panels: Sequence[tuple[str, list[float]]] = (
        ("blocks per request", [result.blocks_per_request for result in report.results]),
        ("cold-cache p95, ms", [result.p95_ms for result in report.results]),
        ("space amplification", [result.space_amplification for result in report.results]),
        ("write amplification", [result.write_amplification for result in report.results]),
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
