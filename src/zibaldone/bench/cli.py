"""`zibaldone bench`: measure the engine and the baselines on real conversations."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from zibaldone.bench import runner
from zibaldone.bench.base import DEFAULT_SYSTEMS, Benchmark, Tools, check_system
from zibaldone.bench.locomo import LoCoMo
from zibaldone.bench.longmemeval import LongMemEval
from zibaldone.bench.reader import Reader
from zibaldone.bench.report import Provenance, make_report, print_report
from zibaldone.cli.upkeep import recorded
from zibaldone.errors import InvalidInput
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel
from zibaldone.models.meter import Meter
from zibaldone.models.recorded import RecordedModel
from zibaldone.models.static import shared_static_embedder

bench_app = typer.Typer(
    name="bench",
    help="Measure recall and speed, with naive baselines beside the engine.",
    no_args_is_help=True,
)

DataPath = Annotated[Path, typer.Argument(help="The benchmark's data file.", show_default=False)]
Budget = Annotated[str, typer.Option("--budget", help="Token budgets, with commas.")]
Systems = Annotated[
    str,
    typer.Option(
        "--systems",
        help="Systems, with commas (also: zsum, messages+chunks, chunks-whole, -nojoint, -dense, -session,"
        " messages+hierarchy, hierarchy-memory, -repsel, -uncsion).",
    ),
]
JsonOut = Annotated[
    Path | None, typer.Option("--json", help="Write figures and a record per question to this file.")
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N questions.")]
Floor = Annotated[
    float | None,
    typer.Option("--floor", min=0, max=1, help="The engine's relevance floor; else its own."),
]
Errors = Annotated[
    Path | None,
    typer.Option("--errors", help="Audit of faulted questions; else locomo-errors.json beside the data."),
]

RecordDir = Annotated[
    Path | None, typer.Option("--record", help="Answer from this folder of recordings, and keep what is new.")
]
OnMiss = Annotated[
    str | None, typer.Option("--on-miss", help="What is not recorded: ask, leave_open, offline or error.")
]

_DEFAULT_SYSTEMS = ",".join(DEFAULT_SYSTEMS)

console = Console()
if not console.is_terminal:
    console = Console(width=120)  # a file or a pipe has no border to fit in


@bench_app.command()
def locomo(
    path: DataPath,
    budget: Budget = "500,1000,2000",
    systems: Systems = _DEFAULT_SYSTEMS,
    json_out: JsonOut = None,
    limit: Limit = None,
    floor: Floor = None,
    errors: Errors = None,
    record: RecordDir = None,
    on_miss: OnMiss = None,
) -> None:
    """Evidence recall on LoCoMo (a file in the format of data/locomo10.json)."""
    chat = recorded(record, on_miss)
    _run(LoCoMo(path, errors), path, budget, systems, json_out, limit, floor, chat)


@bench_app.command()
def longmemeval(
    path: DataPath,
    budget: Budget = "500,1000,2000",
    systems: Systems = _DEFAULT_SYSTEMS,
    json_out: JsonOut = None,
    limit: Limit = None,
    floor: Floor = None,
    record: RecordDir = None,
    on_miss: OnMiss = None,
) -> None:
    """Evidence recall on LongMemEval (a file in the format of longmemeval_s.json)."""
    chat = recorded(record, on_miss)
    _run(LongMemEval(path), path, budget, systems, json_out, limit, floor, chat)


@bench_app.command()
def leaderboard(
    path: DataPath,
    long_sessions: Annotated[
        Path | None,
        typer.Option("--longmemeval", help="A LongMemEval file, for its rows too.", show_default=False),
    ] = None,
    limit: Limit = None,
    json_out: JsonOut = None,
) -> None:
    """The leaderboard's main rows in one run (a LoCoMo file): to be held against another commit's."""
    from zibaldone.bench import leaderboard as bench

    benchmarks = [LoCoMo(path), *([LongMemEval(long_sessions)] if long_sessions else [])]
    with _tools(None) as tools, progress_bar() as progress:
        board = bench.evaluate(benchmarks, tools, command(), progress, limit)
    for table in bench.tables(board):
        console.print(table)
    if json_out:
        write(json_out, board.to_json())


@bench_app.command("floor")
def relevance_floor(path: DataPath, json_out: JsonOut = None, limit: Limit = None) -> None:
    """Trade-off of the relevance floor on LoCoMo: what it empties, what it loses."""
    from zibaldone.bench import floor as bench

    with _tools(None) as tools, progress_bar() as progress:
        asked, default = bench.evaluate(LoCoMo(path), tools, limit=limit, progress=progress)
    floors = sorted({*bench.FLOORS, default})
    points = bench.curve(asked, floors)
    report = bench.FloorReport(Provenance.of(command()), path.name, default, points, tuple(asked))
    console.print(bench.table(report))
    if json_out:
        write(json_out, json.dumps(asdict(report), ensure_ascii=False, indent=1))


@bench_app.command("weights")
def ranking_weights(path: DataPath, json_out: JsonOut = None) -> None:
    """Refit the ranking's weights on LoCoMo, each conversation judged by those of the others; ablations."""
    from zibaldone.bench import weights as bench
    from zibaldone.bench.weights_report import WeightsReport, tables

    with _tools(None) as tools, progress_bar() as progress:
        rows = bench.evaluate(LoCoMo(path), tools, progress=progress)
    report = WeightsReport(Provenance.of(command()), path.name, bench.BUDGETS_TOKENS, tuple(rows))
    for table in tables(report):
        console.print(table)
    if json_out:
        write(json_out, report.to_json())


