"""What writing, recalling, memory and disk cost, each beside its physical yardstick of the same run.

Yardsticks: a bare `sqlite3` insert of the same rows with the same durability (WAL, synchronous=FULL), the
embedding alone, one float32 matrix-vector product over as many vectors. The sides alternate call by call, and
take turns at being first, so that a busy moment and a cold cache hit all. What counts is the ratio of
medians, for an absolute time says little on a shared machine. One user holds all messages: the largest
single memory, hence the worst case.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from rich.table import Table

from zibaldone.bench.base import Equipment
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Progress, Run
from zibaldone.bench.registry import SpeedOptions
from zibaldone.bench.stats import growth_exponent, percentile
from zibaldone.bench.table import Column, TableLine, transpose
from zibaldone.bench.workload import made_up_turns, questions, repeated
from zibaldone.core import Message
from zibaldone.memory import Memory
from zibaldone.storage.encryption import KEY_BYTES

USER = "speed"
BATCH = 100  # messages per call when adding in batches
SINGLES = 100  # calls of one message each
WARM_UPS = 10  # untimed calls
RECALLS = 100
BUDGET_TOKENS = 1000
COLD_OPENS = 3
OVER_POSTGRES, ENCRYPTED, SEALED = "over PostgreSQL", "encrypted", "with keys of users"


@dataclass(frozen=True, slots=True)
class SpeedElsewhere:
    """The engine's side in another place, the same calls of the same run: medians."""

    where: str
    add_one_ms: float
    add_batch_ms: float
    recall_p50_ms: float
    cold_recall_ms: float


@dataclass(frozen=True, slots=True)
class Speed:
    """One size. Times are medians unless they say otherwise; `bare_` and others name a yardstick."""

    messages: int
    add_one_ms: float
    bare_insert_one_ms: float
    embed_one_ms: float  # the message's embedding
    add_batch_ms: float  # a call of `batch` messages
    bare_insert_batch_ms: float
    embed_batch_ms: float
    batch: int
    recall_p50_ms: float
    recall_p95_ms: float
    embed_query_ms: float
    product_ms: float  # (messages, d) float32 @ (d,)
    memory_bytes: int  # resident in a new process after its first recall
    memory_before_bytes: int  # in the same process with everything imported, before it opened the folder
    disk_bytes: int
    bare_disk_bytes: int  # of the bare SQLite file
    text_bytes: int  # UTF-8 of the messages' contents
    cold_recall_ms: float  # open the folder and answer the first recall, in a new process
    cold_process_ms: float  # the same with the interpreter's start and all imports
    elsewhere: tuple[SpeedElsewhere, ...] = ()

    @property
    def add_one_ratio(self) -> float:
        """To the bare insert and the embedding together."""
        return self.add_one_ms / (self.bare_insert_one_ms + self.embed_one_ms)

    @property
    def add_batch_ratio(self) -> float:
        """To the bare insert and the embedding together."""
        return self.add_batch_ms / (self.bare_insert_batch_ms + self.embed_batch_ms)

    @property
    def recall_ratio(self) -> float:
        """To the query's embedding and the product together."""
        return self.recall_p50_ms / (self.embed_query_ms + self.product_ms)


@dataclass(frozen=True, slots=True)
class _Figure(TableLine):
    grows: str = ""  # the field whose growth is shown


