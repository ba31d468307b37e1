"""Blocks per request: the memory manager against other layouts, on one trace. Akashic, section 5.4.

The trace is what a server would see: conversations interleaved session by session, each its own user, and
questions as soon as the session that answers them has been said. It is made once, with the chunks view's own
chunking, retrieval and budget; then it is replayed against each layout, with the real store, database and
files.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from sqlalchemy import Connection

from zibaldone import maintenance
from zibaldone.bench.base import Equipment
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Progress, Run, need
from zibaldone.bench.registry import LocalityOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.memory import Memory
from zibaldone.storage.database import Database
from zibaldone.views.chunks import MemAttention
from zibaldone.views.chunks.storage.blocks import LocalBlocks
from zibaldone.views.chunks.storage.placement import Moved, Placement, colocate, flush, groups_above
from zibaldone.views.chunks.storage.reclaim import collect, release
from zibaldone.views.chunks.storage.records import Matrix, Owner, Record, RecordsRead, RecordStore, sizes

_SEMANTIC_BLOCKS = 4  # blocks' worth of new chunks over which the semantic layout groups
_VIEW = "chunks"


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One thing that happens to records."""

    kind: str  # "write", "remove", "together", "request" or "housekeep"
    user: str
    ids: tuple[int, ...]
    records: tuple[Record, ...] = ()
    vectors: Mapping[int, Any] = field(default_factory=dict)  # by id, a chunk's mean vector


@dataclass(frozen=True, slots=True)
class PlacementArm:
    """Where chunks are put."""

    name: str
    placement: Placement
    shared: bool = False  # blocks are filled in the order of arrival, over all users
    semantic: bool = False  # ... or grouped by similarity alone


def layouts(placement: Placement) -> tuple[PlacementArm, ...]:
    """Figure 10's: three layouts, and the memory manager with a part taken away or overdone."""
    return (
        PlacementArm("append-only", placement, shared=True),
        PlacementArm("semantic-only", placement, shared=True, semantic=True),
        PlacementArm("ours", placement),
        PlacementArm("ours, no relocation", replace(placement, tau_assoc=2.0)),
        PlacementArm("ours, no collection", replace(placement, gc_invalid_ratio=2.0)),
        PlacementArm(
            "ours, aggressive relocation", replace(placement, tau_assoc=0.0, least_fill=0.0, least_regret=0.0)
        ),
    )


@dataclass(frozen=True, slots=True)
class Result:
    """What a layout came to."""

    layout: str
    block_bytes: int
    tau_assoc: float
    gc_invalid_ratio: float
    requests: int
    blocks_per_request: float  # staged records of a request count as one block
    p50_ms: float  # reading a request's chunks with the block files out of the page cache
    p95_ms: float
    kib_per_request: float
    space_amplification: float  # mean over the trace: bytes of blocks and of staged records per live byte
    write_amplification: float  # bytes written to blocks per byte of chunks and their new versions
    blocks: int


class _Recorder(RecordStore):
    """A record store that writes down what happens to it."""

    def __init__(self, folder: Path, events: list[TraceEvent]) -> None:
        super().__init__(LocalBlocks(folder))
        self.events = events
        self.asking = False

    def stage(self, connection: Connection, owner: Owner, staged: Sequence[Record]) -> None:
        super().stage(connection, owner, staged)
        if staged:
            ids = tuple(record.id for record in staged)
            self.events.append(TraceEvent("write", owner.user, ids, tuple(staged)))

    def remove(self, connection: Connection, owner: Owner, ids: Sequence[int]) -> None:
        super().remove(connection, owner, ids)
        if ids:
            self.events.append(TraceEvent("remove", owner.user, tuple(ids)))

    def note_together(self, connection: Connection, owner: Owner, ids: Sequence[int], times: int = 1) -> None:
        super().note_together(connection, owner, ids, times)
        self.events.append(TraceEvent("together", owner.user, tuple(ids)))

    def fetch(self, connection: Connection, owner: Owner, ids: Sequence[int]) -> RecordsRead:
        if self.asking and ids:
            self.events.append(TraceEvent("request", owner.user, tuple(ids)))
        return super().fetch(connection, owner, ids)


