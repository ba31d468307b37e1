"""`zibaldone bench kv`, `kv-speed` and `kv-train`."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from zibaldone.bench import cli
from zibaldone.bench.report import Provenance
from zibaldone.errors import InvalidInput, MissingExtra

Checkpoint = Annotated[
    Path | None,
    typer.Option("--model", help="A folder that kv-train wrote; else the checkpoint of this package."),
]


def add_commands(app: typer.Typer) -> None:
    """Put the kv view's benchmarks beside the others."""
    app.command("kv")(quality)
    app.command("kv-speed")(speed)
    app.command("kv-train")(train)


def quality(
    model: Checkpoint = None,
    multiples: Annotated[
        str, typer.Option("--multiples", help="Lengths of history in windows, with commas.")
    ] = "0.9,8,31,117",
    questions: Annotated[int, typer.Option("--questions", min=1, help="At each length.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Of conversations and questions.")] = 0,
    most_full: Annotated[
        float, typer.Option("--most-full", help="Longest history that full context is tried on, in windows.")
    ] = 31.0,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="The best settings but for one each.")
    ] = False,
    grid: Annotated[
        bool,
        typer.Option("--grid", help="The paper's Figure 5: strategies, block sizes and k, at 8 windows."),
    ] = False,
    json_out: cli.JsonOut = None,
) -> None:
    """Answers from KV memory beside full context, truncation, text recall and others (extra 'kv')."""
    _need_torch()
    from zibaldone.bench.kv import quality as bench
    from zibaldone.bench.kv.report import QualityReport, tables

    lengths = cli.fractions(multiples, "--multiples")
    folder = model or bench.CHECKPOINT
    loaded, tokenizer = bench.load(folder)
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as room, cli.progress_bar() as tell:
        place = Path(room)
        rows = bench.compare(
            loaded,
            tokenizer,
            place,
            multiples=lengths,
            questions=questions,
            seed=seed,
            most_full=most_full,
            tell=tell,
        )
        longest = [multiple for multiple in lengths if multiple > 1] or lengths
        changed = (
            bench.ablate(
                loaded, tokenizer, place, multiples=longest, questions=questions, seed=seed, tell=tell
            )
            if ablations
            else []
        )
        cells = (
            bench.grid(loaded, tokenizer, place, multiple=8, questions=questions, seed=seed, tell=tell)
            if grid
            else []
        )
    window = int(loaded.config.max_position_embeddings)
    report = QualityReport(
        Provenance.of(cli.command()), folder.name, window, seed, tuple(rows), tuple(changed), tuple(cells)
    )
    for table in tables(report):
        cli.console.print(table)
    if json_out:
        cli.write(json_out, report.to_json())


def speed(
    shape: Annotated[str, typer.Option("--shape", help="tiny, 0.5b (Qwen2.5) or 8b (Llama-3.1).")] = "0.5b",
    device: Annotated[
        str | None, typer.Option("--device", help="cpu or cuda; else cuda where it is.", show_default=False)
    ] = None,
    history: Annotated[str, typer.Option("--history", help="Tokens, with commas.")] = "4096,16384",
    top_k: Annotated[int, typer.Option("--top-k", help="Blocks of 16 tokens that are recalled.")] = 64,
    blocks: Annotated[str, typer.Option("--blocks", help="To score, with commas.")] = "10000,100000",
    repeat: Annotated[int, typer.Option("--repeat", help="Of the calls whose median counts.")] = 3,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Of the processor; else torch's own.", show_default=False)
    ] = None,
    json_out: cli.JsonOut = None,
) -> None:
    """Time to first token beside full context and text; ingest, disk, scoring (extra 'kv')."""
    _need_torch()
    from zibaldone.bench.kv import speed as bench
    from zibaldone.bench.kv import speed_report
    from zibaldone.bench.kv.speed_model import Settings

    settings = Settings(
        shape=shape,
        device=device,
        histories=tuple(cli.numbers(history, "--history")),
        top_k=top_k,
        threads=threads,
        repeat=repeat,
        blocks=tuple(cli.numbers(blocks, "--blocks")),
    )
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as room, cli.progress_bar() as tell:
        report = bench.evaluate(settings, Path(room), cli.command(), tell)
    for table in speed_report.tables(report):
        cli.console.print(table)
    if json_out:
        cli.write(json_out, report.to_json())


def train(
    folder: Annotated[Path, typer.Argument(help="Where model and tokenizer go.", show_default=False)],
    minutes: Annotated[float, typer.Option("--minutes", min=0.01, help="How long.")] = 8.0,
    seed: Annotated[int, typer.Option("--seed", help="Of weights and dialogues.")] = 0,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Of the processor.")] = 1,
) -> None:
    """Train the small model that the kv benchmark judges with (extra 'kv')."""
    _need_torch()
    import torch

    from zibaldone.bench.kv import train as bench

    if (folder / "model.safetensors").exists():
        raise InvalidInput(f"{str(folder)!r} holds a model already: name another folder")
    torch.set_num_threads(threads)
    done = bench.train(seed, minutes, folder, cli.console.print)
    cli.console.print(", ".join(f"{name} {value:,.4g}" for name, value in asdict(done).items()))
    cli.console.print(f"written: {folder}")


def _need_torch() -> None:
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[kv]'") from error
