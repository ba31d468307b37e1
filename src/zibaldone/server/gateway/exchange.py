"""One request with memory: recall for it, and storing of it and of its answer.

Nothing here fails a request: what memory cannot do in time is left out, and the report says so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from zibaldone.api.aio import AsyncMemory
from zibaldone.errors import RecallGivenUp
from zibaldone.log.filters import Filter
from zibaldone.recall.lookup import Lookup
from zibaldone.recall.result import Recall
from zibaldone.server.border import read_apart
from zibaldone.server.gateway.loops import LoopRecalls, MessageCache, loop_key
from zibaldone.server.gateway.recording import Admitted, Recorder
from zibaldone.server.gateway.report import MemoryReport
from zibaldone.server.gateway.scope import MemoryOptions, MemoryScope, derived_session
from zibaldone.server.gateway.turns import WireTurn, as_partial
from zibaldone.server.gateway.wire import HiddenTurn, Wire
from zibaldone.server.live import Live, LiveRequest
from zibaldone.server.memory_pool import MemoryPool
from zibaldone.server.metrics import Metrics
from zibaldone.server.problems import log_failure, reason
from zibaldone.server.settings import MemoryMode
from zibaldone.text.purgeable_cache import sweeping

T = TypeVar("T")
_WRITE_S = 10.0  # for which an answer waits until it is stored
# Concurrent recalls of a process: threads of one interpreter share its lock, and would all end late; more if
# they wait for a database or a model elsewhere.
_AT_ONCE, _AT_ONCE_WAITING = 1, 4
_SEARCH_S = 3.0  # for a search by the model
_SEARCH_TOKENS = 1500
_LATE_S = 5.0  # for which a recall past its deadline that still runs holds up the next ones
_logger = logging.getLogger(__name__)


class BackgroundTasks:
    """Tasks that go on after their request has ended."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task; its error is logged without quoting messages."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, RecallGivenUp):
            log_failure(_logger, "of memory in a request", error)

    async def drain(self, timeout_s: float) -> None:
        """Wait for all tasks, for `timeout_s` at most."""
        deadline = time.monotonic() + timeout_s
        while self._tasks and (left_s := deadline - time.monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=left_s)


class GatewayServices:
    """The objects that all exchanges share."""

    def __init__(
        self, memory: AsyncMemory, metrics: Metrics, *, recall_timeout_s: float, live: Live | None = None
    ) -> None:
        self.memory, self.metrics, self.recall_timeout_s = memory, metrics, recall_timeout_s
        self.live = live or Live()
        self.recorder = Recorder(memory)
        self.loops = LoopRecalls(memory)
        self.hidden: MessageCache[HiddenTurn] = MessageCache(memory)  # by the first call that a client got
        self.renamed: MessageCache[str] = MessageCache(memory)  # upstream's ids of answers, by clients' ids
        self.background = BackgroundTasks()
        at_once = _AT_ONCE if memory.admin.is_embedded else _AT_ONCE_WAITING
        processes = memory.size if isinstance(memory, MemoryPool) else 1
        self._slots = [asyncio.Semaphore(at_once) for _ in range(processes)]

    def slots(self, user: str) -> asyncio.Semaphore:
        """Return the recall slots of the process that serves a user."""
        return self._slots[self.memory.process_of(user) if isinstance(self.memory, MemoryPool) else 0]


