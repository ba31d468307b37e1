"""One user's memory as it grows, and many users in one folder: what adding, maintaining and opening take.

Figures are of the processor where they can be: other work on the machine changes these less than the times
that go by. A process of its own fills each memory, and tells how much room it took at its highest. The last
thousand messages of each size are maintained one view after the other, so that a view
whose cost grows with the history is seen. A recall that is cold is a new process's first; the operating
system's file cache stays warm.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

from rich.table import Table

from zibaldone.bench.beam import BEAMQuestions
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Progress, Run
from zibaldone.bench.own_process import in_own_process
from zibaldone.bench.registry import ScaleOptions
from zibaldone.bench.stats import percentile
from zibaldone.bench.table import Column, TableLine, tabulate, transpose
from zibaldone.bench.workload import made_up_turns, questions, repeated
from zibaldone.core import Message
from zibaldone.memory import Memory

USER = "scale"
_BATCH = 500  # messages of an add
_LAST = 1000  # messages whose maintenance is timed, view by view
_COLD, _WARM_UPS, _WARM = 3, 5, 40  # processes, recalls, recalls
_A_LAP = timedelta(days=400)  # a chat again begins so much later


@dataclass(frozen=True, slots=True)
class ColdRecall:
    """A new process's first recall: medians of a few."""

    wall_ms: float  # to open the memory and recall
    processor_ms: float
    imports_ms: float  # of the processor, before that
    interpreter_bytes: int  # resident before anything is imported
    memory_bytes: int  # resident after the recall,
    mapped_bytes: int  # of which in indexes: files, which others share and the system may take back


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """One size."""

    messages: int
    tokens: int
    text_bytes: int
    add_s: float  # of the processor, as the next two
    maintain_s: float
    last_ms: dict[str, float]  # a message of the last thousand, by view
    peak_bytes: int  # resident memory above the interpreter, at its highest while all that was done
    longest_write_ms: float  # transaction of a maintenance, of the time that goes by
    warm_p50_ms: float
    warm_processor_ms: float
    cold: ColdRecall
    database_bytes: int
    index_bytes: int  # of saved indexes


@dataclass(frozen=True, slots=True)
class ManyUsers:
    """Users of few messages in one folder."""

    users: int
    messages: int  # of each
    maintained: int  # users of whom what follows is asked
    add_s: float  # of the processor
    maintain_ms: float  # a user, of the processor
    open_ms: float  # of the processor, by a process that has all imported
    recall_p50_ms: float  # of a user who is not in memory
    recall_p95_ms: float
    recall_processor_ms: float
    opened_bytes: int  # resident, after opening
    memory_bytes: int  # resident, after those recalls
    handles: int  # files that are open then
    disk_bytes: int


def run(options: ScaleOptions, run: Run) -> Measurement:
    """A column per size, then many users."""
    messages, data = history(options.path)
    results = []
    for size in options.sizes:
        stored = list(itertools.islice(messages(), size))
        results.append(
            _measured(stored, options.path, run.folder / f"size-{size}", options.views, run.progress)
        )
    if options.tokens:
        folder = run.folder / "tokens"
        stored = list(_of_tokens(messages(), options.tokens, folder))
        results.append(_measured(stored, options.path, folder, options.views, run.progress))
    tables = [_table(f"one user's memory: {data}", results, options.views)] if results else []
    many = _many_users(options, messages(), run) if options.users else None
    if many:
        tables.append(tabulate("many users in one folder", _MANY, [many]))
    return Measurement({"data": data, "sizes": results, "users": many}, tables)


def history(path: Path | None) -> tuple[Callable[[], Iterator[Message]], str]:
    """Messages without end of a file, a folder or none; and what they are called."""
    if path is None:
        return _Endless(made_up_turns()), "made-up turns"
    if path.is_dir():
        chats = BEAMQuestions(path)
        users = dict.fromkeys(example.user for example in chats.examples)
        return _Endless(
            [m for user in users for m in chats.messages(user)], renamed=False
        ), f"BEAM {path.name}"
    talks = LoCoMoQuestions(path)
    return _Endless([m for user in talks.users() for m in talks.messages(user)]), f"turns of {path.name}"


@dataclass(frozen=True, slots=True)
class _Endless:
    """Turns again and again, in sessions of their own; of people who talk, with other names each time."""

    turns: Sequence[Message]
    renamed: bool = True

    def __call__(self) -> Iterator[Message]:
        return repeated(self.turns) if self.renamed else self._again()

    def _again(self) -> Iterator[Message]:
        for lap in itertools.count():
            for turn in self.turns:
                assert turn.time is not None
                yield replace(
                    turn,
                    session=f"{lap}/{turn.session}",
                    time=turn.time + lap * _A_LAP,
                    metadata={},
                    id=None,
                    seq=0,
                )