_FIGURES = (
    _Figure("add one message, ms", lambda s: s.add_one_ms, ".2f", "add_one_ms"),
    _Figure("  bare SQLite insert", lambda s: s.bare_insert_one_ms, ".2f"),
    _Figure("  its embedding", lambda s: s.embed_one_ms, ".2f"),
    _Figure("  ratio to both", lambda s: s.add_one_ratio, ".1f"),
    _Figure("add {batch} messages, ms", lambda s: s.add_batch_ms, ".1f", "add_batch_ms"),
    _Figure("  bare SQLite insert", lambda s: s.bare_insert_batch_ms, ".1f"),
    _Figure("  their embedding", lambda s: s.embed_batch_ms, ".1f"),
    _Figure("  ratio to both", lambda s: s.add_batch_ratio, ".1f"),
    _Figure("recall p50, ms", lambda s: s.recall_p50_ms, ".1f", "recall_p50_ms"),
    _Figure("recall p95, ms", lambda s: s.recall_p95_ms, ".1f"),
    _Figure("  embedding of the question", lambda s: s.embed_query_ms, ".2f", "embed_query_ms"),
    _Figure("  matrix-vector product", lambda s: s.product_ms, ".2f", "product_ms"),
    _Figure("  ratio to both", lambda s: s.recall_ratio, ".1f"),
    _Figure("cold open to first recall, ms", lambda s: s.cold_recall_ms, ".0f", "cold_recall_ms"),
    _Figure("  with Python and imports", lambda s: s.cold_process_ms, ".0f"),
    _Figure("resident memory, MB", lambda s: s.memory_bytes / 1e6, ".0f", "memory_bytes"),
    _Figure("  before opening", lambda s: s.memory_before_bytes / 1e6, ".0f"),
    _Figure("bytes on disk, MB", lambda s: s.disk_bytes / 1e6, ".1f", "disk_bytes"),
    _Figure("  bare SQLite file", lambda s: s.bare_disk_bytes / 1e6, ".1f"),
    _Figure("  text alone", lambda s: s.text_bytes / 1e6, ".1f"),
)


def _figures(results: Sequence[Speed]) -> Iterator[_Figure]:
    for figure in _FIGURES:
        yield figure
        if figure.grows in SpeedElsewhere.__slots__:  # below the figure whose call it is
            for place, other in enumerate(results[0].elsewhere):
                yield _Figure(f"  {other.where}", partial(_in_place, place, figure.grows), figure.form)


def _in_place(place: int, name: str, speed: Speed) -> float:
    return float(getattr(speed.elsewhere[place], name))


def growth_of(results: Sequence[Speed]) -> dict[str, float | None]:
    """The e of cost ~ messages ** e, of the two largest sizes: below, fixed costs hide it."""
    largest = sorted(results, key=lambda speed: speed.messages)[-2:]
    sizes = [speed.messages for speed in largest]
    growing = [figure.grows for figure in _FIGURES if figure.grows]
    return {name: growth_exponent(sizes, [getattr(speed, name) for speed in largest]) for name in growing}


def table(results: Sequence[Speed]) -> Table:
    """A row per figure, a column per size, the yardsticks indented under what they measure."""
    growth = growth_of(results)

    def grown(figure: _Figure) -> str:
        exponent = growth.get(figure.grows)
        return "" if exponent is None else f"{exponent:.2f}"

    sizes = [(f"{speed.messages:,}", speed) for speed in results]
    lines = [
        replace(figure, label=figure.label.format(batch=results[0].batch)) for figure in _figures(results)
    ]
    return transpose("speed, medians", "", lines, sizes, [Column("growth", grown)])


def run(options: SpeedOptions, run: Run) -> Measurement:
    """A column per size."""
    if options.path is None:
        turns, data = made_up_turns(), "made-up turns"
    else:
        conversations = LoCoMoQuestions(options.path)
        turns = [message for user in conversations.users() for message in conversations.messages(user)]
        data = f"turns of {options.path.name}"
    places: list[tuple[str, str | None]] = [(OVER_POSTGRES, options.postgres)] if options.postgres else []
    if options.encrypted:
        places.append((ENCRYPTED, None))
    if options.user_keys:
        places.append((SEALED, None))
    results = [evaluate(size, turns, run.tools(), run.progress, places) for size in options.sizes]
    return Measurement({"data": data, "results": results, "growth": growth_of(results)}, [table(results)])


