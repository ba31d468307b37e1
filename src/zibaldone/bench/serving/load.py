"""Sends what users say, so many at a time, and notes when the first token came and the last."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from zibaldone.bench.serving.accelerator import count_tokens
from zibaldone.bench.serving.upstream import MODEL
from zibaldone.bench.serving.users import Exchange, ServedUser, is_of_user
from zibaldone.bench.serving.wire import Connection, read_events
from zibaldone.core import MACHINES

PATH = "/v1/chat/completions"
SYSTEM = (
    "You are a helpful assistant who answers in plain words. Say so when you do not know something. Keep to"
    " what the user wants to know, and do not repeat the question. Units are metric, dates are written out."
)
_TIMEOUT_S = 120.0  # of a request

Turn = Mapping[str, str]  # a message of a request


@dataclass(frozen=True, slots=True)
class Sample:
    """One request as its client saw it; moments in seconds of the monotonic clock."""

    request: str  # its name, by which the upstream knows it too
    user: str
    session: str
    question: str
    answer: str  # what came of it
    sent: float
    first: float  # 0: no token came
    ended: float
    memory: str | None  # X-Memory-Status
    reason: str | None  # why memory was not there, where the server says so
    memory_ms: float | None  # by which the server says that memory held the request up
    fault: str | None  # None: the answer came whole, and is the one that was to come

    @property
    def tokens(self) -> int:
        """Of the answer."""
        return count_tokens(self.answer)


@dataclass(frozen=True, slots=True)
class Phase:
    """One arm at one concurrency, once."""

    samples: tuple[Sample, ...]
    began: float  # when the last worker had begun
    ended: float  # when the first worker had nothing left: up to here all were busy

    @property
    def tokens(self) -> float:
        """Of answers, that came while all were busy."""
        return sum(sample.tokens * self._share(sample) for sample in self.samples)

    @property
    def seconds(self) -> float:
        """How long all were busy."""
        return max(self.ended - self.began, 0.0)

    def _share(self, sample: Sample) -> float:
        if sample.ended <= sample.first:
            return 0.0
        inside = min(sample.ended, self.ended) - max(sample.first, self.began)
        return max(inside, 0.0) / (sample.ended - sample.first)


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that is to be sent."""

    request: str
    user: str
    session: str
    question: str
    answer: str  # what is to come
    body: bytes


class Worker(Protocol):
    """What one client sends, one request after the other."""

    def next_wish(self) -> Wish | None:
        """None: nothing is left."""

    def hear(self, sample: Sample) -> None:
        """What came of it, before the next."""


@dataclass(slots=True)
class ServedTalk:
    """One user's conversation in the making: its turns, in sessions of a few exchanges."""

    user: ServedUser
    phase: str
    exchanges: Iterator[Exchange]
    turns_per_session: int
    before: Sequence[Turn] = ()  # what stands before the session: the history, for whoever has no memory
    alone: bool = False  # only the last turn is sent
    until: Callable[[], bool] = lambda: False  # whether it is over
    _session: list[Turn] = field(default_factory=list)
    _count: int = 0

    def next_wish(self) -> Wish | None:
        exchange = None if self.until() else next(self.exchanges, None)
        if exchange is None:
            return None
        if self._count % self.turns_per_session == 0:
            self._session = []
        number, self._count = self._count, self._count + 1
        turn = {"role": "user", "content": exchange.question}
        shown = [turn] if self.alone else [*self.before, *self._session, turn]
        self._session.append(turn)
        return _wish(
            f"{self.phase}/{self.user.name}/{number}",
            self.user.name,
            f"{self.phase}/{number // self.turns_per_session}",
            exchange,
            [{"role": "system", "content": SYSTEM}, *shown],
        )

    def hear(self, sample: Sample) -> None:
        if sample.answer:
            self._session.append({"role": "assistant", "content": sample.answer})
        else:
            self._session.pop()


@dataclass(slots=True)
class Replay:
    """Requests that are made already."""

    wishes: Iterator[Wish]

    def next_wish(self) -> Wish | None:
        return next(self.wishes, None)

    def hear(self, sample: Sample) -> None:
        """It changes nothing."""


def _wish(request: str, user: str, session: str, exchange: Exchange, messages: Sequence[Turn]) -> Wish:
    """A request in the chat completions' shape; the upstream answers with its prediction."""
    body = {
        "model": MODEL,
        "messages": messages,
        "stream": True,
        "prediction": {"type": "content", "content": exchange.answer},
        "metadata": _metadata(request, user),
    }
    return Wish(request, user, session, exchange.question, exchange.answer, json.dumps(body).encode())