def _of_tokens(messages: Iterable[Message], tokens: int, folder: Path) -> Iterator[Message]:
    with Memory(folder / "counting", chat=None) as memory:
        for message in messages:
            if tokens <= 0:
                return
            tokens -= memory.count_tokens(message.content)
            yield message


def _measured(
    stored: Sequence[Message], path: Path | None, folder: Path, views: Sequence[str], progress: Progress
) -> SizeFigures:
    progress("growing", 0, 0)
    with Memory(folder / "counting", chat=None) as memory:
        tokens = sum(memory.count_tokens(message.content) for message in stored)
    folder, last = folder / "memory", min(_LAST, len(stored))
    arguments = (str(folder), str(len(stored)), str(last), ",".join(views), str(path or ""))
    grown, usage = in_own_process("zibaldone.bench.growing", *arguments)
    database_bytes = sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
    index_bytes = sum(path.stat().st_size for path in (folder / "index").rglob("*.index"))
    asks = questions(stored, _WARM_UPS + _WARM)
    walls, processors = [], []
    with Memory(folder, chat=None) as memory:
        for place, question in enumerate(asks):
            progress("recalling", place, len(asks))
            wall, began = time.perf_counter(), time.process_time()
            memory.recall(question, user=USER, floor=0.0)
            walls.append(1000 * (time.perf_counter() - wall))
            processors.append(1000 * (time.process_time() - began))
    return SizeFigures(
        messages=len(stored),
        tokens=tokens,
        text_bytes=sum(len(message.content.encode()) for message in stored),
        add_s=grown["add_s"],
        maintain_s=grown["maintain_s"] + sum(grown["last_ms"].values()) * last / 1000,
        last_ms=grown["last_ms"],
        peak_bytes=int(usage.peak_megabytes * 1e6) - grown["interpreter_bytes"],
        longest_write_ms=grown["longest_write_ms"],
        warm_p50_ms=percentile(walls[_WARM_UPS:], 50),
        warm_processor_ms=median(processors[_WARM_UPS:]),
        cold=_cold(folder, asks[0]),
        database_bytes=database_bytes,
        index_bytes=index_bytes,
    )


def add(memory: Memory, messages: Iterable[Message], user: str) -> float:
    """Some at a time; processor seconds."""
    began, waiting, making = time.process_time(), iter(messages), 0.0
    while True:
        reading = time.process_time()
        batch = list(itertools.islice(waiting, _BATCH))
        making += time.process_time() - reading  # that is ours
        if not batch:
            return time.process_time() - began - making
        memory.add(batch, user=user)


def maintained_ms(memory: Memory, view: str, messages: int) -> float:
    """Of the processor a message, of which there are so many that the view has not read."""
    began = time.process_time()
    memory.maintain(user=USER, views=[view])
    return 1000 * (time.process_time() - began) / messages


def _cold(folder: Path, question: str) -> ColdRecall:
    command = [sys.executable, "-m", "zibaldone.bench.cold", str(folder), USER, question]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603
        for _ in range(_COLD)
    ]
    figures = {name: median(run[name] for run in runs) for name in runs[0]}
    return ColdRecall(
        wall_ms=figures["recall_ms"],
        processor_ms=figures["processor_ms"],
        imports_ms=figures["imports_ms"],
        interpreter_bytes=int(figures["interpreter_bytes"]),
        memory_bytes=int(figures["memory_bytes"]),
        mapped_bytes=int(figures["mapped_bytes"]),
    )