def trace(benchmark: LoCoMoQuestions, tools: Equipment, progress: Progress) -> list[TraceEvent]:
    """What happens to the chunks of all conversations, in the order of time."""
    events: list[TraceEvent] = []
    folder = Path(tempfile.mkdtemp(dir=tools.folder))
    memory = Memory(folder, embedder=tools.embedder, chat=None, chunks=MemAttention())
    recorder = _Recorder(folder / "blocks", events)
    memory._chunks.store = recorder  # noqa: SLF001 - the trace is of the engine's own calls
    sessions = {
        user: [list(session) for _, session in groupby(benchmark.messages(user), key=lambda m: m.session)]
        for user in benchmark.users()
    }
    questions = _questions(benchmark, sessions)
    total = sum(map(len, sessions.values()))
    done = 0
    with memory:
        for number, arriving in enumerate(zip_longest(*sessions.values())):
            for user, session in zip(sessions, arriving, strict=True):
                if session is None:
                    continue
                memory.add(session, user=user)
                maintenance.catch_up(memory._database, user, memory._chunks)  # noqa: SLF001 - no tending
                events.append(_tend(memory, user))
                recorder.asking = True
                for question, now in questions[user].get(number, []):
                    memory.recall(question, user=user, views=[_VIEW], now=now, floor=0)
                recorder.asking = False
                done += 1
                progress("tracing", done, total)
    return events


def with_updates(events: Sequence[TraceEvent], share: float, seed: int = 1) -> list[TraceEvent]:
    """The trace with that share of the related chunks rewritten at every gate, as a model's updates would.

    Offline answers update little; this is the update stream under which collection can be judged.
    """
    chance = random.Random(seed)
    latest: dict[tuple[str, int], Record] = {}
    updated: list[TraceEvent] = []
    for event in events:
        for record in event.records:
            latest[event.user, record.id] = record
        updated.append(event)
        if event.kind == "together":
            again = [
                number
                for number in event.ids[:-1]
                if chance.random() < share and (event.user, number) in latest
            ]
            if again:
                rewritten = tuple(latest[event.user, number] for number in again)
                updated.append(TraceEvent("write", event.user, tuple(again), rewritten))
    return updated


