"""AsyncMemory whose recalls and adds go on in other processes: each user's in one of them.

One interpreter does one thing at a time: a recall of tens of milliseconds holds up every stream that passes
meanwhile, and recalls hold up each other. A user's index is in the memory of their process alone. Everything
else, and what is only read from rows, is done by the memory that this one stands before.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from zibaldone import settings
from zibaldone.api.aio import AsyncMemory, wrapped
from zibaldone.core import Message
from zibaldone.core.child_process import started
from zibaldone.core.deadline import with_time_left
from zibaldone.core.threads import in_thread
from zibaldone.engine.forgetting import let_go
from zibaldone.errors import StorageUnreachable, ZibaldoneError
from zibaldone.log import audit
from zibaldone.server.pool_process import (
    FORGOTTEN,
    LENGTH,
    LET_GO,
    PRELOAD,
    READY,
    CallAnswer,
    MemoryCall,
    MemoryOpening,
    framed,
)
from zibaldone.text.purgeable_cache import emptied
from zibaldone.views.unit_cache import index_bytes

_COMMAND = "from zibaldone.server.pool_process import main; main()"
_ENDS_S = 10.0  # for what is under way in a process that is to end
_AGAIN_S = 1.0  # between two starts of a process that ends by itself
T = TypeVar("T")
_logger = logging.getLogger(__name__)


class _Ended(StorageUnreachable):
    """A process ended before it answered."""


class DividedMemory(AsyncMemory):
    """For a gateway: what it recalls has no scores of what was not chosen (`why_not`). Of one event loop."""

    def __init__(
        self,
        memory: AsyncMemory,
        place: Path,
        processes: int,
    ) -> None:
        """Before `memory`, which was opened at this place, and is closed by whoever opened it."""
        self._inner = wrapped(memory)
        config = self._inner._wiring.config  # noqa: SLF001 - as that memory was opened
        share_mb = max(1, index_bytes(config.index_mb) // processes // 10**6)
        opening = MemoryOpening(place, settings.key(), replace(config, background=False, index_mb=share_mb))
        self._processes = [_Process(opening, number, self._forgotten_there) for number in range(processes)]
        self._letting_go: asyncio.Task[None] | None = None
        self._lets_go_again = False
        emptied(self)

    @property
    def lanes(self) -> int:
        """How many processes there are."""
        return len(self._processes)

    def lane(self, user: str) -> int:
        """Which of them a user's is: the same one always."""
        digest = blake2b(user.encode(errors="surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest) % len(self._processes)

    async def start(self) -> None:
        """Wait until all processes have opened the memory. Raises what opening it raises."""
        await asyncio.gather(*(process.connected() for process in self._processes))

    async def close(self) -> None:
        """End the processes, once they have done what they are at."""
        await asyncio.gather(*(process.close() for process in self._processes))
        if self._letting_go is not None:
            await asyncio.wait([self._letting_go])

    def cache_clear(self) -> None:
        """Something was forgotten: no process keeps words of it."""
        for process in self._processes:
            process.tell(LET_GO)

    def _forgotten_there(self) -> None:
        """A process has forgotten something by itself: neither this one nor the others keep words of it."""
        self._lets_go_again = True
        if self._letting_go is None or self._letting_go.done():
            self._letting_go = asyncio.get_running_loop().create_task(self._let_go())

    async def _let_go(self) -> None:
        while self._lets_go_again:
            self._lets_go_again = False
            try:
                await in_thread(let_go, self._inner._database)  # noqa: SLF001 - no method of a library
            except ZibaldoneError as error:
                _logger.warning("what was forgotten is still in memory (%s)", type(error).__name__)

    async def _for_user(self, method: Callable[..., T], **options: Any) -> T:
        """In the user's process; where it ends meanwhile, messages that have ids are stored here."""
        process = self._processes[self.lane(str(options["user"]))]
        try:
            value: T = await process.call(method.__name__, options)
        except _Ended:
            if method.__name__ != "add" or not _have_ids(options["messages"]):
                raise
            return await super()._for_user(method, **options)
        return value

    async def _preload(self, user: str) -> None:
        await self._processes[self.lane(user)].call(PRELOAD, {"user": user})


class _Process:
    """One of them, started anew when it has ended."""

    def __init__(
        self,
        opening: MemoryOpening,
        number: int,
        forgotten: Callable[[], None],
    ) -> None:
        """`forgotten` is called when it has forgotten something that nobody here told it to."""
        self._opening, self._number = opening, number
        self._forgotten = forgotten
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._calls = READY
        self._not_before = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    async def call(self, method: str, options: Mapping[str, Any]) -> Any:
        """What the method gives there. Raises what it raises, and _Ended."""
        since = time.monotonic()
        writer = await self.connected()
        self._calls += 1
        answered = self._waiting[self._calls] = asyncio.get_running_loop().create_future()
        number = self._calls
        try:
            left = with_time_left(options, since)
            writer.write(framed(MemoryCall(number, method, left, audit.actor())))
            return await answered
        finally:
            self._waiting.pop(number, None)

    def tell(self, method: str) -> None:
        """Call without waiting, from any thread; nothing where it does not run."""

        def write() -> None:
            if self._writer is not None:
                self._writer.write(framed(MemoryCall(-1, method, {}, audit.actor())))

        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: so are the processes
                self._loop.call_soon_threadsafe(write)

    async def connected(self) -> asyncio.StreamWriter:
        """The way to it, once it has opened the memory."""
        if self._writer is not None:
            return self._writer
        async with self._starting:
            if self._writer is None:
                if self._is_closed or time.monotonic() < self._not_before:
                    raise _Ended("the process that recalls for this user ended: it is started again")
                self._not_before = time.monotonic() + _AGAIN_S
                await self._start()
            assert self._writer is not None
            return self._writer

    async def close(self) -> None:
        """End it."""
        self._is_closed = True
        async with self._starting:
            if self._writer is not None:
                self._writer.close()
            if self._process is not None:
                await in_thread(_ended, self._process)
            if self._reading is not None:
                await asyncio.wait([self._reading])

    async def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._process is not None:  # which has ended
            await in_thread(_ended, self._process)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await in_thread(_begun, theirs, self._opening)
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(framed(self._opening))
        try:
            opened = await _next(reader)
        except BaseException as error:
            writer.close()
            await in_thread(_ended, self._process)
            if isinstance(error, EOFError):
                raise _Ended("a process that recalls ended before it had opened the memory") from error
            raise
        if opened.failed:
            writer.close()
            await in_thread(_ended, self._process)
            raise opened.value
        self._writer = writer
        self._reading = asyncio.create_task(self._read(reader, writer))

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                answer = await _next(reader)
                if answer.number == FORGOTTEN:
                    self._forgotten()
                    continue
                waiting = self._waiting.get(answer.number)
                if waiting is None or waiting.done():
                    continue
                if answer.failed:
                    waiting.set_exception(answer.value)
                else:
                    waiting.set_result(answer.value)
        except (EOFError, OSError):
            if not self._is_closed:
                _logger.warning("memory process %d ended by itself: it is started again", self._number)
        finally:
            self._writer = None
            writer.close()
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(
                        _Ended("the user's process ended meanwhile: whether anything was stored is not known")
                    )


def _have_ids(messages: object) -> bool:
    return isinstance(messages, list | tuple) and all(isinstance(m, Message) and m.id for m in messages)


async def _next(reader: asyncio.StreamReader) -> CallAnswer:
    head = await reader.readexactly(LENGTH.size)
    answer: CallAnswer = pickle.loads(await reader.readexactly(*LENGTH.unpack(head)))  # noqa: S301 - of our own process
    return answer


def _begun(theirs: socket.socket, opening: MemoryOpening) -> subprocess.Popen[bytes]:
    also = settings.read_by_others(opening.place, opening.config.blocks)
    return started(["-c", _COMMAND], also=also, stdin=theirs.fileno(), stdout=subprocess.DEVNULL)


def _ended(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
