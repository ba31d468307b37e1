"""`zibaldone bench consolidation`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, cast

import typer

from zibaldone.bench import cli
from zibaldone.bench.base import Tools, check_system
from zibaldone.bench.consolidation.facts import SIZES_TOKENS, Streaming, Wordings, make_stream
from zibaldone.models.static import shared_static_embedder

_DEFAULT_SIZES = ",".join(map(str, SIZES_TOKENS[:2]))


def add_commands(app: typer.Typer) -> None:
    """Put the benchmark of updated facts beside the others."""
    app.command("consolidation")(consolidation)


def consolidation(
    sizes: Annotated[
        str, typer.Option("--sizes", help="Tokens of the streams, with commas.")
    ] = _DEFAULT_SIZES,
    budget: cli.Budget = "500,1000,2000",
    systems: cli.Systems = "messages,chunks",
    streaming: Annotated[
        str, typer.Option("--streaming", help="One message for each of the 'chunks' or of the 'facts'.")
    ] = "chunks",
    wordings: Annotated[
        str, typer.Option("--wordings", help="An override's: 'mixed', or the 'same' as what it overrides.")
    ] = "mixed",
    questions: Annotated[int, typer.Option("--questions", min=1, help="Of each kind, per stream.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Of names, facts and questions.")] = 0,
    floor: cli.Floor = None,
    json_out: cli.JsonOut = None,
) -> None:
    """Facts that later ones override: is what holds now recalled, and what no longer holds left out?"""
    from zibaldone.bench.consolidation import report as reporting
    from zibaldone.bench.consolidation.run import evaluate

    budgets = cli.numbers(budget, "--budget")
    lengths = cli.numbers(sizes, "--sizes")
    names = [check_system(name.strip()) for name in systems.split(",")]
    static = shared_static_embedder()
    records, loads = [], []
    # Words that are no Streaming or Wordings are refused where they are used.
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder, cli.progress_bar() as progress:
        tools = Tools(static, static, Path(folder), floor)
        for length in lengths:
            stream = make_stream(seed, length, static, questions, cast("Wordings", wordings))
            told, took = evaluate(
                stream,
                names,
                budgets,
                tools,
                streaming=cast("Streaming", streaming),
                progress=progress,
            )
            records += told
            loads += took
    report = reporting.make_report(records, loads, seed, wordings, cli.command())
    for table in reporting.tables(report):
        cli.console.print(table)
        cli.console.print()
    if json_out:
        cli.write(json_out, report.to_json())
