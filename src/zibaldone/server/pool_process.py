"""A process of the memory pool: opens the memory and answers calls of the server's process.

The server starts it and sends calls through a socket that only these two have: frames of a length and a
pickle. It ends when the server closes the socket or dies, after the calls under way.

Workers of `concurrent.futures` would not do: each answers one call at a time, has the server's whole
environment with its secrets, and outlives a server that is killed.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from zibaldone.api.config import Config
from zibaldone.api.memory import Memory
from zibaldone.core.deadline import with_time_left
from zibaldone.core.telemetry import continuing
from zibaldone.errors import ZibaldoneError
from zibaldone.log.audit import Actor, acting
from zibaldone.recall.result import Recall
from zibaldone.server.chores import export_telemetry, freeze_objects, share_heaps, sync_caches
from zibaldone.views.user_cache import users_held

LENGTH = struct.Struct(">Q")  # before each pickle
READY = 0  # number of the first answer: the memory is open
_THREADS = 8
_POLL_S = 30.0  # between two scans for messages that other processes have added
_SWITCH_S = 0.0005  # so that an add does not wait for a recall


@dataclass(frozen=True, slots=True)
class MemoryOpening:
    """The memory to open. Models come from the environment, as in the server."""

    place: Path
    key: str | bytes | None = field(repr=False)  # may come from a command that only the server can run
    config: Config


@dataclass(frozen=True, slots=True)
class MemoryCall:
    """A call of a method of Memory, such as "recall"."""

    number: int
    method: str
    options: Mapping[str, Any]
    actor: Actor
    carrier: Mapping[str, str] = field(default_factory=dict)  # names the span that it is part of


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The value or the error of a call."""

    number: int
    value: Any
    failed: bool = False


def framed(value: MemoryOpening | MemoryCall | CallAnswer) -> bytes:
    """Return the bytes that go through the socket."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def main() -> None:
    """Answer calls from the socket that is the standard input until the server is gone."""
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the whole process group: the server ends it
        signal.signal(number, signal.SIG_IGN)
    share_heaps()
    sys.setswitchinterval(_SWITCH_S)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    export_telemetry()
    with socket.socket(fileno=0) as connection, connection.makefile("rb") as calls:
        opening = _read(calls)
        assert isinstance(opening, MemoryOpening)
        try:
            memory = Memory.from_env(opening.place, key=opening.key, config=opening.config)
        except ZibaldoneError as error:
            connection.sendall(framed(_failure(READY, error)))
            return
        with memory:
            memory.admin.start_worker(poll_s=_POLL_S)
            freeze_objects()
            threading.Thread(target=asyncio.run, args=(sync_caches(memory),), daemon=True).start()
            connection.sendall(framed(CallAnswer(READY, None)))
            answer_calls(connection, calls, memory)


def answer_calls(connection: socket.socket, calls: BinaryIO, memory: Memory) -> None:
    """Answer calls until the server is gone; while nobody waits, take in what was added."""
    sending = threading.Lock()
    under_way: set[int] = set()  # numbers of calls
    added: dict[str, None] = {}  # users to whom was added

    def send(answer: CallAnswer) -> None:
        data = framed(answer)
        try:
            with sending:
                connection.sendall(data)
        except OSError:
            pass  # the server is gone

    def answer(call: MemoryCall, received: float) -> None:
        send(answer_call(memory, replace(call, options=with_time_left(call.options, received))))
        under_way.discard(call.number)
        if call.method == "add":
            added[call.options["user"]] = None
        while added and not under_way:  # the one who spoke last first
            with suppress(KeyError):  # another thread has taken the last
                _preload(memory, added.popitem()[0])

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="zibaldone-call") as threads:
        while (call := _read(calls)) is not None:
            assert isinstance(call, MemoryCall)
            under_way.add(call.number)
            threads.submit(answer, call, time.monotonic())


def _preload(memory: Memory, user: str) -> None:
    """Take what was added into the index of a user who recalls here, so that the next recall need not."""
    if user in users_held():
        with suppress(ZibaldoneError):  # who recalls next is told
            memory.user(user).preload()


def answer_call(memory: Memory, call: MemoryCall) -> CallAnswer:
    """Call the memory; an error becomes a failed answer."""
    try:
        with continuing(call.carrier), acting(call.actor.door, call.actor.key):
            value = getattr(memory, call.method)(**call.options)
        return CallAnswer(call.number, _without_scores(value) if isinstance(value, Recall) else value)
    except Exception as error:  # noqa: BLE001 - the process border: the caller raises it
        return _failure(call.number, error)


def _failure(number: int, error: Exception) -> CallAnswer:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - any error that cannot be pickled
        error = RuntimeError(type(error).__name__)
    return CallAnswer(number, error, failed=True)


def _without_scores(recalled: Recall) -> Recall:
    """Drop the trace's scores of every message, which are megabytes; the gateway reads little of a trace.

    It reads which messages were left out because standing evidence says the same.
    """
    standing = {unit.text.strip() for unit in recalled.evidence if unit.standing}
    left_out = (d for d in recalled.trace.decisions if not d.kept and d.evidence.text.strip() in standing)
    trace = replace(
        recalled.trace, views=(), decisions=tuple(left_out), within=None, without=frozenset(), shared={}
    )
    return replace(recalled, trace=trace)


def _read(calls: BinaryIO) -> MemoryOpening | MemoryCall | None:
    """Read the next call; None if the server is gone."""
    try:
        calls.read(LENGTH.size)
        return pickle.load(calls)  # type: ignore[no-any-return] # noqa: S301 - of our own server
    except (EOFError, OSError, pickle.UnpicklingError):  # the last: it ended within a call
        return None