def _metadata(request: str, user: str) -> dict[str, str]:
    return {"request": request, "conversation": f"{request.split('/')[0]}/{user}"}


def again(given: Wish, body: str, phase: str) -> Wish:
    """The same request with another body: what a gateway made of it, under a name of its own."""
    value = json.loads(body)
    request = f"{phase}/{given.request.partition('/')[2]}"
    value["metadata"] = _metadata(request, given.user)
    return replace(given, request=request, body=json.dumps(value).encode())


def history_turns(user: ServedUser, window_tokens: int) -> list[Turn]:
    """The last turns of the history that a model's window holds."""
    turns: list[Turn] = []
    left = window_tokens
    people = next((message.speaker for message in user.history if message.role not in MACHINES), "")
    for message in reversed(user.history):
        left -= count_tokens(message.content)
        if left < 0:
            break
        role = "user" if is_of_user(message, people) else "assistant"
        turns.append({"role": role, "content": message.content})
    return turns[::-1]


async def send(connection: Connection, wanted: Wish, headers: Mapping[str, str]) -> Sample:
    """One request, to its end. What goes wrong is the sample's fault, and is never raised."""
    sent = time.monotonic()
    heard = _Heard()
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            await heard.listen(connection, wanted, headers)
    except (OSError, EOFError, ValueError, TimeoutError) as error:
        connection.close()
        heard.fault = f"{type(error).__name__}: {error}"
    if heard.fault is None and heard.text != wanted.answer:
        heard.fault = f"another answer came: {heard.text[:80]!r}"
    return Sample(
        request=wanted.request,
        user=wanted.user,
        session=wanted.session,
        question=wanted.question,
        answer=heard.text,
        sent=sent,
        first=heard.first,
        ended=time.monotonic(),
        memory=heard.memory,
        reason=heard.reason,
        memory_ms=heard.memory_ms,
        fault=heard.fault,
    )


@dataclass(slots=True)
class _Heard:
    text: str = ""
    first: float = 0.0
    memory: str | None = None
    reason: str | None = None
    memory_ms: float | None = None
    fault: str | None = None

    async def listen(self, connection: Connection, wanted: Wish, headers: Mapping[str, str]) -> None:
        head, pieces = await connection.send("POST", PATH, wanted.body, headers)
        status = head.headers.get("x-memory-status")
        if status is not None:
            self.memory, _, reason = status.partition(";")
            self.memory = self.memory.strip()
            self.reason = head.headers.get("x-memory-reason") or reason.strip() or None
        if head.status != 200:
            body = b"".join([piece async for piece in pieces])
            self.fault = f"status {head.status}: {body[:200].decode(errors='replace')}"
            return
        texts = []
        ended = False
        async for data in read_events(pieces):
            if data == "[DONE]":
                ended = True
                continue
            value = json.loads(data)
            self._look_at(value)
            for choice in value.get("choices", []):
                if text := choice["delta"].get("content"):
                    self.first = self.first or time.monotonic()
                    texts.append(text)
        self.text = "".join(texts)
        if not ended:
            self.fault = self.fault or "the stream has no end"

    def _look_at(self, value: Mapping[str, Any]) -> None:
        """A fault in the stream, or what the gateway says of its memory at the end."""
        if "error" in value:
            self.fault = f"error in the stream: {value['error']}"
        memory = value.get("memory")
        if isinstance(memory, dict) and "status" in memory:
            self.memory = str(memory["status"])
            self.reason = memory.get("reason") or self.reason
            self.memory_ms = memory.get("ms")


async def drive(port: int, workers: Sequence[Worker], *, memory: bool, apart_s: float = 0.0) -> Phase:
    """All workers side by side; their first requests are spread over a time. With memory, a scope is sent."""
    ends: list[float] = []
    began = time.monotonic()

    async def work(number: int, worker: Worker) -> list[Sample]:
        await asyncio.sleep(apart_s * number / len(workers))
        connection = Connection(port)
        samples = []
        while wanted := worker.next_wish():
            headers = {"X-Memory-User": wanted.user, "X-Memory-Session": wanted.session} if memory else {}
            sample = await send(connection, wanted, headers)
            samples.append(sample)
            worker.hear(sample)
        connection.close()
        ends.append(time.monotonic())
        return samples

    done = await asyncio.gather(*(work(number, worker) for number, worker in enumerate(workers)))
    samples = tuple(sample for ours in done for sample in ours)
    return Phase(samples, began + apart_s * (len(workers) - 1) / len(workers), min(ends))
