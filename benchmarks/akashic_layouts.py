"""Layouts of chunks on the disk, for Akashic's Figures 10 and 12: a trace of requests, and its replay.

`benchmarks.akashic` is the command. All conversations of a set are one user's, who says a session of each in
turn; a question is asked after the session that answers it. The chunks view makes the trace, which is played
again with the same chunks and requests over the engine's own records and blocks.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

import numpy as np
from sqlalchemy import func, select

from benchmarks.data import Conversation, Question
from zibaldone import Config, Memory, Message
from zibaldone.cli.compare.systems import USER
from zibaldone.models.static import shared_static_embedder
from zibaldone.storage.objects import FileObjects
from zibaldone.storage.opening import open_database
from zibaldone.storage.schema import blocks, chunks, records
from zibaldone.views.base import Generation
from zibaldone.views.chunks import table
from zibaldone.views.chunks.config import MemAttention, Placement
from zibaldone.views.chunks.storage.placement import Matrix, arrange
from zibaldone.views.chunks.storage.records import Record, RecordStore, release
from zibaldone.views.own_rows import generations

PAPER = replace(MemAttention.paper(), scope="user", relocation=False)  # few sessions have a gate's tokens
_OWNER, _NEVER = Generation(USER, 1, "", 0), 1e9


@dataclass(slots=True)
class Trace:
    """The records that a user's talk writes, and the chunks that each request reads."""

    events: list[tuple[str, Any]] = field(default_factory=list)  # "stage" records, "request" ids, "tend" None
    vectors: dict[int, Any] = field(default_factory=dict)  # by chunk, (d,) of unit length

    def affinity(self, ids: Sequence[int]) -> Matrix:
        """(n, n) cosines."""
        rows = np.stack([self.vectors[number] for number in ids])
        return np.asarray(np.clip(rows @ rows.T, 0, 1), dtype=np.float32)


class Recorder(RecordStore):
    """A store that notes what is written to it and read from it."""

    trace: Trace
    is_asked = False

    def stage(self, connection: Any, generation: Generation, staged: Sequence[Record]) -> None:
        super().stage(connection, generation, staged)
        self.trace.events.append(("stage", tuple(staged)))

    def fetch(self, connection: Any, generation: Generation, ids: Sequence[int]) -> dict[int, bytes]:
        if self.is_asked:
            self.trace.events.append(("request", tuple(ids)))
        return super().fetch(connection, generation, ids)


def trace_of(conversations: Sequence[Conversation], limit: int, folder: Path) -> Trace:
    """Let one user say everything, session by session of each conversation in turn, and ask everything."""
    trace = Trace()
    placement = Placement(staged_blocks=_NEVER)
    config = Config(chunks=PAPER, placement=placement, maintained=("messages", "chunks"))
    with Memory(folder, config=config) as memory:
        view = memory._wiring.chunks  # noqa: SLF001 - the trace is of the engine's own calls
        view.store = recorder = Recorder(view.store.blocks)
        recorder.trace = trace
        for talk, session, questions in _sittings(conversations, limit):
            said = [replace(m, seq=0, id=None, session=f"{talk}/{m.session}") for m in session]
            memory.add(said, user=USER)
            memory.maintain(user=USER)
            with memory._database.read(USER) as connection:  # noqa: SLF001
                for made in generations(connection, chunks, USER):
                    found = table.load(connection, made, shared_static_embedder().dimension)
                    trace.vectors |= {number: one.metadata.mean_vector for number, one in found.items()}
            trace.events.append(("tend", None))
            recorder.is_asked = True
            for question in questions:
                memory.recall(question.text, user=USER, views=["chunks"], min_confidence=0)
            recorder.is_asked = False
    return trace


def updated(trace: Trace, chance: float) -> Trace:
    """The trace, in which each of the five chunks most like a new one is written anew with this chance."""
    random_ = random.Random(1)
    written: dict[int, Record] = {}
    events: list[tuple[str, Any]] = []
    for kind, given in trace.events:
        events.append((kind, given))
        for record in given if kind == "stage" else ():
            if written and record.id not in written:
                earlier = sorted(written)
                alike = trace.affinity([record.id, *earlier])[0, 1:]
                related = [earlier[row] for row in np.argsort(-alike)[: PAPER.top_p]]
                again = tuple(written[number] for number in related if random_.random() < chance)
                events.append(("stage", again))
            written[record.id] = record
    return Trace(events, trace.vectors)


def _sittings(
    conversations: Sequence[Conversation], limit: int
) -> Iterator[tuple[str, list[Message], list[Question]]]:
    """(conversation, messages of a session, questions that its end answers), of each conversation in turn."""

    def of(one: Conversation) -> list[tuple[str, list[Message], list[Question]]]:
        parts, asked = [], set[str]()
        for _, group in groupby((m for m in one.messages if m.time), key=lambda m: m.session):
            session = list(group)
            last = session[-1].seq
            ready = [q for q in one.questions[:limit] if max(q.evidence, default=q.visible) <= last]
            parts.append((one.name, session, [q for q in ready if q.id not in asked]))
            asked.update(q.id for q in ready)
        return parts

    for arriving in zip_longest(*map(of, conversations)):
        yield from filter(None, arriving)


