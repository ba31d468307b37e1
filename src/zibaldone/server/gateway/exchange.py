"""One request with memory: what is recalled for it, and what of it and its answer is stored.

Nothing here fails a request: what memory cannot do in time is left out, and the report says so.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from starlette.datastructures import Headers

from zibaldone.api.aio import AsyncMemory
from zibaldone.core.threads import in_thread
from zibaldone.errors import InvalidInput, RecallGivenUp
from zibaldone.log.filters import Filter
from zibaldone.recall.lookup import Lookup
from zibaldone.recall.result import Recall
from zibaldone.server.gateway.json_body import JsonObject
from zibaldone.server.gateway.loops import HiddenTurns, LoopRecalls, loop_key
from zibaldone.server.gateway.recording import Admitted, Recorder
from zibaldone.server.gateway.report import MemoryReport
from zibaldone.server.gateway.scope import MEMBER, MemoryOptions, MemoryScope, derived_session
from zibaldone.server.gateway.turns import WireTurn, as_partial
from zibaldone.server.gateway.wire import WireFormat
from zibaldone.server.memory_pool import DividedMemory
from zibaldone.server.metrics import Metrics
from zibaldone.server.problems import log_failure
from zibaldone.server.settings import MemoryMode
from zibaldone.text.purgeable_cache import sweeping

LONG_BYTES = 2**18  # a body from here on is read in a thread
T = TypeVar("T")
_WRITE_S = 10.0  # for which an answer waits for what is stored of it
# Recalls at once: threads of one interpreter share its lock, and all of them would end late; more where
# they wait for a database or a model elsewhere.
_AT_ONCE, _AT_ONCE_WAITING = 1, 4
_SEARCH_S = 3.0  # for a search of the model, which has nothing better to do meanwhile
_SEARCH_TOKENS = 1500
_LATE_S = 5.0  # for which a recall that is late, and still runs, holds up those that come after it
_QUIET_S = 0.25  # after an answer; a person reads it first, a program may ask at once
_MOST_LATE = 16  # recalls that nobody waits for any more, and still run: until one ends none is begun
_logger = logging.getLogger(__name__)


class BackgroundTasks:
    """What goes on when nobody waits for it any more."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin; an error that nobody sees is logged, without the words of anybody's message."""
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
        """Wait until all of it is done, or so long."""
        give_up = time.monotonic() + timeout_s
        while self._tasks and (left_s := give_up - time.monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=left_s)


@dataclass(slots=True)
class _Turn:
    """A recall's turn, which ends once: with the recall, or some time after nobody waits for it any more."""

    turns: asyncio.Semaphore
    _is_over: bool = False

    def end(self) -> None:
        """Let the next one begin."""
        if not self._is_over:
            self._is_over = True
            self.turns.release()


@dataclass(slots=True)
class Workshop:
    """What all exchanges share."""

    memory: AsyncMemory
    recorder: Recorder
    loops: LoopRecalls
    background: BackgroundTasks
    metrics: Metrics
    recall_timeout_s: float
    hidden: HiddenTurns = field(init=False)
    late: int = 0  # recalls that nobody waits for any more
    _turns: list[asyncio.Semaphore] = field(init=False)  # of each process that recalls
    _to_read: dict[str, asyncio.TimerHandle] = field(default_factory=dict)  # by user: what is read ahead soon

    def __post_init__(self) -> None:
        self.hidden = HiddenTurns(self.memory)
        at_once = _AT_ONCE if self.memory.admin.is_embedded else _AT_ONCE_WAITING
        lanes = self.memory.lanes if isinstance(self.memory, DividedMemory) else 1
        self._turns = [asyncio.Semaphore(at_once) for _ in range(lanes)]

    def turns(self, user: str) -> asyncio.Semaphore:
        """Of the process that recalls for this user."""
        return self._turns[self.memory.lane(user) if isinstance(self.memory, DividedMemory) else 0]

    def read_ahead(self, user: str, *, after_s: float) -> None:
        """Read what was stored, where another process does it and nobody waits for a recall of its.

        In the server's own it would take from those whose recall begins meanwhile. `after_s` later, unless
        the user has asked again: who asks at once would wait for it longer than it spares their recall.
        """
        if isinstance(self.memory, DividedMemory) and self.memory.admin.is_embedded:
            self.leave_unread(user)
            self._to_read[user] = asyncio.get_running_loop().call_later(after_s, self._begin_reading, user)

    def leave_unread(self, user: str) -> None:
        """The user asks now: a recall reads what was stored."""
        if (waiting := self._to_read.pop(user, None)) is not None:
            waiting.cancel()

    async def end(self, timeout_s: float) -> None:
        """Wait for what goes on in the background, or so long; nothing is read ahead afterwards."""
        await self.background.drain(timeout_s)
        for user in [*self._to_read]:
            self.leave_unread(user)

    def _begin_reading(self, user: str) -> None:
        del self._to_read[user]
        if not self.turns(user).locked():
            self.background.start(self._read_ahead(user))

    async def _read_ahead(self, user: str) -> None:
        async with self.turns(user):
            await self.memory.user(user).preload()


