"""`zibaldone bench`: a command for every benchmark of the registry."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBar

from zibaldone.bench.outcome import Measurement, Progress, Provenance, Run, to_json
from zibaldone.bench.registry import BENCHMARKS, Benchmark
from zibaldone.cli.input import AsJson
from zibaldone.cli.output import note, write
from zibaldone.cli.upkeep import OnMiss, Record, recorded
from zibaldone.errors import InvalidInput

bench_app = typer.Typer(
    name="bench",
    help="Measure recall and speed, with naive baselines beside the engine.",
    no_args_is_help=True,
)
Output = Annotated[
    Path | None,
    typer.Option("--output", help="Write the figures to this file, as JSON.", show_default=False),
]

console = Console()
if not console.is_terminal:
    console = Console(width=140)  # a file or a pipe has no border to fit in


def _command(benchmark: Benchmark) -> Callable[..., None]:
    """A function with a parameter for every field of the options, as typer wants one."""
    hints = get_type_hints(benchmark.options)
    with_commas = [field.name for field in fields(benchmark.options) if not field.metadata.get("argument")]
    lists = {name: get_args(hints[name])[0] for name in with_commas if _is_list(hints[name])}
    may_be_empty = {field.name for field in fields(benchmark.options) if field.default == ()}

    def command(*, as_json: bool, output: Path | None, **given: Any) -> None:
        chat = recorded(given.pop("record"), given.pop("on_miss")) if benchmark.asks_models else None
        given |= {
            name: _listed(given[name], name, of) if given[name] or name not in may_be_empty else ()
            for name, of in lists.items()
        }
        with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder, _progress() as progress:
            say = note if as_json else console.print
            run = Run(_as_typed(), Path(folder), progress, say, chat)
            outcome = benchmark.run(benchmark.options(**given), run)
        figures = to_json({"provenance": Provenance.of(run.command), **outcome.figures})
        if as_json:
            write(figures)
        else:
            _show(outcome)
        if output:
            _write(output, figures)
            say(f"written: {output}")

    parameters = [_parameter(field, hints[field.name]) for field in fields(benchmark.options)]
    if benchmark.asks_models:
        parameters += [_keyword("record", Record, None), _keyword("on_miss", OnMiss, None)]
    parameters += [_keyword("as_json", AsJson, default=False), _keyword("output", Output, None)]
    command.__doc__ = benchmark.options.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what typer reads
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    default: Any = inspect.Parameter.empty if field.default is MISSING else field.default
    about: dict[str, Any] = {"help": field.metadata["help"]}
    if default in (inspect.Parameter.empty, None, ()):
        about["show_default"] = False
    if field.metadata.get("argument"):
        if _is_list(hint):
            hint = list[get_args(hint)[0]]  # type: ignore[misc] # one after the other, at least one
        return _keyword(field.name, Annotated[hint, typer.Argument(**about)], default)
    about |= {bound: value for bound in ("min", "max") if (value := field.metadata[bound]) is not None}
    if _is_list(hint):
        hint, default = (
            str,
            ",".join(format(item, "" if isinstance(item, str | int) else "g") for item in default),
        )
    name = "--" + field.name.replace("_", "-")
    return _keyword(field.name, Annotated[hint, typer.Option(name, **about)], default)


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _is_list(hint: Any) -> bool:
    return getattr(hint, "__origin__", None) is tuple


def _listed(given: str, name: str, of: type) -> tuple[Any, ...]:
    """Words or numbers with commas. Raises InvalidInput, which names the option."""
    option = "--" + name.replace("_", "-")
    try:
        items = tuple(of(part.strip()) for part in given.split(","))
    except ValueError as error:
        kind, example = ("whole numbers", "500,1000") if of is int else ("numbers", "0.3,0.5")
        raise InvalidInput(f"{option} {given!r} must be {kind} with commas, such as {example}") from error
    if of is int and min(items) < 1:
        raise InvalidInput(f"{option} {given!r} must be numbers above 0")
    return items


def _as_typed() -> str:
    """With file names in place of paths."""
    words = (Path(word).name if "/" in word else word for word in sys.argv[1:])
    return " ".join(["zibaldone", *words])


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on standard error that is gone at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with ProgressBar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, of: bar.update(task, description=what, completed=done, total=of or None)


def _show(outcome: Measurement) -> None:
    for table in outcome.tables:
        console.print(table)
        console.print()
    for line in outcome.notes:
        console.print(line)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"--output {str(path)!r} cannot be written: {error.strerror}") from error


for _benchmark in BENCHMARKS:
    bench_app.command(_benchmark.name)(_command(_benchmark))