def evaluate(
    size: int,
    turns: Sequence[Message],
    tools: Equipment,
    progress: Progress,
    places: Sequence[tuple[str, str | None]] = (),
) -> Speed:
    """Build a memory of `size` messages and measure it on the way and at the end.

    `places` are others beside it: what each is called, and its URL; None is a folder with a key.
    """
    rows = list(itertools.islice(repeated(turns), size + SINGLES))
    folder = tools.folder / f"speed-{size}"
    folder.mkdir()
    batch = min(BATCH, size)
    batches, singles = _Alternating(), _Alternating()
    bare = BareSQLite(folder / "bare.sqlite")
    with ExitStack() as opened:
        memory = opened.enter_context(Memory(folder / "memory", embedder=tools.embedder))
        others = [
            opened.enter_context(_Elsewhere(where, url or folder / where.replace(" ", "-"), tools))
            for where, url in places
        ]
        _warm_up(memory, bare, tools)
        for start in range(0, size, batch):
            progress(f"adding {size:,}", start, size)
            part = rows[start : min(start + batch, size)]
            batches.time(
                engine=partial(memory.add, part, user=USER),
                insert=partial(bare.insert, part),
                embed=partial(tools.embedder.embed, [message.content for message in part]),
                **{other.where: partial(other.add, part) for other in others},
            )
        recalls = _recalls(memory, rows[:size], tools, progress, others)
        for message in rows[size:]:
            singles.time(
                engine=partial(memory.add, message, user=USER),
                insert=partial(bare.insert, [message]),
                embed=partial(tools.embedder.embed, [message.content]),
                **{other.where: partial(other.add, [message]) for other in others},
            )
        elsewhere = [
            SpeedElsewhere(
                other.where,
                singles.median_ms(other.where),
                batches.median_ms(other.where),
                recalls.median_ms(other.where),
                _cold(other.place, questions(rows, 1)[0], other.user, other.key, other.user_keys).recall_ms,
            )
            for other in others
        ]
    bare.close()
    progress(f"opening {size:,}", size, size)
    cold = _cold(folder / "memory", questions(rows, 1)[0])
    return Speed(
        messages=size,
        add_one_ms=singles.median_ms("engine"),
        bare_insert_one_ms=singles.median_ms("insert"),
        embed_one_ms=singles.median_ms("embed"),
        add_batch_ms=batches.median_ms("engine"),
        bare_insert_batch_ms=batches.median_ms("insert"),
        embed_batch_ms=batches.median_ms("embed"),
        batch=batch,
        recall_p50_ms=recalls.median_ms("engine"),
        recall_p95_ms=percentile(recalls.ms["engine"], 95),
        embed_query_ms=recalls.median_ms("embed"),
        product_ms=recalls.median_ms("product"),
        memory_bytes=cold.memory_bytes,
        memory_before_bytes=cold.memory_before_bytes,
        disk_bytes=_bytes_of(folder / "memory"),
        bare_disk_bytes=(folder / "bare.sqlite").stat().st_size,
        text_bytes=sum(len(message.content.encode()) for message in rows),
        cold_recall_ms=cold.recall_ms,
        cold_process_ms=cold.process_ms,
        elsewhere=tuple(elsewhere),
    )


class _Elsewhere:
    """The same memory elsewhere, under a user of its own, who is forgotten at the end."""

    def __init__(self, where: str, place: str | Path, tools: Equipment) -> None:
        self.where, self.place, self.user = where, place, f"{USER}-{uuid.uuid4().hex}"
        self.key = secrets.token_bytes(KEY_BYTES) if isinstance(place, Path) else None
        self.user_keys = place.with_name("user-keys") if where == SEALED and isinstance(place, Path) else None
        self._memory = Memory(place, embedder=tools.embedder, key=self.key, user_keys=self.user_keys)

    def __enter__(self) -> _Elsewhere:
        for _ in range(WARM_UPS):
            self._memory.add("Hello there.", user=f"{self.user}-warm-up")
            self._memory.recall("hello?", user=f"{self.user}-warm-up")
        return self

    def __exit__(self, *_: object) -> None:
        for user in (self.user, f"{self.user}-warm-up"):
            self._memory.forget(user=user, everything=True)
        self._memory.close()

    def add(self, messages: Sequence[Message]) -> None:
        self._memory.add(messages, user=self.user)

    def recall(self, question: str) -> None:
        self._memory.recall(question, user=self.user, budget_tokens=BUDGET_TOKENS, floor=0.0)


