"""What one process adds while another one is busy in the same folder.

The other, `python -m zibaldone.bench.beside FOLDER WHAT`, maintains the same user's messages, or adds some of
megabytes for somebody else. A message of one sentence is added again and again: alone, beside that, and alone
once more, so that a busy machine shows.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.own_process import stop
from zibaldone.bench.registry import BesideOptions
from zibaldone.bench.scale import history
from zibaldone.bench.stats import percentile
from zibaldone.bench.table import Column, tabulate
from zibaldone.memory import Memory

USER, OTHER = "ann", "bea"
MAINTAINS, ADDS = "maintains", "adds"
_BATCH = 500
_STOP_S = 20.0


@dataclass(frozen=True, slots=True)
class Beside:
    """Adds of one message while another process does something."""

    beside: str
    calls: int
    alone_ms: float  # medians
    busy_ms: float
    busy_p95_ms: float
    worst_ms: float

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return self.busy_ms / self.alone_ms


def run(options: BesideOptions, run: Run) -> Measurement:
    """One row for each thing that another process is at."""
    messages, data = history(options.path)
    folder = run.folder / "memory"
    with Memory(folder, chat=None) as memory:
        backlog = list(itertools.islice(messages(), options.history))
        for start in range(0, len(backlog), _BATCH):
            run.progress("adding", start, len(backlog))
            memory.add(backlog[start : start + _BATCH], user=USER)
        rows = [
            _beside(memory, "a maintenance", (MAINTAINS,), options.calls),
            _beside(
                memory, f"messages of {options.megabytes:g} MB", (ADDS, str(options.megabytes)), options.calls
            ),
        ]
    title = f"a message added beside another process: {data}"
    return Measurement({"beside": rows}, [tabulate(title, _COLUMNS, rows)])


def _beside(memory: Memory, name: str, command: tuple[str, ...], calls: int) -> Beside:
    alone = _adds(memory, calls // 2)
    with _busy(memory.path, command):
        busy = _adds(memory, calls)
    alone += _adds(memory, calls - calls // 2)
    return Beside(name, calls, median(alone), median(busy), percentile(busy, 95), max(busy))


def _adds(memory: Memory, calls: int) -> list[float]:
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        memory.add("The ferry to Vaasa leaves at seven.", user=USER)
        times.append(1000 * (time.perf_counter() - start))
    return times


@contextmanager
def _busy(folder: Path, command: tuple[str, ...]) -> Iterator[None]:
    """Raises RuntimeError where the other process came to its end before: then nothing was measured."""
    module = [sys.executable, "-m", "zibaldone.bench.beside", str(folder), *command]
    with subprocess.Popen(module, stdout=subprocess.PIPE) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
            if process.poll() is not None:
                raise RuntimeError(f"the process that {command[0]} has ended too soon: give more --history")
        finally:
            stop(process, _STOP_S)


_COLUMNS = (
    Column("beside", lambda row: row.beside, left=True),
    Column("adds", lambda row: row.calls),
    Column("alone\nms", lambda row: row.alone_ms, ".2f"),
    Column("beside\nms", lambda row: row.busy_ms, ".2f"),
    Column("ratio", lambda row: row.ratio, ".2f"),
    Column("p95\nms", lambda row: row.busy_p95_ms, ".1f"),
    Column("worst\nms", lambda row: row.worst_ms, ".1f"),
)


def main(folder: str, what: str, megabytes: str = "0") -> None:
    """Be busy until stopped."""
    with Memory(folder, chat=None) as memory:
        print("begun", flush=True)
        if what == MAINTAINS:
            memory.maintain(user=USER)
        else:
            sentence = "Nothing of what the harbour master of Vaasa said about berths was written down. "
            text = sentence * int(float(megabytes) * 1e6 / len(sentence))
            for number in itertools.count():
                memory.add(f"{number}. {text}", user=OTHER)


if __name__ == "__main__":
    main(*sys.argv[1:])
