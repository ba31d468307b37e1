"""What adds, recalls and forgets of others and of the same user cost while a model hangs in one recall.

The same calls are timed in turns, a few without and a few with a recall in another thread whose chat model or
embedder does not answer: a ratio of medians near 1 says that nobody waits for it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from zibaldone.bench.outcome import Measurement, Progress, Run
from zibaldone.bench.registry import HangingOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.memory import Memory
from zibaldone.models.base import ChatReply, TokenLogprob
from zibaldone.models.static import shared_static_embedder
from zibaldone.testing import HangingModel, ScriptedModel
from zibaldone.testing.fakes import Latch
from zibaldone.views.chunks import MemAttention
from zibaldone.views.topics import Consolidation

T = TypeVar("T")
CASES = (
    ("messages", "embedder"),
    ("chunks", "chat"),
    ("chunks", "embedder"),
    ("hierarchy", "chat"),
    ("topics", "chat"),
)
SAME, OTHER = "ann", "bea"
_MESSAGES = 100  # of each user
_TURN = 5  # calls of each kind without the hanging model, then as many with it
_LONGEST_S = 60.0  # for a model to be asked, or for a recall to end
_POOR = ChatReply("No.", logprobs=(TokenLogprob("No.", -0.5),))  # an answer that every task refuses
_THINGS = ("clock", "cello", "kayak", "oven", "garden", "camera")


@dataclass(frozen=True, slots=True)
class Hanging:
    """One kind of call while one view's recall waits; medians."""

    view: str
    model: str  # "chat" or "embedder": what hangs
    call: str  # "add", "recall" or "forget"
    user: str  # "same" or "other": whose recall hangs, or somebody else's
    calls: int
    alone_ms: float
    hanging_ms: float
    purged: bool  # every forgetting purged the files

    @property
    def ratio(self) -> float:
        return self.hanging_ms / self.alone_ms


_COLUMNS = (
    Column("view", lambda row: row.view, left=True),
    Column("hangs", lambda row: row.model, left=True),
    Column("call", lambda row: row.call, left=True),
    Column("user", lambda row: row.user, left=True),
    Column("alone\nms", lambda row: row.alone_ms, ".1f"),
    Column("hanging\nms", lambda row: row.hanging_ms, ".1f"),
    Column("ratio", lambda row: row.ratio, ".2f"),
    Column("purged", lambda row: "yes" if row.purged else "no"),
)


def run(options: HangingOptions, run: Run) -> Measurement:
    """All views, each with the models that its recall asks."""
    rows = [
        row for view, model in CASES for row in measure(view, model, run.folder, options.calls, run.progress)
    ]
    title = f"Calls beside a recall whose model hangs: medians of {options.calls}"
    return Measurement({"hanging": rows}, [tabulate(title, _COLUMNS, rows)])


def measure(view: str, model: str, folder: Path, calls: int, progress: Progress) -> list[Hanging]:
    """One view and one model, in turns of a few calls."""
    chat = HangingModel(chat=ScriptedModel(lambda _: _POOR))
    embedder = HangingModel(embedder=shared_static_embedder())
    gate = (chat if model == "chat" else embedder).gate
    timed = {False: _Timed(), True: _Timed()}  # beside nothing, beside the recall that hangs
    settings: dict[str, Any] = {
        "embedder": embedder,
        "chunks": MemAttention(chunk_gate_tokens=48, top_p=1),
        "topics": Consolidation(current_threshold_tokens=48, split_tokens=200, merge_tokens=60),
        "maintained": (view,),
    }
    place = folder / f"hanging-{view}-{model}"
    with Memory(place, chat=None, **settings) as memory:
        for user in (SAME, OTHER):
            memory.add(_talk(_MESSAGES + 2 * calls), user=user)
        memory.maintain()
    oldest = itertools.count(1)
    for done in range(0, calls, _TURN):
        progress(f"{view}, {model} hangs", done, calls)
        # Opened anew each time: a model that gave no good answer again and again would be left alone.
        with Memory(place, chat=chat, **settings) as memory:
            question = f"What did Ann pay to Otto for the kayak number {done}?"
            recall = partial(memory.recall, question, user=SAME, views=[view], floor=0)
            memory.recall("Which cello?", user=OTHER, views=[view], floor=0)  # fills caches
            for hangs, times in timed.items():
                with _hanging(gate, recall) if hangs else nullcontext():
                    for _ in range(min(_TURN, calls - done)):
                        times.turn(memory, next(oldest))
    return [
        Hanging(
            view,
            model,
            call,
            "same" if user == SAME else "other",
            calls,
            median(timed[False].ms[call, user]),
            median(timed[True].ms[call, user]),
            timed[False].purged and timed[True].purged,
        )
        for call, user in timed[True].ms
    ]


class _Timed:
    """Milliseconds by call and user."""

    def __init__(self) -> None:
        self.ms: dict[tuple[str, str], list[float]] = {}
        self.purged = True

    def turn(self, memory: Memory, seq: int) -> None:
        """One call of each kind of each user; the message of this seq is forgotten."""
        for user in (SAME, OTHER):
            self._time("add", user, partial(memory.add, "I sold the harp.", user=user))
            self._time("recall", user, partial(memory.recall, "the harp?", user=user, floor=0))
            receipt = self._time("forget", user, partial(memory.forget, user=user, seqs=[seq]))
            self.purged = self.purged and receipt.purged

    def _time(self, name: str, user: str, call: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = call()
        self.ms.setdefault((name, user), []).append((time.perf_counter() - start) * 1000)
        return result


@contextmanager
def _hanging(gate: Latch, recall: Callable[[], object]) -> Iterator[None]:
    gate.shut()
    thread = threading.Thread(target=recall, daemon=True)
    thread.start()
    try:
        if not gate.reached.wait(_LONGEST_S):
            raise RuntimeError("the recall asked no model: nothing would be measured")
        yield
    finally:
        gate.open()
        thread.join(_LONGEST_S)


def _talk(messages: int) -> list[Message]:
    start = datetime(2024, 1, 1, 9, tzinfo=UTC)
    return [
        Message(
            f"I bought the {_THINGS[i % len(_THINGS)]} number {i} in Ghent and paid {i + 20} crowns to Otto.",
            name="Ann",
            session=str(i % 4),
            time=start + timedelta(hours=7 * i),
        )
        for i in range(messages)
    ]