def _warm_up(memory: Memory, bare: BareSQLite, tools: Equipment) -> None:
    """The first calls of each side pay for files and caches. Another user's, whose few rows weigh nothing."""
    hello = Message("Hello there.", time=datetime(2024, 1, 1, tzinfo=UTC))
    for _ in range(WARM_UPS):
        memory.add(hello, user="warm-up")
        memory.recall("hello?", user="warm-up")
        bare.insert([hello])
        tools.embedder.embed([hello.content])


class BareSQLite:
    """The floor of a durable write: the same rows, nothing else."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(
            "CREATE TABLE message (seq INTEGER PRIMARY KEY, role TEXT, name TEXT, time TEXT, session TEXT,"
            " content TEXT)"
        )

    def insert(self, messages: Sequence[Message]) -> None:
        rows = [(m.role, m.name, str(m.time), m.session, m.content) for m in messages]
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(
            "INSERT INTO message (role, name, time, session, content) VALUES (?, ?, ?, ?, ?)", rows
        )
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Write the log back and close the file."""
        self._connection.close()


class _Alternating:
    """Times the sides of a comparison in turn, each as often the first: it finds the caches cold."""

    def __init__(self) -> None:
        self.ms: dict[str, list[float]] = {}
        self._turns = 0

    def time(self, **sides: Callable[[], object]) -> None:
        first = self._turns % len(sides)
        self._turns += 1
        for name, call in (*list(sides.items())[first:], *list(sides.items())[:first]):
            start = time.perf_counter()
            call()
            self.ms.setdefault(name, []).append((time.perf_counter() - start) * 1000)

    def median_ms(self, side: str) -> float:
        return median(self.ms[side])


def _recalls(
    memory: Memory,
    rows: Sequence[Message],
    tools: Equipment,
    progress: Progress,
    others: Sequence[_Elsewhere],
) -> _Alternating:
    timed = _Alternating()
    vectors = tools.embedder.embed([message.content for message in rows])
    queries = questions(rows, WARM_UPS + RECALLS)
    for question in queries[:WARM_UPS]:
        memory.recall(question, user=USER, budget_tokens=BUDGET_TOKENS, floor=0.0)
        for other in others:
            other.recall(question)
    for done, question in enumerate(queries[WARM_UPS:]):
        progress(f"recalling from {len(rows):,}", done, RECALLS)
        vector = tools.embedder.embed([question])[0]
        timed.time(
            engine=partial(memory.recall, question, user=USER, budget_tokens=BUDGET_TOKENS, floor=0.0),
            embed=partial(tools.embedder.embed, [question]),
            product=partial(np.matmul, vectors, vector),
            **{other.where: partial(other.recall, question) for other in others},
        )
    return timed


@dataclass(frozen=True, slots=True)
class _Cold:
    recall_ms: float
    process_ms: float
    memory_bytes: int
    memory_before_bytes: int


def _cold(
    place: Path | str,
    question: str,
    user: str = USER,
    key: bytes | None = None,
    user_keys: Path | None = None,
) -> _Cold:
    """In new processes, medians of a few. The operating system's file cache stays warm."""
    runs = []
    for _ in range(COLD_OPENS):
        command = [sys.executable, "-m", "zibaldone.bench.cold", str(place), user, question]
        start = time.perf_counter()
        own = {} if key is None else {"ZIBALDONE_KEY": key.hex()}
        own |= {} if user_keys is None else {"ZIBALDONE_USER_KEYS": str(user_keys)}
        done = subprocess.run(  # noqa: S603
            command, env={**os.environ, **own}, capture_output=True, text=True, check=True
        )
        process_ms = (time.perf_counter() - start) * 1000
        figures = json.loads(done.stdout)
        runs.append(
            _Cold(figures["recall_ms"], process_ms, figures["memory_bytes"], figures["memory_before_bytes"])
        )
    return _Cold(*(median(getattr(cold, f.name) for cold in runs) for f in fields(_Cold)))


def _bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
