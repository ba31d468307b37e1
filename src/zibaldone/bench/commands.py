"""What somebody waits for at a shell: whole processes of `zibaldone recall`, from their start to their end.

Each question is put twice, turn about: to a process that asks the one which holds the memory (`zibaldone open
--background`), and to one that opens the memory itself. Beside them stands what Python takes to start and do
nothing: no command is quicker.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zibaldone.bench.filled_memories import USER, FilledMemories
from zibaldone.bench.outcome import Measurement, Progress, Run
from zibaldone.bench.registry import CommandsOptions
from zibaldone.bench.stats import percentile
from zibaldone.bench.table import Column, tabulate
from zibaldone.bench.workload import questions

_ZIBALDONE = (sys.executable, "-m", "zibaldone")
_WARM_S = 120.0  # at most, until the holder has its index
_LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class CommandRow:
    """One way to run a command."""

    messages: int
    what: str
    runs: int
    p50_ms: float
    p95_ms: float


def run(options: CommandsOptions, run: Run) -> Measurement:
    """Fill, hold, ask."""
    memories = FilledMemories(options.path, options.sizes, run)
    rows: list[CommandRow] = []
    for folder, stored in memories:
        rows += _measured(folder, len(stored), questions(stored, options.runs), run.progress)
    return Measurement({"commands": rows}, [tabulate(f"commands: {memories.data}", _COLUMNS, rows)])


def _measured(folder: Path, size: int, asks: Sequence[str], progress: Progress) -> Iterator[CommandRow]:
    with _runtime_folder() as environment, _held(folder, environment):
        nobody = environment | {"XDG_RUNTIME_DIR": environment["XDG_RUNTIME_DIR"] + "/nobody"}
        times: dict[str, list[float]] = {"Python alone": [], "recall, held": [], "recall, by itself": []}
        for place, question in enumerate(asks):
            progress("asking", place, len(asks))
            command = [*_ZIBALDONE, "recall", question, "--memory", str(folder), "--user", USER]
            times["Python alone"].append(_run([sys.executable, "-c", "pass"], environment))
            times["recall, held"].append(_run(command, environment))
            times["recall, by itself"].append(_run(command, nobody))
    for what, taken in times.items():
        yield CommandRow(size, what, len(taken), percentile(taken, 50), percentile(taken, 95))


@contextmanager
def _runtime_folder() -> Iterator[dict[str, str]]:
    """An environment with a runtime folder of its own: a socket's path has to be short."""
    with tempfile.TemporaryDirectory(prefix="zb-") as folder:
        Path(folder, "nobody").mkdir(mode=0o700)
        yield os.environ | {"XDG_RUNTIME_DIR": folder}


@contextmanager
def _held(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """By a process in the background, whose index is warm."""

    def open_(*options: str) -> bytes:
        return _output([*_ZIBALDONE, "open", *options, "--memory", str(folder)], environment)

    open_("--background")
    try:
        ended = time.monotonic() + _WARM_S
        while not json.loads(open_("--status", "--json"))["warm"]:
            if time.monotonic() > ended:
                raise RuntimeError(f"the process that holds {folder} is not warm after {_WARM_S:g} s")
            time.sleep(_LOOK_S)
        yield
    finally:
        open_("--stop")


def _run(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Milliseconds, from start to end."""
    start = time.perf_counter()
    _output(command, environment)
    return 1000 * (time.perf_counter() - start)


def _output(command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """Raises RuntimeError for a command that fails; one that finds nothing does not."""
    done = subprocess.run(command, env=environment, capture_output=True, check=False)  # noqa: S603 - our own
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]!r}")
    return done.stdout


_COLUMNS = (
    Column("messages", lambda row: row.messages, ","),
    Column("what", lambda row: row.what, left=True),
    Column("runs", lambda row: row.runs),
    Column("p50\nms", lambda row: row.p50_ms, ".1f"),
    Column("p95\nms", lambda row: row.p95_ms, ".1f"),
)