def replay(events: Sequence[TraceEvent], layout: PlacementArm, tools: Equipment) -> Result:
    """Let the events happen to the layout; every request is read with the block files out of the cache."""
    folder = Path(tempfile.mkdtemp(dir=tools.folder))
    blocks = LocalBlocks(folder / "blocks")
    store = RecordStore(blocks)
    database = Database(folder, busy_timeout_s=30)
    manager = _Manager(layout, database, store)
    seen: list[tuple[int, float, int]] = []
    spaces = []
    logical = 0
    try:
        for event in events:
            owner = manager.owner(event.user)
            ids = manager.ids(event)
            if event.kind == "write":
                logical += sum(len(record.data) for record in event.records)
                with database.write() as connection:
                    store.stage(connection, owner, manager.renamed(event))
            elif event.kind == "remove":
                with database.write() as connection:
                    store.remove(connection, owner, ids)
            elif event.kind == "request":
                seen.append(_cold_read(database, store, blocks, owner, ids))
                manager.read_together(event)
            elif event.kind == "together":
                manager.read_together(event)
            else:
                manager.housekeep(event)
                spaces.append(_space(database, manager.owners))
        amplification = float(np.mean(spaces[len(spaces) // 4 :]))
    finally:
        database.close()
    times = [ms for _, ms, _ in seen]
    return Result(
        layout=layout.name,
        block_bytes=layout.placement.block_bytes,
        tau_assoc=layout.placement.tau_assoc,
        gc_invalid_ratio=layout.placement.gc_invalid_ratio,
        requests=len(seen),
        blocks_per_request=float(np.mean([count for count, _, _ in seen])),
        p50_ms=float(np.percentile(times, 50)),
        p95_ms=float(np.percentile(times, 95)),
        kib_per_request=float(np.mean([size for _, _, size in seen])) / 1024,
        space_amplification=amplification,
        write_amplification=manager.moved.bytes / max(logical, 1),
        blocks=sum(1 for _ in blocks.list()),
    )


class _Manager:
    """A layout's memory manager: the engine's own, or what a simpler one would do with the same parts."""

    def __init__(self, layout: PlacementArm, database: Database, store: RecordStore) -> None:
        self._layout, self._database, self._store = layout, database, store
        self.owners: set[Owner] = set()
        self.moved = Moved()
        self._names: dict[tuple[str, int], int] = {}  # (user, id) in a layout that all users share
        self._arrivals: dict[int, int] = {}
        self._vectors: dict[int, Any] = {}
        self._sets: list[tuple[int, ...]] = []

    def owner(self, user: str) -> Owner:
        owner = Owner("everybody" if self._layout.shared else user, _VIEW, 1)
        self.owners.add(owner)
        return owner

    def ids(self, event: TraceEvent) -> list[int]:
        if not self._layout.shared:
            return list(event.ids)
        return [self._names.setdefault((event.user, number), len(self._names) + 1) for number in event.ids]

    def renamed(self, event: TraceEvent) -> list[Record]:
        """The records as this layout keeps them: shared blocks are filled in the order of arrival."""
        if not self._layout.shared:
            return list(event.records)
        records = []
        for number, record in zip(self.ids(event), event.records, strict=True):
            self._arrivals[number] = len(self._arrivals) + 1
            records.append(Record(number, "", self._arrivals[number], record.data))
        return records

    def read_together(self, event: TraceEvent) -> None:
        ids = self.ids(event)
        self._sets.append(tuple(sorted(ids)))
        if not self._layout.shared:
            with self._database.write() as connection:
                self._store.note_together(connection, self.owner(event.user), ids)

    def housekeep(self, event: TraceEvent) -> None:
        layout, owner = self._layout, self.owner(event.user)
        for name, vector in zip(self.ids(event), event.vectors.values(), strict=True):
            self._vectors[name] = vector
        if layout.semantic:
            self._order_by_similarity(owner)
        if layout.semantic and not self._enough(owner):
            return
        self.moved += flush(self._database, self._store, layout.placement, owner)
        if not layout.shared:
            parts = (self._database, self._store, layout.placement, owner)
            self.moved += colocate(*parts, sorted(set(self._sets)), self._groups(owner))
            self.moved += collect(*parts, self._groups(owner))
        self._sets.clear()
        release(self._database, self._store)

    def _groups(self, owner: Owner) -> Callable[[Sequence[int]], list[list[int]]]:
        def groups(ids: Sequence[int]) -> list[list[int]]:
            known = [number for number in ids if number in self._vectors]
            with self._database.read() as connection:
                association = self._store.associations(connection, owner, known, self._similarity)
                bytes_of = [self._store.bytes_of(connection, owner, [number]) for number in known]
            placement = self._layout.placement
            return groups_above(known, association, placement.tau_assoc, bytes_of, placement.block_bytes)

        return groups

    def _similarity(self, ids: Sequence[int]) -> Matrix:
        rows = np.stack([self._vectors[number] for number in ids])
        return np.asarray(rows @ rows.T, dtype=np.float32)

    def _enough(self, owner: Owner) -> bool:
        with self._database.read() as connection:
            waiting = sizes(connection, owner)["staged_bytes"]
        return waiting >= _SEMANTIC_BLOCKS * self._layout.placement.block_bytes

    def _order_by_similarity(self, owner: Owner) -> None:
        """A chain of nearest neighbours through what is staged: its order is that of the blocks."""
        with self._database.read() as connection:
            staged = [n for n, block in self._store.places(connection, owner).items() if block is None]
            data = self._store.fetch(connection, owner, staged).data
        left = [number for number in sorted(staged) if number in self._vectors]
        chain: list[int] = []
        while left:
            last = self._vectors[chain[-1]] if chain else self._vectors[left[0]]
            nearest = max(left, key=lambda number: float(last @ self._vectors[number]))
            chain.append(nearest)
            left.remove(nearest)
        with self._database.write() as connection:
            self._store.stage(
                connection, owner, [Record(n, "", place, data[n]) for place, n in enumerate(chain)]
            )


def _questions(
    benchmark: LoCoMoQuestions, sessions: Mapping[str, list[list[Message]]]
) -> dict[str, dict[int, list[tuple[str, Any]]]]:
    """By user and number of session, the questions that it is the last to answer."""
    place = {
        user: {message.content: number for number, session in enumerate(of_user) for message in session}
        for user, of_user in sessions.items()
    }
    posed: dict[str, dict[int, list[tuple[str, Any]]]] = {user: {} for user in sessions}
    for example in benchmark.examples:
        last = len(sessions[example.user]) - 1
        at = [
            number
            for turn in example.evidence
            for content, number in place[example.user].items()
            if turn in content
        ]
        number = max(at, default=last) if example.answerable else last
        posed[example.user].setdefault(number, []).append((example.question, example.now))
    return posed


def _tend(memory: Memory, user: str) -> TraceEvent:
    """With the mean vector of each of the user's chunks."""
    view = memory._chunks  # noqa: SLF001 - what the manager sees of chunks is their metadata
    vectors = {}
    with memory._database.read() as connection:  # noqa: SLF001
        for chunk in view.live(connection, user):
            mean = chunk.metadata.vectors.mean(axis=0)
            vectors[chunk.id] = mean / max(float(np.linalg.norm(mean)), 1e-9)
    return TraceEvent("housekeep", user, tuple(vectors), vectors=vectors)


def _cold_read(
    database: Database, store: RecordStore, blocks: LocalBlocks, owner: Owner, ids: Sequence[int]
) -> tuple[int, float, int]:
    """(blocks, ms, bytes) of reading these records with their blocks out of the page cache."""
    with database.read() as connection:
        keys = {block for n, block in store.places(connection, owner).items() if n in ids and block}
        size = 0
        for key in keys:
            descriptor = os.open(blocks.path(key), os.O_RDONLY)
            size += os.fstat(descriptor).st_size
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
        began = time.perf_counter()
        fetched = store.fetch(connection, owner, ids)
        ms = (time.perf_counter() - began) * 1000
    return fetched.blocks_read + bool(fetched.staged_read), ms, size


def _space(database: Database, owners: set[Owner]) -> float:
    """Bytes of blocks and staged records per live byte, over all owners."""
    with database.read() as connection:
        of_owners = [sizes(connection, owner) for owner in owners]
    live = sum(size["live_bytes"] for size in of_owners)
    return sum(size["block_bytes"] + size["staged_bytes"] for size in of_owners) / live if live else 1.0


def run(options: LocalityOptions, run: Run) -> Measurement:
    """Every layout under every setting, on one trace."""
    if options.plot:
        need("matplotlib")
    settings = [
        Placement(block_bytes=size * 1024, tau_assoc=tau_assoc, gc_invalid_ratio=ratio)
        for size in options.block_kib
        for tau_assoc in options.tau
        for ratio in options.gc
    ]
    tools = run.tools()
    events = trace(LoCoMoQuestions(options.path), tools, run.progress)
    if options.updates:
        events = with_updates(events, options.updates)
    results = []
    for number, placement in enumerate(settings):
        for layout in layouts(placement):
            run.progress(f"{layout.name}, {placement.block_bytes // 1024} KiB", number, len(settings))
            results.append(replay(events, layout, tools))
    if not (requests := results[0].requests):
        raise InvalidInput(f"{str(options.path)!r} has no question: nothing to measure")
    title = f"{options.path.name}: {requests} requests, updates {options.updates:g}"
    if options.plot:
        plot(results, title, options.plot)
    figures = {
        "data": options.path.name,
        "updates": options.updates,
        "requests": requests,
        "results": results,
    }
    return Measurement(
        figures,
        [table(f"locality on {title}", results)],
        (f"written: {options.plot}",) if options.plot else (),
    )


def table(title: str, results: Sequence[Result]) -> Table:
    """A row per layout; each is compared with the append-only one of the same settings, above it."""
    baselines: dict[int, float] = {}
    for result in results:
        if result.layout == results[0].layout:
            baseline = result.blocks_per_request
        baselines[id(result)] = baseline
    columns = (
        Column("layout", lambda row: row.layout, left=True),
        Column("KiB", lambda row: row.block_bytes / 1024, "g"),
        Column("tau", lambda row: row.tau_assoc, "g"),
        Column("gc", lambda row: row.gc_invalid_ratio, "g"),
        Column("blocks /\nrequest", lambda row: row.blocks_per_request, ".2f"),
        Column("", lambda row: row.blocks_per_request / baselines[id(row)] - 1, "+.0%"),
        Column("p50\nms", lambda row: row.p50_ms, ".2f"),
        Column("p95\nms", lambda row: row.p95_ms, ".2f"),
        Column("KiB /\nrequest", lambda row: row.kib_per_request, ".0f"),
        Column("space", lambda row: f"{row.space_amplification:.2f}x"),
        Column("write", lambda row: f"{row.write_amplification:.2f}x"),
        Column("blocks", lambda row: row.blocks),
    )
    return tabulate(title, columns, results)


def plot(results: Sequence[Result], title: str, path: Path) -> None:
    """Figure 10 as a PNG: blocks per request, cold p95, space and write amplification.

    Raises InvalidInput when the file cannot be written.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = [result.layout for result in results]
    panels: Sequence[tuple[str, list[float]]] = (
        ("blocks per request", [result.blocks_per_request for result in results]),
        ("cold-cache p95, ms", [result.p95_ms for result in results]),
        ("space amplification", [result.space_amplification for result in results]),
        ("write amplification", [result.write_amplification for result in results]),
    )
    figure, axes = plt.subplots(1, len(panels), figsize=(14, 4), layout="constrained")
    for axis, (panel, values) in zip(axes, panels, strict=True):
        bars = axis.barh(names, values, color=["#9aa5b1", "#7b9fc7", "#d1603d"] + ["#e0b9a8"] * len(names))
        axis.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
        axis.set_title(panel, fontsize=10)
        axis.invert_yaxis()
        axis.margins(x=0.18)
        if axis is not axes[0]:
            axis.set_yticklabels([])
    figure.suptitle(title, fontsize=9)
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--plot {str(path)!r} cannot be written: {error}") from error
    finally:
        plt.close(figure)