class Disk(FileObjects):
    """Blocks of a folder, of which the system keeps no page in memory between two requests."""

    reads = 0

    def get(self, name: str) -> bytes:
        self.reads += 1
        return super().get(name)

    def cool(self) -> None:
        """Drop every block's pages."""
        for path in self.folder.rglob("*.block"):
            handle = os.open(path, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


@dataclass(frozen=True, slots=True)
class LayoutRow:
    """One layout of one trace."""

    data: str
    updates: str
    layout: str
    requests: int
    reads: float  # a request
    cold_p95_ms: float
    space: float
    write: float
    kib_written: int
    blocks: int


def replay(
    trace: Trace, name: tuple[str, str, str], placement: Placement, relocation: str, folder: Path
) -> LayoutRow:
    """Replay a trace with one placement. `relocation`: "", at the next "housekeeping", or "at once"."""
    database = open_database(folder, busy_timeout_s=5.0)
    disk = Disk(folder / "blocks")
    store = RecordStore(disk)
    logical = written = asked = 0
    reads, cold, space, together = [], [], [], list[Sequence[int]]()
    half = sum(kind == "request" for kind, _ in trace.events) // 2
    for kind, given in trace.events:
        if kind == "stage" and given:
            with database.write(USER) as connection:
                store.stage(connection, _OWNER, given)
            logical += sum(len(record.data) for record in given)
        elif kind == "request":
            asked += 1
            if asked > half:
                disk.cool()
            disk.reads, began = 0, time.perf_counter()
            with database.read(USER) as connection:
                store.fetch(connection, _OWNER, given)
                took = time.perf_counter() - began
                here = records.c.user == USER
                staged = select(func.count()).where(here, records.c.id.in_(given), records.c.block.is_(None))
                has_staged = bool(connection.execute(staged).scalar())
                size = func.coalesce(func.sum(records.c.bytes), 0)
                live = connection.execute(select(size).where(here)).scalar_one()
                held = connection.execute(select(size).where(here, records.c.block.is_(None))).scalar_one()
                held += connection.execute(select(func.coalesce(func.sum(blocks.c.bytes), 0))).scalar_one()
            if asked > half:
                reads.append(disk.reads + has_staged)
                cold.append(1000 * took)
                space.append(held / live)
            if relocation:
                together.append(given)
        if kind == "tend" or (relocation == "at once" and kind == "request"):
            moved = arrange(database, store, placement, _OWNER, trace.affinity, together)
            written += moved.bytes
            together.clear()
            release(database, store)
    count = sum(1 for _ in disk.names())
    database.close()
    p95, wrote = quantiles(cold, n=20)[-1], written / logical
    return LayoutRow(*name, len(reads), fmean(reads), p95, fmean(space), wrote, written >> 10, count)


_SEMANTIC = Placement(gc_invalid_ratio=_NEVER, staged_blocks=1)
FIGURE_10 = (
    ("append-only", replace(_SEMANTIC, staged_by_affinity=False), ""),
    ("semantic-only", _SEMANTIC, ""),
    ("Akashic: Placement.paper()", Placement.paper(), "housekeeping"),
    ("Akashic, at once", Placement.paper(), "at once"),
    ("no relocation", Placement.paper(), ""),
    ("no GC", replace(Placement.paper(), gc_invalid_ratio=_NEVER), "housekeeping"),
    ("aggressive relocation", replace(Placement.paper(), tau_assoc=0.0), "housekeeping"),
    ("aggressive, at once", replace(Placement.paper(), tau_assoc=0.0), "at once"),
    ("ours: Placement()", Placement(), ""),
)
_TAUS, _PHIS = (0.3, 0.5, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.5, 0.75)
FIGURE_12 = [(f"tau_assoc {t}", replace(Placement.paper(), tau_assoc=t), "housekeeping") for t in _TAUS]
FIGURE_12 += [
    (f"gc_invalid_ratio {phi}", replace(Placement.paper(), gc_invalid_ratio=phi), "housekeeping")
    for phi in _PHIS
]


def rows_of(
    figure: int,
    data: str,
    conversations: Sequence[Conversation],
    limit: int,
    updates: Sequence[str],
    folder: Path,
) -> Iterator[LayoutRow]:
    """Figure 10 or 12 on one set, with each chance of updates."""
    trace = trace_of(conversations, limit, Path(tempfile.mkdtemp(dir=folder)))
    for chance in updates:
        changed = updated(trace, float(chance))
        for layout, placement, moves in FIGURE_10 if figure == 10 else FIGURE_12:
            own = Path(tempfile.mkdtemp(dir=folder))
            yield replay(changed, (data, chance, layout), placement, moves, own)
