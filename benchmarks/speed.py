"""Cost of writing, recalling, opening, memory and disk, each beside its physical yardstick of the same run.

    python -m benchmarks.speed LOCOMO [--sizes 1000,10000]

Yardsticks: a bare `sqlite3` insert of the same rows with the same durability (WAL, synchronous=FULL), the
embedding alone, one float32 matrix-vector product over as many vectors. The sides alternate call by call, and
take turns at being first. The ratio of medians is what counts: an absolute time says little on a shared
machine. One user holds all messages: the largest single memory, hence the worst case.

    python -m benchmarks.speed LOCOMO --page [--sizes 100000]

times the page instead, as a browser on the same machine gets it, until the last byte: the first page, and a
search both as a page and as the part that answers while one types; `cpu` is the processor time of both.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import httpx2
import numpy as np

from benchmarks import results
from benchmarks.data import load
from zibaldone import AsyncMemory, Memory, Message
from zibaldone.models.static import shared_static_embedder
from zibaldone.server.app import base_url, create_app, listening, server_of
from zibaldone.server.keys import KeyStore
from zibaldone.server.settings import ServerSettings

USER = "speed"
BATCH = 100  # messages per call when adding in batches
CALLS = 100  # adds of one message, and recalls
BUDGET_TOKENS = 1000
_WARM_UPS, _OPENS, _SEED = 10, 3, 20230508


@dataclass(frozen=True, slots=True)
class Speed:
    """One size; times are medians unless they say otherwise."""

    messages: int
    add_one_ms: float
    add_one_ratio: float  # to the bare insert and the embedding together
    add_batch_ms: float  # a call of BATCH messages
    add_batch_ratio: float
    recall_p50_ms: float
    recall_p95_ms: float
    recall_ratio: float  # to the question's embedding and the product together
    cold_recall_ms: float  # open and answer the first recall, in a new process with everything imported
    cold_process_ms: float  # the same with the interpreter's start and all imports
    memory_mb: float  # resident in that process
    disk_mb: float
    bare_disk_mb: float  # of the bare SQLite file
    text_mb: float


@dataclass(frozen=True, slots=True)
class PageSpeed:
    """The page over one size of memory: until the last byte, and processor time, both with the client's."""

    messages: int
    first_page_p50_ms: float
    first_page_p95_ms: float
    first_page_cpu_ms: float
    search_page_p50_ms: float
    search_page_p95_ms: float
    search_page_cpu_ms: float
    typing_p50_ms: float
    typing_p95_ms: float
    typing_cpu_ms: float


class Alternating:
    """Times the sides of a comparison in turn, each as often the first: that one finds the caches cold."""

    def __init__(self) -> None:
        self.ms: dict[str, list[float]] = {}
        self._turns = itertools.count()

    def time(self, **sides: Callable[[], object]) -> None:
        first = next(self._turns) % len(sides)
        for name, call in (*list(sides.items())[first:], *list(sides.items())[:first]):
            start = time.perf_counter()
            call()
            self.ms.setdefault(name, []).append((time.perf_counter() - start) * 1000)

    def ratio(self) -> float:
        """The engine's median to the sum of the yardsticks' medians."""
        return median(self.ms["engine"]) / sum(median(ms) for name, ms in self.ms.items() if name != "engine")


def repeated(turns: Sequence[Message]) -> Iterator[Message]:
    """The turns again and again, each time with other names, in sessions of their own, a day on."""
    spoken = re.compile(r"\b(" + "|".join({re.escape(message.speaker) for message in turns}) + r")\b")
    for lap in itertools.count():

        def renamed(text: str, suffix: str = _syllables(lap) if lap else "") -> str:
            return spoken.sub(lambda match: match[1] + suffix, text)

        for message in turns:
            assert message.time is not None
            yield Message(
                renamed(message.content),
                message.role,
                name=renamed(message.speaker),
                time=message.time + timedelta(days=lap),
                session=f"{lap}/{message.session}",
            )