def _many_users(options: ScaleOptions, messages: Iterator[Message], run: Run) -> ManyUsers:
    folder, names = run.folder / "users", [f"user-{number:06}" for number in range(options.users)]
    sample = names[:: max(1, len(names) // options.maintained)][: options.maintained]
    some: dict[str, list[Message]] = {}
    with Memory(folder, chat=None) as memory:
        add_s = 0.0
        for place, name in enumerate(names):
            run.progress("adding users", place, len(names))
            own = list(itertools.islice(messages, options.each))
            some |= {name: own} if name in sample else {}
            began = time.process_time()
            memory.add(own, user=name)
            add_s += time.process_time() - began
        began = time.process_time()
        for place, name in enumerate(sample):
            run.progress("maintaining users", place, len(sample))
            memory.maintain(user=name)
        maintain_ms = 1000 * (time.process_time() - began) / len(sample)
    asks = [(name, questions(own, 1)[0]) for name, own in some.items()]
    command = [sys.executable, "-m", "zibaldone.bench.cold", str(folder)]
    done = subprocess.run(command, input=json.dumps(asks), capture_output=True, text=True, check=True)  # noqa: S603
    figures = json.loads(done.stdout)
    walls = figures["recalls_ms"][1:]  # the first of a process pays for what all of them use
    return ManyUsers(
        users=options.users,
        messages=options.each,
        maintained=len(sample),
        add_s=add_s,
        maintain_ms=maintain_ms,
        open_ms=figures["open_processor_ms"],
        recall_p50_ms=percentile(walls, 50),
        recall_p95_ms=percentile(walls, 95),
        recall_processor_ms=figures["recall_processor_ms"],
        opened_bytes=figures["opened_bytes"],
        memory_bytes=figures["memory_bytes"],
        handles=figures["handles"],
        disk_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    )


_LINES = (
    TableLine("tokens, million", lambda s: s.tokens / 1e6, ".2f"),
    TableLine("text, MB", lambda s: s.text_bytes / 1e6, ".1f"),
    TableLine("add all, processor s", lambda s: s.add_s, ".1f"),
    TableLine("maintain all, processor s", lambda s: s.maintain_s, ".1f"),
    TableLine("  ms a message", lambda s: 1000 * s.maintain_s / s.messages, ".2f"),
    TableLine("  the longest write, ms", lambda s: s.longest_write_ms, ".0f"),
    TableLine("  memory at its highest, MB", lambda s: s.peak_bytes / 1e6, ".0f"),
)
_RECALLS = (
    TableLine("first recall of a process, ms", lambda s: s.cold.wall_ms, ".0f"),
    TableLine("  processor ms", lambda s: s.cold.processor_ms, ".0f"),
    TableLine("  imports before, processor ms", lambda s: s.cold.imports_ms, ".0f"),
    TableLine("warm recall p50, ms", lambda s: s.warm_p50_ms, ".1f"),
    TableLine("  processor ms", lambda s: s.warm_processor_ms, ".1f"),
    TableLine("resident above the interpreter, MB", lambda s: _above(s.cold) / 1e6, ".0f"),
    TableLine("  without saved indexes", lambda s: (_above(s.cold) - s.cold.mapped_bytes) / 1e6, ".0f"),
    TableLine("bytes on disk, of the text's", lambda s: _times(s, s.database_bytes + s.index_bytes), ".2f"),
    TableLine("  saved indexes", lambda s: _times(s, s.index_bytes), ".2f"),
)
_MANY = (
    Column("users", lambda row: row.users, ","),
    Column("messages\nof each", lambda row: row.messages),
    Column("add all,\nprocessor s", lambda row: row.add_s, ".0f"),
    Column("maintain\na user,\nprocessor ms", lambda row: row.maintain_ms, ".0f"),
    Column("open,\nprocessor\nms", lambda row: row.open_ms, ".0f"),
    Column("cold\nusers", lambda row: row.maintained),
    Column("recall\np50 ms", lambda row: row.recall_p50_ms, ".1f"),
    Column("p95", lambda row: row.recall_p95_ms, ".1f"),
    Column("processor\nms", lambda row: row.recall_processor_ms, ".1f"),
    Column("MB\nopened", lambda row: row.opened_bytes / 1e6, ".0f"),
    Column("MB\nafter", lambda row: row.memory_bytes / 1e6, ".0f"),
    Column("open\nfiles", lambda row: row.handles),
    Column("MB on\ndisk", lambda row: row.disk_bytes / 1e6, ".0f"),
)


def _last_ms(view: str, scale: SizeFigures) -> float:
    return scale.last_ms[view]


def _above(cold: ColdRecall) -> int:
    return cold.memory_bytes - cold.interpreter_bytes


def _times(scale: SizeFigures, some_bytes: int) -> float:
    return some_bytes / scale.text_bytes


def _table(title: str, results: Sequence[SizeFigures], views: Sequence[str]) -> Table:
    of_views = [TableLine(f"  the last thousand, {view}", partial(_last_ms, view), ".2f") for view in views]
    sizes = [(f"{scale.messages:,}", scale) for scale in results]
    return transpose(title, "", [*_LINES, *of_views, *_RECALLS], sizes)