@dataclass(slots=True)
class GatewayExchange:
    """One request and its answer."""

    shop: Workshop
    wire: WireFormat
    body: JsonObject
    scope: MemoryScope
    options: MemoryOptions
    read_only: bool
    is_retry: bool
    is_open: Callable[[], Awaitable[bool]] | None = (
        None  # asks whether nobody needs a key; None: this one may
    )
    report: MemoryReport = field(default_factory=MemoryReport)
    admitted: Admitted = field(init=False)  # once `admit` is through
    _storing: asyncio.Task[str] | None = None
    _is_recorded: bool = False

    @property
    def may_recall(self) -> bool:
        """True if the model may be told what memory holds."""
        return self.options.enable_retrieval and self.is_open is None

    async def admit(self) -> str:
        """The body for the upstream, with what is recalled; storing of what is new begins."""
        began = time.perf_counter()
        is_long = len(self.body.text) > LONG_BYTES
        turns = await in_thread(self.wire.turns, self.body) if is_long else self.wire.turns(self.body)
        self.admitted = self._place(turns)
        self.report.session = self.admitted.session
        replaced = {}
        if self.may_recall and self.options.mode is not MemoryMode.TOOL:
            replaced = await self._recalled(turns)
        elif not self.may_recall and self.options.enable_retrieval:
            self._degrade("keys_unknown", "nothing is recalled: whether that needs a key could not be read")
        if self.options.enable_writeback and not self.read_only:
            self._storing = self.shop.background.start(self._store())
        elif self.read_only and self.options.enable_writeback:
            self.report.reasons.append("this key may only read: nothing is stored")
        self.report.ms = (time.perf_counter() - began) * 1000
        return self.body.rewritten(replaced, removed=[MEMBER]) if replaced else without_member(self.body)

    async def record(self, answer: Sequence[WireTurn], answer_id: str | None, *, is_partial: bool) -> None:
        """Have the answer stored; what fails, or takes too long, is in the report."""
        if self._is_recorded or self._storing is None:
            return
        self._is_recorded = True
        turns = [as_partial(turn) for turn in answer] if is_partial else answer
        task = self.shop.background.start(self._store_answer(self._storing, turns, answer_id))
        done, _ = await asyncio.wait([task], timeout=_WRITE_S)
        if not done:
            self._degrade("write_timeout", "storing takes longer than usual; it goes on")
        elif (error := task.exception()) is not None:
            self._degrade("write_failed", f"not stored: {reason(error)}")

    async def record_question(self) -> None:
        """Have the request's own turns stored, where no answer comes; what fails is in the report."""
        await self.record((), None, is_partial=False)

    def leave(self, answer: Sequence[WireTurn]) -> None:
        """The client is gone, or the upstream: store what has come of the answer, with nobody waiting."""
        if not self._is_recorded and self._storing is not None:
            self._is_recorded = True
            turns = [as_partial(turn) for turn in answer]
            self.shop.background.start(self._store_answer(self._storing, turns, None))

    async def _store(self) -> str:
        with self.shop.metrics.queued(), self.shop.metrics.stage("write_back"):
            if self.is_open is not None and not await self.is_open():
                raise InvalidInput("this server needs a key by now")
            leaf = await self.shop.recorder.store(self.admitted)
        if self.options.enable_retrieval:  # while the answer comes
            self.shop.read_ahead(self.scope.user, after_s=0.0)
        return leaf

    async def _store_answer(
        self, storing: asyncio.Task[str], turns: Sequence[WireTurn], answer_id: str | None
    ) -> None:
        leaf = await asyncio.shield(storing)
        with self.shop.metrics.queued(), self.shop.metrics.stage("write_back"):
            await self.shop.recorder.store_answer(self.admitted, leaf, turns, answer_id)
        if turns and self.options.enable_retrieval:
            self.shop.read_ahead(self.scope.user, after_s=_QUIET_S)

    def _place(self, turns: Sequence[WireTurn]) -> Admitted:
        before = self.wire.continues(self.body)
        earlier = self.shop.recorder.answer(self.scope, before) if before else None
        session = (
            self.scope.session
            or self.wire.conversation(self.body)
            or (earlier[0] if earlier else None)
            or self.scope.client_session
            or derived_session(turns)
        )
        return Admitted(
            scope=self.scope,
            session=session,
            turns=tuple(turns),
            turn_id=self.options.turn_id,
            after=earlier[1] if earlier and earlier[0] == session else None,
            is_retry=self.is_retry,
        )

    async def _recalled(self, turns: Sequence[WireTurn]) -> dict[str, str]:
        """The members of the body that change; none when nothing is recalled."""
        last = next((k for k in reversed(range(len(turns))) if turns[k].message.role == "user"), None)
        if last is None:
            return {}
        asking = turns[last]
        loop = loop_key(self.scope, self.admitted.session, self.options, turns[: last + 1])
        is_loop = last + 1 < len(turns)
        recall = partial(self._recall, asking, loop, is_loop=is_loop)
        recalled = await self._in_time(self.shop.recall_timeout_s, recall)
        self.report.recalled = recalled
        if not recalled:
            return {}
        given = (self.body, asking.place, recalled.quoted())
        if len(self.body.text) > LONG_BYTES:
            return dict(await in_thread(self.wire.with_memory, *given))
        return dict(self.wire.with_memory(*given))

    async def look_up(self, lookup: Lookup, narrowed: Filter, shown: frozenset[int]) -> Recall | None:
        """The passages of a search of the model, without what it has seen; None where it fails or is late."""
        limit_s = max(self.shop.recall_timeout_s, _SEARCH_S)
        if self._storing is not None:  # what the request says is then known, and not found
            await asyncio.wait([self._storing], timeout=limit_s)
        return await self._in_time(limit_s, partial(self._look_up, lookup, narrowed, shown))

    async def _look_up(self, lookup: Lookup, narrowed: Filter, shown: frozenset[int], until: float) -> Recall:
        aligned = await self.shop.recorder.aligned(self.admitted)
        return await self.shop.memory.recall(
            lookup.query,
            filter=replace(narrowed, exclude_seqs=aligned.passed | shown),
            user=self.scope.user,
            budget_tokens=_SEARCH_TOKENS,
            views=self.options.views,
            min_confidence=0,
            order=lookup.order,
            timeout_s=max(0.0, until - asyncio.get_running_loop().time()),
        )

    async def _recall(self, asking: WireTurn, loop: bytes, until: float, *, is_loop: bool) -> Recall:
        with sweeping():
            recalled = await self.shop.loops.recalled(loop) if is_loop else None
            if recalled is None:
                aligned = await self.shop.recorder.aligned(self.admitted)
                recalled = await self.shop.memory.recall(
                    asking.message.content,
                    messages=[*aligned.unknown, asking.message],
                    filter=Filter(
                        exclude_seqs=aligned.passed, agent=self.scope.agent, roles=self.options.roles
                    ),
                    user=self.scope.user,
                    budget_tokens=self.options.budget_tokens,
                    views=self.options.views,
                    timeout_s=max(0.0, until - asyncio.get_running_loop().time()),
                )
            self.shop.loops.keep(loop, self.scope.user, recalled)
        return recalled

    async def _in_time(
        self, limit_s: float, work: Callable[[float], Coroutine[Any, Any, Recall]]
    ) -> Recall | None:
        """The recall of `work`, told until when by the loop's clock; what is late stops soon."""
        shop = self.shop
        if shop.late >= _MOST_LATE:
            self._degrade("recall_busy", "nothing recalled: earlier recalls still run")
            return None
        shop.leave_unread(self.scope.user)
        turns = shop.turns(self.scope.user)
        clock = asyncio.get_running_loop().time
        until = clock() + limit_s
        too_late = f"nothing recalled within {limit_s * 1000:g} ms"
        with shop.metrics.stage("recall"):
            try:
                async with asyncio.timeout_at(until):
                    await turns.acquire()
            except TimeoutError:
                self._degrade("recall_timeout", f"{too_late}: others came first")
                return None
            task = shop.background.start(work(until))
            turn = _Turn(turns)
            task.add_done_callback(lambda _: turn.end())
            asyncio.get_running_loop().call_at(until + _LATE_S, turn.end)
            done, _ = await asyncio.wait([task], timeout=until - clock())
        if not done:
            shop.late += 1
            task.add_done_callback(lambda _: self._caught_up())
            self._degrade("recall_timeout", too_late)
            return None
        error = task.exception()
        if isinstance(error, RecallGivenUp):
            self._degrade("recall_timeout", too_late)
            return None
        if error is not None:
            self._degrade("recall_failed", f"nothing recalled: {reason(error)}")
            return None
        recalled = task.result()
        shop.metrics.recalled(recalled.tokens)
        return recalled

    def _degrade(self, figure: str, words: str) -> None:
        """Note what failed, for the client and for those who watch the server."""
        self.report.degrade(words)
        self.shop.metrics.degraded(figure)

    def _caught_up(self) -> None:
        self.shop.late -= 1


def without_member(body: JsonObject) -> str:
    """The body without what is for memory alone; as it came when it has nothing of that."""
    return body.rewritten({}, removed=[MEMBER]) if MEMBER in body else body.text


def reason(error: BaseException) -> str:
    """An error in a few words: those of what the caller got wrong, else its name."""
    return str(error) if isinstance(error, InvalidInput) else type(error).__name__


def said_again(headers: Headers) -> bool:
    """True if a client says that it sent the same request before, as the SDKs do."""
    count = headers.get("x-stainless-retry-count", "0")
    return count.isdigit() and int(count) > 0