@bench_app.command()
def speed(
    path: Annotated[
        Path | None, typer.Argument(help="A LoCoMo file; else made-up turns.", show_default=False)
    ] = None,
    sizes: Annotated[
        str, typer.Option("--sizes", help="Numbers of messages, with commas.")
    ] = "1000,10000,100000",
    json_out: JsonOut = None,
) -> None:
    """Writing, recalling, memory and disk, each beside its physical yardstick."""
    from zibaldone.bench import speed as bench
    from zibaldone.bench import speed_report, workload

    counts = numbers(sizes, "--sizes")
    if path is None:
        turns = workload.made_up_turns()
    else:
        conversations = LoCoMo(path)
        turns = [message for user in conversations.users() for message in conversations.messages(user)]
    with _tools(None) as tools, progress_bar() as progress:
        results = [bench.evaluate(size, turns, tools, progress) for size in counts]
    data = f"turns of {path.name}" if path else "made-up turns"
    report = speed_report.make_report(results, Provenance.of(command()), data)
    console.print(speed_report.table(report))
    if json_out:
        write(json_out, speed_report.to_json(report))


@bench_app.command()
def locality(
    path: DataPath,
    block_kib: Annotated[str, typer.Option("--block-kib", help="Block sizes, with commas.")] = "64",
    tau: Annotated[str, typer.Option("--tau", help="Values of tau_assoc, with commas.")] = "0.7",
    gc: Annotated[str, typer.Option("--gc", help="Values of gc_invalid_ratio, with commas.")] = "0.3",
    updates: Annotated[
        float, typer.Option("--updates", min=0, max=1, help="Share of related chunks that a gate rewrites.")
    ] = 0.0,
    plot: Annotated[Path | None, typer.Option("--plot", help="Write a PNG (extra 'plot').")] = None,
    json_out: JsonOut = None,
) -> None:
    """Blocks per request of the chunks view's memory manager, beside other layouts (a LoCoMo file)."""
    from zibaldone.bench import locality as bench
    from zibaldone.bench import locality_report
    from zibaldone.views.chunks.storage.placement import Placement

    if plot:
        locality_report.can_plot()
    settings = [
        Placement(block_bytes=size * 1024, tau_assoc=tau_assoc, gc_invalid_ratio=ratio)
        for size in numbers(block_kib, "--block-kib")
        for tau_assoc in fractions(tau, "--tau")
        for ratio in fractions(gc, "--gc")
    ]
    results = []
    with _tools(None) as tools, progress_bar() as progress:
        events = bench.trace(LoCoMo(path), tools, progress)
        events = bench.with_updates(events, updates) if updates else events
        for number, placement in enumerate(settings):
            for layout in bench.layouts(placement):
                progress(f"{layout.name}, {placement.block_bytes // 1024} KiB", number, len(settings))
                results.append(bench.replay(events, layout, tools))
    if not results[0].requests:
        raise InvalidInput(f"{str(path)!r} has no question: nothing to measure")
    report = locality_report.LocalityReport(
        Provenance.of(command()), path.name, updates, results[0].requests, tuple(results)
    )
    console.print(locality_report.table(report))
    if plot:
        locality_report.plot(report, plot)
        console.print(f"written: {plot}")
    if json_out:
        write(json_out, report.to_json())


