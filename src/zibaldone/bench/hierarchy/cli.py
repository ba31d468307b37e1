"""`zibaldone bench hierarchy`."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zibaldone.bench import cli
from zibaldone.bench.base import Tools
from zibaldone.bench.locomo import LoCoMo
from zibaldone.bench.report import Provenance
from zibaldone.bench.runner import Progress
from zibaldone.errors import InvalidInput
from zibaldone.models.static import shared_static_embedder

if TYPE_CHECKING:
    from zibaldone.bench.hierarchy.report import HierarchyReport

PARTS = ("structure", "cap", "embedders", "speed", "signal")


def add_commands(app: typer.Typer) -> None:
    """Put the hierarchy view's benchmark beside the others."""
    app.command("hierarchy")(hierarchy)


def hierarchy(
    path: cli.DataPath,
    only: Annotated[str, typer.Option("--only", help="Parts, with commas.")] = ",".join(PARTS),
    budget: Annotated[int, typer.Option("--budget", min=1, help="Tokens of a recall.")] = 1000,
    caps: Annotated[
        str, typer.Option("--caps", help="Most semantics of a theme, with commas.")
    ] = "8,10,12,14",
    sizes: Annotated[
        str, typer.Option("--sizes", help="Numbers of semantics whose upkeep is timed, with commas.")
    ] = "1000,10000",
    floor: cli.Floor = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Write the first conversation's theme map (extra 'plot').")
    ] = None,
    json_out: cli.JsonOut = None,
) -> None:
    """The hierarchy view's themes, restructuring, speed and offline signal (a LoCoMo file); a theme map."""
    from zibaldone.bench.hierarchy import plot as plotting
    from zibaldone.bench.hierarchy.report import tables

    parts = _parts(only)
    if plot:
        plotting.can_plot()
    benchmark = LoCoMo(path)
    static = shared_static_embedder()
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder, cli.progress_bar() as progress:
        tools = Tools(static, static, Path(folder), floor)
        report = _measured(
            parts,
            benchmark,
            path.name,
            tools,
            budget,
            tuple(cli.numbers(caps, "--caps")),
            tuple(cli.numbers(sizes, "--sizes")),
            progress,
        )
    for table in tables(report):
        cli.console.print(table)
        cli.console.print()
    if plot:
        _plot(benchmark, tools, plot)
    if json_out:
        cli.write(json_out, report.to_json())


def _parts(only: str) -> frozenset[str]:
    """Raises InvalidInput for a part that there is not."""
    parts = frozenset(part.strip() for part in only.split(","))
    if unknown := sorted(parts - set(PARTS)):
        raise InvalidInput(f"--only {unknown[0]!r} is no part: choose from {', '.join(PARTS)}")
    return parts


def _measured(
    parts: frozenset[str],
    benchmark: LoCoMo,
    data: str,
    tools: Tools,
    budget: int,
    caps: tuple[int, ...],
    sizes: tuple[int, ...],
    progress: Progress,
) -> HierarchyReport:
    from zibaldone.bench.hierarchy import questions, selecting, signal, structure, upkeep
    from zibaldone.bench.hierarchy.report import HierarchyReport

    settings = structure.capped(caps)
    measuring = structure.Measuring(benchmark, tools, budget, progress)
    report = HierarchyReport(
        Provenance.of(cli.command()),
        data,
        len(benchmark.users()),
        sum(len(benchmark.messages(user)) for user in benchmark.users()),
        len(measuring.examples),
        budget,
    )
    if "signal" in parts:
        asked = list(questions.asked(benchmark, measuring.examples, tools, progress))
        if not asked:
            raise InvalidInput(
                f"{data!r} has no question with evidence in some episodes and not in others:"
                f" leave 'signal' out of --only {','.join(PARTS)}"
            )
        progress("the offline signal: policies", 0, 0)
        report = replace(
            report,
            signal_questions=len(asked),
            signals=tuple(signal.judge(asked)),
            policies=tuple(signal.policies(asked, questions.POLICIES)),
        )
    if "structure" in parts:
        report = replace(report, structure=tuple(measuring.rows(structure.RESTRUCTURING)))
    if "cap" in parts:
        report = replace(report, caps=tuple(measuring.rows(settings)))
    if "embedders" in parts:
        report = replace(report, embedders=tuple(measuring.rows(structure.EMBEDDERS)))
    if "speed" in parts:
        progress("speed", 0, 0)
        times = tuple(upkeep.rows(sizes)), tuple(selecting.rows(sizes))
        report = replace(report, upkeep=times[0], selection=times[1])
    return report


def _plot(benchmark: LoCoMo, tools: Tools, path: Path) -> None:
    from zibaldone.bench.hierarchy.plot import plot
    from zibaldone.bench.hierarchy.structure import build
    from zibaldone.views.hierarchy.calibration import calibrate

    user = benchmark.users()[0]
    thresholds = calibrate(tools.embedder)
    built = build(benchmark.messages(user), user, tools.embedder, tools.tokenizer, thresholds)
    plot(built, f"conversation {user}", path)
    cli.console.print(f"written: {path}")