@dataclass(slots=True)
class GatewayExchange:
    """One request and its answer."""

    services: GatewayServices
    wire: Wire
    size: int  # of the body, in bytes
    scope: MemoryScope
    options: MemoryOptions
    read_only: bool
    report: MemoryReport = field(default_factory=MemoryReport)
    admitted: Admitted = field(init=False)  # set by `admit`
    live: LiveRequest = field(init=False)  # likewise
    _began: float = field(default_factory=time.perf_counter)
    _storing: asyncio.Task[str] | None = None
    _is_recorded: bool = False

    async def admit(self) -> dict[str, Any]:
        """Return the members of the body that recalled text changes."""
        turns = await read_apart(self.size, self.wire.turns)
        self.admitted = self._admitted(turns)
        self.report.session = self.admitted.session
        if self.options.enable_retrieval and self.options.mode is not MemoryMode.TOOL:
            return await self._recalled(turns)
        return {}

    def begin_storing(self) -> None:
        """Begin to store the new turns, when the request for the upstream is ready."""
        if self.options.enable_writeback and not self.read_only:
            self._storing = self.services.background.start(self._store())
        elif self.options.enable_writeback:
            self.report.reasons.append("this key may only read: nothing is stored")
        self.report.ms = (time.perf_counter() - self._began) * 1000
        self.live = self.report.as_live(self.admitted.stored)
        self.services.live.add(self.scope.user, self.live)

    async def record(
        self, answer: Sequence[WireTurn] = (), answer_id: str | None = None, *, is_partial: bool = False
    ) -> None:
        """Store the answer, or the question alone; a failure, or that it takes long, goes into the report."""
        task = self.begin_recording(answer, answer_id, is_partial=is_partial)
        if task is None:
            return
        done, _ = await asyncio.wait([task], timeout=_WRITE_S)
        if not done:
            self._degrade("write_timeout", "storing takes longer than usual; it goes on")
        elif (error := task.exception()) is not None:
            self._degrade("write_failed", f"not stored: {reason(error)}")

    def begin_recording(
        self, answer: Sequence[WireTurn], answer_id: str | None = None, *, is_partial: bool
    ) -> asyncio.Task[None] | None:
        """Begin to store the answer in the background; None if that was done, or nothing is to be stored."""
        if self._is_recorded or self._storing is None:
            return None
        self._is_recorded = True
        turns = [as_partial(turn) for turn in answer] if is_partial else answer
        return self.services.background.start(self._store_answer(self._storing, turns, answer_id))

    async def _store(self) -> str:
        with self.services.metrics.queued(), self.services.metrics.stage("write_back"):
            return await self.services.recorder.store(self.admitted)

    async def _store_answer(
        self, storing: asyncio.Task[str], turns: Sequence[WireTurn], answer_id: str | None
    ) -> None:
        leaf = await asyncio.shield(storing)
        with self.services.metrics.queued(), self.services.metrics.stage("write_back"):
            await self.services.recorder.store_answer(self.admitted, leaf, turns, answer_id)

    def _admitted(self, turns: Sequence[WireTurn]) -> Admitted:
        previous = self.wire.continues
        earlier = self.services.recorder.answer(self.scope, previous) if previous else None
        session = (
            self.scope.session
            or self.wire.conversation
            or (earlier[0] if earlier else None)
            or self.scope.client_session
            or derived_session(turns)
        )
        return Admitted(
            scope=self.scope,
            session=session,
            turns=tuple(turns),
            after=earlier[1] if earlier and earlier[0] == session else None,
        )

    async def _recalled(self, turns: Sequence[WireTurn]) -> dict[str, Any]:
        """Recall for the last user turn; returns the changed members of the body, if any."""
        last = next((k for k in reversed(range(len(turns))) if turns[k].message.role == "user"), None)
        if last is None:
            return {}
        asking = turns[last]
        loop = loop_key(self.scope, self.admitted.session, self.options, turns[: last + 1])
        recall = partial(self._recall, asking, loop, is_loop=last + 1 < len(turns))
        recalled = await self._within(self.services.recall_timeout_s, recall)
        self.report.recalled = recalled
        if recalled is not None and recalled.trace.missing:
            self._degrade("shared_missing", f"not recalled: {', '.join(recalled.trace.missing)}")
        if not recalled:
            return {}
        return self.wire.with_memory(asking.place, recalled.quoted())

    async def look_up(self, lookup: Lookup, narrowed: Filter, shown: frozenset[int]) -> Recall | None:
        """Search for the model, without the passages it has seen; None if the search fails or is late."""
        limit_s = max(self.services.recall_timeout_s, _SEARCH_S)
        if self._storing is not None:  # then the request's own turns are excluded as known
            await asyncio.wait([self._storing], timeout=limit_s)
        return await self._within(limit_s, partial(self._look_up, lookup, narrowed, shown))

    async def _look_up(
        self, lookup: Lookup, narrowed: Filter, shown: frozenset[int], deadline: float
    ) -> Recall:
        aligned = await self.services.recorder.aligned(self.admitted)
        return await self.services.memory.recall(
            lookup.query,
            filter=replace(narrowed, exclude_seqs=aligned.passed | shown),
            user=self.scope.user,
            budget_tokens=_SEARCH_TOKENS,
            views=self.options.views,
            min_confidence=0,
            order=lookup.order,
            shared=self.options.shared,
            timeout_s=_left_s(deadline),
        )

    async def _recall(self, asking: WireTurn, loop: bytes, deadline: float, *, is_loop: bool) -> Recall:
        with sweeping():
            if is_loop and (kept := await self.services.loops.find(loop)) is not None:
                return kept
            aligned, options = await self.services.recorder.aligned(self.admitted), self.options
            recalled = await self.services.memory.recall(
                asking.message.content,
                messages=[*aligned.unknown, asking.message],
                filter=Filter(exclude_seqs=aligned.passed, agent=self.scope.agent, roles=options.roles),
                user=self.scope.user,
                budget_tokens=options.budget_tokens,
                views=options.views,
                shared=options.shared,
                timeout_s=_left_s(deadline),
            )
            self.services.loops.keep(loop, self.scope.user, recalled)
        return recalled

    async def _within(
        self, limit_s: float, work: Callable[[float], Coroutine[Any, Any, Recall]]
    ) -> Recall | None:
        """Run `work(deadline)`, by the event loop's clock, in a free slot.

        None, with a report, if it fails or is late.
        """
        services, loop = self.services, asyncio.get_running_loop()
        slots = services.slots(self.scope.user)
        deadline = loop.time() + limit_s
        too_late = f"nothing recalled within {limit_s * 1000:g} ms"
        with services.metrics.stage("recall"):
            try:
                async with asyncio.timeout_at(deadline):
                    await slots.acquire()
            except TimeoutError:
                self._degrade("recall_timeout", f"{too_late}: others came first")
                return None
            task = services.background.start(work(deadline))
            services.background.start(_hold(slots, task, deadline + _LATE_S - loop.time()))
            done, _ = await asyncio.wait([task], timeout=deadline - loop.time())
        error = task.exception() if done else None
        if not done or isinstance(error, RecallGivenUp):
            self._degrade("recall_timeout", too_late)
            return None
        if error is not None:
            self._degrade("recall_failed", f"nothing recalled: {reason(error)}")
            return None
        services.metrics.recalled(task.result().tokens)
        return task.result()

    def _degrade(self, reason_name: str, words: str) -> None:
        """Report a failure to the client and to the metrics."""
        self.report.degrade(words)
        self.services.metrics.degraded(reason_name)


def _left_s(deadline: float) -> float:
    """Return the seconds until a deadline by the event loop's clock."""
    return max(0.0, deadline - asyncio.get_running_loop().time())


async def _hold(slots: asyncio.Semaphore, task: asyncio.Task[Recall], most_s: float) -> None:
    """Keep a slot until the recall in it has ended, for `most_s` at most."""
    await asyncio.wait([task], timeout=most_s)
    slots.release()
