"""A pool of processes that recall and add for the gateway, each for its share of the users.

One interpreter does one thing at a time: in the server's own, a recall of tens of milliseconds would hold up
every stream and every other recall. A user's index is in the memory of one process only. All other methods
are calls of the server's own Memory.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from zibaldone.api import settings
from zibaldone.api.aio import AsyncMemory, wrapped
from zibaldone.core import Message
from zibaldone.core.child_process import started
from zibaldone.core.deadline import with_time_left
from zibaldone.core.telemetry import carried
from zibaldone.core.threads import in_thread
from zibaldone.errors import StorageUnreachable
from zibaldone.log import audit
from zibaldone.server.pool_process import (
    LENGTH,
    READY,
    CallAnswer,
    MemoryCall,
    MemoryOpening,
    framed,
)
from zibaldone.views.unit_cache import index_bytes

_COMMAND = "from zibaldone.server.pool_process import main; main()"
_STOP_S = 10.0  # for the calls under way in a process that is to end
_RESTART_DELAY_S = 1.0  # between two starts of a process that ends by itself
T = TypeVar("T")
_logger = logging.getLogger(__name__)


class _Ended(StorageUnreachable):
    """A process ended before it answered."""


class MemoryPool(AsyncMemory):
    """An AsyncMemory whose recalls and adds run in the pool. For one event loop.

    Recalls come without the scores of messages that were not chosen (`why_not`).
    """

    def __init__(self, memory: AsyncMemory, place: Path, processes: int) -> None:
        """`memory` is the server's own, opened at `place`; its owner closes it."""
        self._inner = wrapped(memory)
        config = self._inner._wiring.config  # noqa: SLF001 - as that memory was opened
        share_mb = max(1, index_bytes(config.index_mb) // processes // 10**6)
        opening = MemoryOpening(place, settings.key(), replace(config, background=False, index_mb=share_mb))
        self._processes = [_Process(opening, number) for number in range(processes)]

    @property
    def size(self) -> int:
        """Number of processes."""
        return len(self._processes)

    def process_of(self, user: str) -> int:
        """Return the index of the process that serves a user."""
        digest = blake2b(user.encode(errors="surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest) % len(self._processes)

    async def start(self) -> None:
        """Wait until all processes have opened the memory. Raises what Memory raises."""
        await asyncio.gather(*(process.connected() for process in self._processes))

    async def close(self) -> None:
        """End the processes after the calls under way."""
        await asyncio.gather(*(process.close() for process in self._processes))

    async def _for_user(self, method: Callable[..., T], **options: Any) -> T:
        """Call in the user's process; if it ends meanwhile, messages that have ids are stored from here."""
        process = self._processes[self.process_of(str(options["user"]))]
        try:
            value: T = await process.call(method.__name__, options)
        except _Ended:
            if method.__name__ != "add" or not _have_ids(options["messages"]):
                raise
            return await super()._for_user(method, **options)
        return value


class _Process:
    """One process of the pool, started again after it has ended."""

    def __init__(self, opening: MemoryOpening, number: int) -> None:
        self._opening, self._number = opening, number
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._calls = READY
        self._retry_at = 0.0
        self._is_closed = False

    async def call(self, method: str, options: Mapping[str, Any]) -> Any:
        """Return the method's value. Raises what it raises, and _Ended."""
        received = time.monotonic()
        writer = await self.connected()
        self._calls += 1
        number = self._calls
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            left = with_time_left(options, received)
            writer.write(framed(MemoryCall(number, method, left, audit.actor(), carried())))
            return await future
        finally:
            self._waiting.pop(number, None)

    async def connected(self) -> asyncio.StreamWriter:
        """Return the connection after the process has opened the memory; starts it if it does not run."""
        if self._writer is not None:
            return self._writer
        async with self._starting:
            if self._writer is None:
                if self._is_closed or time.monotonic() < self._retry_at:
                    raise _Ended("the process that recalls for this user ended: it is started again")
                self._retry_at = time.monotonic() + _RESTART_DELAY_S
                await self._start()
            assert self._writer is not None
            return self._writer

    async def close(self) -> None:
        """End the process after the calls under way."""
        self._is_closed = True
        async with self._starting:
            if self._writer is not None:
                self._writer.close()
            await self._join()
            if self._reading is not None:
                await asyncio.wait([self._reading])

    async def _start(self) -> None:
        await self._join()  # the process that has ended
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await in_thread(_start_process, theirs, self._opening)
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(framed(self._opening))
        try:
            opened = await _next_answer(reader)
            if opened.failed:
                raise opened.value
        except BaseException as error:
            writer.close()
            await self._join()
            if isinstance(error, EOFError):
                raise _Ended("a process that recalls ended before it had opened the memory") from error
            raise
        self._writer = writer
        self._reading = asyncio.create_task(self._read(reader, writer))

    async def _join(self) -> None:
        if self._process is not None:
            await in_thread(_wait_or_kill, self._process)

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                answer = await _next_answer(reader)
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


async def _next_answer(reader: asyncio.StreamReader) -> CallAnswer:
    head = await reader.readexactly(LENGTH.size)
    answer: CallAnswer = pickle.loads(await reader.readexactly(*LENGTH.unpack(head)))  # noqa: S301 - of our own process
    return answer


def _start_process(theirs: socket.socket, opening: MemoryOpening) -> subprocess.Popen[bytes]:
    also = settings.read_by_others(opening.place, opening.config.blocks)
    return started(["-c", _COMMAND], also=also, stdin=theirs.fileno(), stdout=subprocess.DEVNULL)


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
