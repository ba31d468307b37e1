"""Blocks per request: the memory manager against other layouts of the same chunks. Akashic, section 5.4.

A trace (`traces`) is replayed against every layout (`layouts`), each of one user's chunks alone. Its first
half warms up and is not counted. A store of objects is simulated, where each read costs something.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.table import Table

from zibaldone.bench.beam import BEAMQuestions
from zibaldone.bench.locality.layouts import PlacementArm, UserLayout, arms
from zibaldone.bench.locality.oracle import best_blocks
from zibaldone.bench.locality.traces import (
    AGAIN,
    ONCE,
    TraceEvent,
    of_beam,
    of_locomo,
    only,
    record,
    with_updates,
)
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.registry import LocalityOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.errors import InvalidInput
from zibaldone.views.chunks.storage.placement import Placement

_GET_MS = (5.0, 20.0)  # until an object of a bucket begins to come, evenly spread
_PER_MS = 100_000  # bytes of it that come in a millisecond
_ROW_MS = 1.0  # all staged records of a request, from the database


@dataclass(frozen=True, slots=True)
class Result:
    """What a layout came to on a trace."""

    trace: str
    updates: float
    block_bytes: int
    layout: str
    requests: int  # that were counted
    blocks_per_request: float
    reads_per_request: float  # blocks, and one of the database where a chunk is staged
    staged_share: float  # of the chunks that were read
    kib_per_request: float
    p50_ms: float  # on a simulated bucket, one block after the other
    p95_ms: float
    side_by_side_ms: float  # p95, when a request's blocks are read at once
    space_amplification: float  # mean over the last three quarters: bytes of blocks and staged per live byte
    block_writes: float  # bytes written to blocks per byte of chunks and their new versions
    all_writes: float  # and those written to the database when they are staged
    blocks: int


@dataclass(frozen=True, slots=True)
class Workload:
    """What is replayed, and what who knows all of it would do."""

    name: str
    updates: float
    events: Sequence[TraceEvent]
    block_bytes: int
    oracles: Mapping[str, Mapping[int, int]]  # by user, each record's block

    @classmethod
    def of(cls, name: str, updates: float, events: Sequence[TraceEvent], block_bytes: int) -> Workload:
        return cls(name, updates, events, block_bytes, _oracles(events, block_bytes))


def replay(workload: Workload, arm: PlacementArm) -> Result:
    """Let the events happen to the layout."""
    events = workload.events
    oracles = workload.oracles if arm.oracle else {}
    users: dict[str, UserLayout] = {}
    warm = sum(event.kind == "request" for event in events) // 2
    reads: list[_Read] = []
    spaces: list[float] = []
    staged_bytes = 0
    for event in events:
        layout = users.setdefault(event.user, UserLayout())
        if event.kind == "write":
            staged_bytes += sum(len(record.data) for record in event.records)
            layout.stage(event)
        elif event.kind == "remove":
            layout.remove(event.ids)
        elif event.kind == "housekeep":
            layout.vectors.update(event.vectors)
            layout.write(arm.policy(layout))
            spaces.append(_space(list(users.values())))
        else:
            if event.kind == "request":
                reads.append(_read(layout, event.ids, len(reads), oracles.get(event.user)))
            layout.read_together(event.ids)
    counted = reads[warm:]
    if not counted:
        raise InvalidInput(f"{workload.name} has no question that is answered by a chunk: nothing to measure")
    one_by_one = [read.one_by_one_ms for read in counted]
    written = sum(layout.written_bytes for layout in users.values())
    return Result(
        trace=workload.name,
        updates=workload.updates,
        block_bytes=workload.block_bytes,
        layout=arm.name,
        requests=len(counted),
        blocks_per_request=float(np.mean([read.blocks for read in counted])),
        reads_per_request=float(np.mean([read.blocks + bool(read.staged) for read in counted])),
        staged_share=sum(read.staged for read in counted) / max(sum(read.chunks for read in counted), 1),
        kib_per_request=float(np.mean([read.bytes for read in counted])) / 1024,
        p50_ms=float(np.percentile(one_by_one, 50)),
        p95_ms=float(np.percentile(one_by_one, 95)),
        side_by_side_ms=float(np.percentile([read.side_by_side_ms for read in counted], 95)),
        space_amplification=float(np.mean(spaces[len(spaces) // 4 :])),
        block_writes=written / max(staged_bytes, 1),
        all_writes=(written + staged_bytes) / max(staged_bytes, 1),
        blocks=sum(len(layout.blocks) for layout in users.values()),
    )


@dataclass(frozen=True, slots=True)
class _Read:
    blocks: int
    staged: int  # chunks that came from the database
    chunks: int
    bytes: int
    one_by_one_ms: float
    side_by_side_ms: float


def _read(layout: UserLayout, ids: Sequence[int], number: int, oracle: Mapping[int, int] | None) -> _Read:
    """A request, with the same luck for every layout."""
    places = [layout.places[n] for n in ids if n in layout.places]
    stored = [place for place in places if place.block is not None]
    if oracle is None:
        sizes = [layout.block_bytes[block] for block in {p.block for p in stored if p.block}]
    else:
        full = max(layout.block_bytes.values(), default=0)
        sizes = [full] * len({oracle[place.id] for place in stored})
    chance = random.Random(number)
    gets = [chance.uniform(*_GET_MS) + size / _PER_MS for size in sizes]
    rows = _ROW_MS if len(stored) < len(places) else 0.0
    return _Read(
        blocks=len(sizes),
        staged=len(places) - len(stored),
        chunks=len(places),
        bytes=sum(sizes) + sum(place.bytes for place in places if place.block is None),
        one_by_one_ms=rows + sum(gets),
        side_by_side_ms=rows + max(gets, default=0.0),
    )


def _oracles(events: Sequence[TraceEvent], block_bytes: int) -> dict[str, dict[int, int]]:
    """By user, where each record would lie."""
    sizes: dict[str, dict[int, int]] = {}
    requests: dict[str, list[tuple[int, ...]]] = {}
    for event in events:
        sizes.setdefault(event.user, {}).update({r.id: len(r.data) for r in event.records})
        if event.kind == "request":
            requests.setdefault(event.user, []).append(event.ids)
    return {user: best_blocks(sizes[user], requests.get(user, []), block_bytes) for user in sizes}


def _space(layouts: Sequence[UserLayout]) -> float:
    live = sum(layout.live_bytes for layout in layouts)
    return sum(layout.stored_bytes for layout in layouts) / live if live else 1.0


def run(options: LocalityOptions, run: Run) -> Measurement:
    """Every layout on every trace, with and without updates, at every size of a block."""
    traces = _traces(options, run)
    runs = [
        (name, stream, share, kib)
        for name in traces
        for stream in (ONCE, AGAIN)
        for share in options.updates
        for kib in options.block_kib
    ]
    results: list[Result] = []
    for number, (name, stream, share, kib) in enumerate(runs):
        title = name if stream == ONCE else f"{name}, topics again"
        run.progress(f"{title}, {kib} KiB", number, len(runs))
        workload = Workload.of(title, share, with_updates(only(traces[name], stream), share), kib * 1024)
        layouts = arms(replace(Placement(), block_bytes=kib * 1024))
        results += [replay(workload, arm) for arm in layouts]
    tables = [
        table(name, share, [r for r in results if (r.trace, r.updates) == (name, share)])
        for name, share in dict.fromkeys((r.trace, r.updates) for r in results)
    ]
    return Measurement({"results": results}, tables)


def _traces(options: LocalityOptions, run: Run) -> dict[str, list[TraceEvent]]:
    tools = run.tools()
    sittings = {"LoCoMo as one user": of_locomo(LoCoMoQuestions(options.path))}
    if options.beam:
        sittings["BEAM as one user"] = of_beam(BEAMQuestions(options.beam), options.chats)
    return {name: record(of_user, tools, run.progress) for name, of_user in sittings.items()}


def table(name: str, updates: float, results: Sequence[Result]) -> Table:
    """A row per layout and size of a block, held against append-only and its oracle of that size."""
    of = {(row.block_bytes, row.layout): row.reads_per_request for row in results}

    def change(row: Result) -> float:
        return row.reads_per_request / of[row.block_bytes, "append-only"] - 1

    def of_oracle(row: Result) -> str:
        most = of[row.block_bytes, "append-only"] - of[row.block_bytes, "oracle"]
        saved = of[row.block_bytes, "append-only"] - row.reads_per_request
        return f"{saved / most:.0%}" if most > 0.005 else "-"

    columns = (
        Column("layout", lambda row: row.layout, left=True),
        Column("KiB", lambda row: row.block_bytes / 1024, "g"),
        Column("blocks /\nrequest", lambda row: row.blocks_per_request, ".2f"),
        Column("of chunks\nstaged", lambda row: row.staged_share, ".0%"),
        Column("reads /\nrequest", lambda row: row.reads_per_request, ".2f"),
        Column("", change, "+.0%"),
        Column("of the\noracle's", of_oracle),
        Column("p50\nms", lambda row: row.p50_ms, ".0f"),
        Column("p95\nms", lambda row: row.p95_ms, ".0f"),
        Column("at once\np95 ms", lambda row: row.side_by_side_ms, ".0f"),
        Column("KiB /\nrequest", lambda row: row.kib_per_request, ".0f"),
        Column("space", lambda row: f"{row.space_amplification:.2f}x"),
        Column("write", lambda row: f"{row.block_writes:.2f}x"),
        Column("+staged", lambda row: f"{row.all_writes:.2f}x"),
        Column("blocks", lambda row: row.blocks),
    )
    requests = results[0].requests
    return tabulate(f"locality on {name}: {requests} requests, updates {updates:g}", columns, results)
