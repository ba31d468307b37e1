"""A process that recalls and stores for a server, which keeps its own interpreter for its clients.

Its server starts it, and calls its Memory through a socket that nobody else has: frames of a length and a
pickle. It ends when the server closes the socket, or dies, once what is under way is done.
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
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from zibaldone.api.config import Config
from zibaldone.api.memory import Memory
from zibaldone.core.deadline import with_time_left
from zibaldone.engine.forgetting import let_go
from zibaldone.errors import ZibaldoneError
from zibaldone.log.audit import Actor, acting
from zibaldone.recall.result import Recall
from zibaldone.server.cache_sync import let_go_of_what_others_forget
from zibaldone.server.heap import give_back_free_memory, keep_what_stands, share_heaps
from zibaldone.text.patterns import compile_all
from zibaldone.text.purgeable_cache import telling_forgettings

LENGTH = struct.Struct(">Q")  # before each pickle
READY = 0  # the number of the first answer: the memory is open
PRELOAD = "preload"  # a method of User
LET_GO = "let go"  # called where the server has forgotten something; nobody waits for its answer
FORGOTTEN = -2  # the number of an answer that nobody asked for: something was forgotten here, as by retention
_THREADS = 8
_LOOK_S = 30.0  # after which it is looked what other processes have added
_SWITCH_S = 0.0005  # so that what is stored does not wait for a recall


@dataclass(frozen=True, slots=True)
class MemoryOpening:
    """A memory to be opened. Models are taken from the environment, as the server takes them."""

    place: Path
    key: str | bytes | None = field(repr=False)  # which a command may have printed, for the server alone
    config: Config


@dataclass(frozen=True, slots=True)
class MemoryCall:
    """A method of Memory, as "recall" or "admin.stats", with its arguments; or PRELOAD or LET_GO."""

    number: int
    method: str
    options: Mapping[str, Any]
    actor: Actor


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What a call gave, or raised; or word of what nobody called for."""

    number: int
    value: Any
    failed: bool = False


def framed(value: MemoryOpening | MemoryCall | CallAnswer) -> bytes:
    """As it goes through the socket."""
    data = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def main() -> None:
    """Answer calls until the server is gone. The socket is the standard input."""
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to all of a group; the server says when to end
        signal.signal(number, signal.SIG_IGN)
    share_heaps()
    sys.setswitchinterval(_SWITCH_S)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    with socket.socket(fileno=0) as connection:
        opening = _read(connection)
        assert isinstance(opening, MemoryOpening)
        try:
            memory = Memory.from_env(opening.place, key=opening.key, config=opening.config)
        except ZibaldoneError as error:
            connection.sendall(framed(_failure(READY, error)))
            return
        with memory:
            memory.admin.start_worker(poll_s=_LOOK_S)
            compile_all()
            keep_what_stands()
            for chore in (give_back_free_memory(), let_go_of_what_others_forget(memory)):
                threading.Thread(target=asyncio.run, args=(chore,), daemon=True).start()
            connection.sendall(framed(CallAnswer(READY, None)))
            _serve(connection, memory)


def _serve(connection: socket.socket, memory: Memory) -> None:
    sending, lets_go = threading.Lock(), threading.Event()

    def send(answer: CallAnswer) -> None:
        data = framed(answer)
        try:
            with sending:
                connection.sendall(data)
        except OSError:
            pass  # nobody waits for it any more

    def answer(call: MemoryCall, came: float) -> None:
        if call.method == LET_GO:
            lets_go.clear()  # what is forgotten from now on is another call's
        send(_answer(memory, replace(call, options=with_time_left(call.options, came))))

    with (
        telling_forgettings(lambda: send(CallAnswer(FORGOTTEN, None))),
        ThreadPoolExecutor(_THREADS, thread_name_prefix="zibaldone-call") as threads,
    ):
        while (call := _read(connection)) is not None:
            assert isinstance(call, MemoryCall)
            if call.method == LET_GO:
                if lets_go.is_set():
                    continue  # the one that waits is of this, too
                lets_go.set()
            threads.submit(answer, call, time.monotonic())


def _answer(memory: Memory, call: MemoryCall) -> CallAnswer:
    try:
        if call.method == LET_GO:
            let_go(memory._database)  # noqa: SLF001 - no method of a library
            return CallAnswer(call.number, None)
        with acting(call.actor.door, call.actor.key):
            if call.method == PRELOAD:
                memory.user(call.options["user"]).preload()
                return CallAnswer(call.number, None)
            value = attrgetter(call.method)(memory)(**call.options)
        return CallAnswer(call.number, _without_scores(value) if isinstance(value, Recall) else value)
    except Exception as error:  # noqa: BLE001 - the process border: the caller raises it
        return _failure(call.number, error)


def _failure(number: int, error: Exception) -> CallAnswer:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - whatever it is that it holds
        error = RuntimeError(type(error).__name__)
    return CallAnswer(number, error, failed=True)


def _without_scores(recalled: Recall) -> Recall:
    """A trace says something of every message of the user: megabytes, of which a gateway reads little.

    It reads which messages were left out since what always holds says just the same.
    """
    standing = {unit.text.strip() for unit in recalled.evidence if unit.standing}
    left_out = (d for d in recalled.trace.decisions if not d.kept and d.evidence.text.strip() in standing)
    trace = replace(recalled.trace, views=(), decisions=tuple(left_out), within=None, without=frozenset())
    return replace(recalled, trace=trace)


def _read(connection: socket.socket) -> MemoryOpening | MemoryCall | None:
    """What comes next; None when the server is gone."""
    try:
        head = _read_bytes(connection, LENGTH.size)
        return pickle.loads(_read_bytes(connection, *LENGTH.unpack(head)))  # type: ignore[no-any-return] # noqa: S301 - of our own server
    except (EOFError, OSError):
        return None


def _read_bytes(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(min(size - len(data), 2**20))
        if not more:
            raise EOFError
        data += more
    return bytes(data)