def _syllables(number: int) -> str:
    """A pronounceable word for a number above 0, another for each."""
    word = ""
    while number:
        number, digit = divmod(number, 75)
        word += "bdfgklmnprstvzh"[digit % 15] + "aeiou"[digit // 15]
    return word


def questions(rows: Sequence[Message], count: int) -> list[str]:
    """Questions about what was said: a speaker and some words of one of the speaker's messages."""
    picked = np.random.default_rng(_SEED).choice(len(rows), count)
    words = [re.findall(r"[^\W_]{4,}", rows[i].content)[:6] for i in picked]
    return [
        f"What did {rows[i].speaker} say about {' '.join(w) or 'it'}?"
        for i, w in zip(picked, words, strict=True)
    ]


class BareSQLite:
    """The floor of a durable write: the same rows, nothing else."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(
            "CREATE TABLE message (seq INTEGER PRIMARY KEY, role, name, time, session, content)"
        )

    def insert(self, messages: Sequence[Message]) -> None:
        rows = [(m.role, m.name, str(m.time), m.session, m.content) for m in messages]
        self._connection.execute("BEGIN IMMEDIATE")
        insert = "INSERT INTO message (role, name, time, session, content) VALUES (?, ?, ?, ?, ?)"
        self._connection.executemany(insert, rows)
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Write the log back and close the file."""
        self._connection.close()


def evaluate(size: int, turns: Sequence[Message], folder: Path) -> Speed:
    """Fill a memory with `size` messages, and measure it on the way and at the end."""
    rows = list(itertools.islice(repeated(turns), size + CALLS))
    place = folder / "memory"
    embedder, bare = shared_static_embedder(), BareSQLite(folder / "bare.sqlite")
    batches, singles, recalls = Alternating(), Alternating(), Alternating()
    asked = questions(rows[:size], _WARM_UPS + CALLS)

    def add(timed: Alternating, part: Sequence[Message]) -> None:
        texts = [message.content for message in part]
        timed.time(
            engine=partial(memory.add, part, user=USER),
            insert=partial(bare.insert, part),
            embed=partial(embedder.embed, texts),
        )

    with Memory(place, embedder=embedder) as memory:
        for _ in range(_WARM_UPS):
            memory.add("Hello there.", user="warm-up")
            memory.recall("hello?", user="warm-up")
        for start in range(0, size, BATCH):
            add(batches, rows[start : min(start + BATCH, size)])
        vectors = embedder.embed([message.content for message in rows[:size]])
        for number, question in enumerate(asked):
            recall = partial(
                memory.recall, question, user=USER, budget_tokens=BUDGET_TOKENS, min_confidence=0.0
            )
            if number < _WARM_UPS:
                recall()
                continue
            vector = embedder.embed([question])[0]
            recalls.time(
                engine=recall,
                embed=partial(embedder.embed, [question]),
                product=partial(np.matmul, vectors, vector),
            )
        for message in rows[size:]:
            add(singles, [message])
    bare.close()
    cold = [opened_cold(place, asked[0]) for _ in range(_OPENS)]
    files = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
    return Speed(
        messages=size,
        add_one_ms=median(singles.ms["engine"]),
        add_one_ratio=singles.ratio(),
        add_batch_ms=median(batches.ms["engine"]),
        add_batch_ratio=batches.ratio(),
        recall_p50_ms=median(recalls.ms["engine"]),
        recall_p95_ms=quantiles(recalls.ms["engine"], n=20)[-1],
        recall_ratio=recalls.ratio(),
        cold_recall_ms=median(each["recall_ms"] for each in cold),
        cold_process_ms=median(each["process_ms"] for each in cold),
        memory_mb=median(each["memory_mb"] for each in cold),
        disk_mb=sum(files) / 1e6,
        bare_disk_mb=(folder / "bare.sqlite").stat().st_size / 1e6,
        text_mb=sum(len(message.content.encode()) for message in rows) / 1e6,
    )


def evaluate_page(size: int, turns: Sequence[Message], folder: Path) -> PageSpeed:
    """Fill a memory, serve it, and get pages of it in turn."""
    place = folder / "memory"
    rows = list(itertools.islice(repeated(turns), size))
    with Memory(place) as memory:
        for start in range(0, size, BATCH):
            memory.add(rows[start : start + BATCH], user=USER)
        memory.maintain(user=USER)
    settings = ServerSettings(port=0)
    bound = listening(settings)
    server = server_of(create_app(AsyncMemory(place), settings=settings, keys=KeyStore(place)), settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    figures: list[float] = []
    asked = questions(rows, _WARM_UPS + CALLS)
    with httpx2.Client(base_url=base_url(bound), timeout=60) as browser:
        for searches, headers in ((False, {}), (True, {}), (True, {"HX-Request": "true"})):
            wall, cpu = [], []
            for question in asked:
                began = time.perf_counter(), time.process_time()
                browser.get("/", params={"q": question} if searches else {}, headers=headers)
                wall.append((time.perf_counter() - began[0]) * 1000)
                cpu.append((time.process_time() - began[1]) * 1000)
            wall, cpu = wall[_WARM_UPS:], cpu[_WARM_UPS:]
            figures += median(wall), quantiles(wall, n=20)[-1], median(cpu)
    server.should_exit = True
    thread.join()
    return PageSpeed(size, *figures)


def opened_cold(place: Path, question: str) -> dict[str, float]:
    """In a new process; the operating system's file cache stays warm."""
    command = [sys.executable, "-m", "benchmarks.speed", "--cold", str(place), question]
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603 - this module
        command, cwd=results.ROOT, capture_output=True, text=True, check=True
    )
    process_ms = (time.perf_counter() - start) * 1000
    figures: dict[str, float] = json.loads(done.stdout)
    return figures | {"process_ms": process_ms}


def open_cold(place: str, question: str) -> None:
    """Whatever `opened_cold` starts: open, recall, report."""
    start = time.perf_counter()
    with Memory(place) as memory:
        memory.recall(question, user=USER)
        ms = (time.perf_counter() - start) * 1000
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    print(json.dumps({"recall_ms": ms, "memory_mb": pages * resource.getpagesize() / 1e6}))


def main() -> None:
    """A row for each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("path", type=Path, help="a LoCoMo file")
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--page", action="store_true", help="time the page instead")
    parser.add_argument("--output", type=Path, help="default: speed.json or page.json among the results")
    given = parser.parse_args()
    turns = [replace(m, seq=0) for talk in load("locomo", given.path) for m in talk.messages]
    rows: list[Speed | PageSpeed] = []
    for size in map(int, given.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder:
            rows.append((evaluate_page if given.page else evaluate)(size, turns, Path(folder)))
    results.show("speed, medians", rows)
    title, name = ("The page", "page.json") if given.page else ("Speed", "speed.json")
    machine = {"load": os.getloadavg()[0], "processors": os.cpu_count()}
    results.write(given.output or results.RESULTS / name, {"title": title, "rows": rows} | machine)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cold"]:
        open_cold(*sys.argv[2:])
    else:
        main()