def fractions(given: str, option: str) -> list[float]:
    """Numbers with commas. Raises InvalidInput, which names the option."""
    try:
        return [float(part) for part in given.split(",")]
    except ValueError as error:
        raise InvalidInput(f"{option} {given!r} must be numbers with commas, such as 0.3,0.5") from error


def _run(
    benchmark: Benchmark,
    path: Path,
    budget: str,
    systems: str,
    json_out: Path | None,
    limit: int | None,
    floor: float | None,
    chat: ChatModel | None,
) -> None:
    """With a chat model, views ask it and it answers the questions; else everything is offline."""
    budgets = numbers(budget, "--budget")
    names = [check_system(name.strip()) for name in systems.split(",")]
    with _tools(floor, chat) as tools, progress_bar() as progress:
        reader = Reader(Asker(chat, Meter(None), tools.tokenizer)) if chat else None
        records = runner.run(benchmark, names, budgets, tools, limit=limit, reader=reader, progress=progress)
    if not records:
        raise InvalidInput(f"{str(path)!r} has no question that can be answered: nothing to measure")
    report = make_report(benchmark, records, command(), path.name)
    print_report(report, console)
    if reader and reader.failed:
        console.print(f"{reader.failed} questions have no answer from the model, and score 0")
    if isinstance(chat, RecordedModel) and (left := len(chat.open_questions())):
        console.print(f"{left} questions are open in {chat.folder}: answer them and run again")
    if json_out:
        write(json_out, report.to_json())


@contextmanager
def _tools(floor: float | None, chat: ChatModel | None = None) -> Iterator[Tools]:
    embedder = shared_static_embedder()
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder:
        yield Tools(embedder, embedder, Path(folder), floor, chat)


@contextmanager
def progress_bar() -> Iterator[runner.Progress]:
    """A bar on standard error that is gone at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, of: bar.update(task, description=what, completed=done, total=of or None)


def numbers(given: str, option: str) -> list[int]:
    """Whole numbers with commas. Raises InvalidInput, which names the option."""
    try:
        numbers = [int(part.strip().replace("_", "")) for part in given.split(",")]
    except ValueError as error:
        raise InvalidInput(
            f"{option} {given!r} must be whole numbers with commas, such as 500,1000"
        ) from error
    if min(numbers) < 1:
        raise InvalidInput(f"{option} {given!r} must be numbers above 0")
    return numbers


def command() -> str:
    """As it was typed, with file names in place of paths."""
    words = (Path(word).name if "/" in word else word for word in sys.argv[1:])
    return " ".join(["zibaldone", *words])


def write(path: Path, text: str) -> None:
    """Raises InvalidInput when it cannot be written."""
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"--json {str(path)!r} cannot be written: {error.strerror}") from error
    console.print(f"written: {path}")
