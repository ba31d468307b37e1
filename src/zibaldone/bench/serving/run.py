"""What the gateway costs: the same conversations with it and without, side by side in one run.

An arm is what the upstream is sent: the `turn` alone; the `session` so far; `full`, the history too, as far
as the window goes; `gateway`, the session by way of the gateway; and `same`, the very prompts that the
gateway made of it, straight to the upstream. What a request spends outside of the upstream is known exactly,
since all processes share one clock: *added* is that of the gateway less the median of `same`. What the
upstream takes for the longer prompts is no part of it: it stands beside it.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from zibaldone.bench.outcome import Measurement, Run, need
from zibaldone.bench.registry import ServingOptions
from zibaldone.bench.serving.audit import ACKNOWLEDGED, audit
from zibaldone.bench.serving.load import (
    Phase,
    Replay,
    Sample,
    ServedTalk,
    Wish,
    Worker,
    again,
    drive,
    history_turns,
    send,
)
from zibaldone.bench.serving.processes import ServerProcess, free_port
from zibaldone.bench.serving.report import ARMS, FirstRecalls, ServingRow, Soak, measurement
from zibaldone.bench.serving.upstream import Served
from zibaldone.bench.serving.users import Exchange, ServedUser, read_users
from zibaldone.bench.serving.wire import Connection
from zibaldone.bench.stats import percentile
from zibaldone.errors import InvalidInput
from zibaldone.memory import Memory

ROUNDS = 2
LEAST_REQUESTS = 4  # of a worker in a round
BATCH = 500  # messages per call when importing
WARM_S = 60.0  # for a user's first recalls, until memory answers in time
_SERVE = "from zibaldone.cli.app import app; app()"


@dataclass(slots=True)
class _Arm:
    samples: list[Sample] = field(default_factory=list)
    served: dict[str, Served] = field(default_factory=dict)
    tokens: float = 0.0
    seconds: float = 0.0
    cpu_s: float = 0.0

    def outside_ms(self) -> list[float]:
        """Between client and upstream, on the way there and back, of the requests that went well."""
        return [
            1000 * (served.received - sample.sent + sample.first - served.first)
            for sample, served in self._pairs()
        ]

    def upstream_ms(self) -> list[float]:
        """Of the time to the first token, the upstream's own: its prefill, and what waits for it."""
        return [1000 * (served.first - served.received) for _, served in self._pairs()]

    def end_ms(self) -> list[float]:
        """From when the upstream had ended its answer until the client had its end."""
        return [1000 * (sample.ended - served.ended) for sample, served in self._pairs()]

    def memory_ms(self) -> list[float]:
        """What the gateway says that memory held the request up."""
        return [sample.memory_ms for sample in _well(self.samples) if sample.memory_ms is not None]

    def _pairs(self) -> list[tuple[Sample, Served]]:
        pairs = ((sample, self.served.get(sample.request)) for sample in _well(self.samples))
        return [(sample, served) for sample, served in pairs if served]


class _Bench:
    def __init__(self, options: ServingOptions, run: Run, users: list[ServedUser]) -> None:
        self.options, self.run, self.users = options, run, users
        self.arms: dict[tuple[str, int], _Arm] = {}
        self.remembered: list[Sample] = []  # all that went through the gateway
        self.windows = (
            {user.name: history_turns(user, options.window) for user in users} if self._has("full") else {}
        )

    def _has(self, arm: str) -> bool:
        return arm in self.options.arms

    def measure(self, upstream: ServerProcess, gateway: ServerProcess | None) -> None:
        """All arms at all concurrencies, arm by arm in each round."""
        for concurrency in self.options.concurrency:
            each = max(-(-self.options.requests // (concurrency * ROUNDS)), LEAST_REQUESTS)
            for turn in range(ROUNDS):
                exchanges = {
                    user.name: list(islice(user.exchanges, each)) for user in self.users[:concurrency]
                }
                made: dict[str, Served] = {}
                for arm in self.options.arms:
                    self.run.progress(f"{arm}, {concurrency} at a time", turn, ROUNDS)
                    if arm != "same":
                        few = max(each // 2, 2) if arm == "full" else each
                        workers = self._talks(arm, f"{arm}-{concurrency}-{turn}", exchanges, few)
                    else:
                        workers = self._replays(f"same-{concurrency}-{turn}", concurrency, made)
                    served = self._phase(arm, concurrency, workers, upstream, gateway)
                    made = served if arm == "gateway" else made

    def _talks(self, arm: str, phase: str, exchanges: Mapping[str, list[Exchange]], few: int) -> list[Worker]:
        return [
            ServedTalk(
                user,
                phase,
                iter(exchanges[user.name][:few]),
                self.options.turns,
                before=self.windows[user.name] if arm == "full" else (),
                alone=arm == "turn",
            )
            for user in self.users
            if user.name in exchanges
        ]

    def _replays(self, phase: str, concurrency: int, made: Mapping[str, Served]) -> list[Worker]:
        by_user: dict[str, list[Wish]] = {user.name: [] for user in self.users[:concurrency]}
        for sample in self.arms["gateway", concurrency].samples:
            served = made.get(sample.request)
            if served and served.body and sample.fault is None:
                original = Wish(
                    sample.request, sample.user, sample.session, sample.question, sample.answer, b""
                )
                by_user[sample.user].append(again(original, served.body, phase))
        return [Replay(iter(wishes)) for wishes in by_user.values()]

    def _phase(
        self,
        arm: str,
        concurrency: int,
        workers: list[Worker],
        upstream: ServerProcess,
        gateway: ServerProcess | None,
    ) -> dict[str, Served]:
        total = self.arms.setdefault((arm, concurrency), _Arm())
        through = gateway if arm == "gateway" else None
        cpu_s = through.cpu_s() if through else 0.0

        async def whole() -> tuple[Phase, list[Served]]:
            await _reset(upstream, keep=arm == "gateway")
            port = through.port if through else upstream.port
            apart_s = self.options.answer / self.options.rate  # an answer's time
            phase = await drive(port, workers, memory=through is not None, apart_s=apart_s)
            return phase, await _records(upstream)

        phase, records = asyncio.run(whole())
        served = {record.request: record for record in records}
        total.samples += phase.samples
        total.served |= served
        total.tokens += phase.tokens
        total.seconds += phase.seconds
        if through:
            total.cpu_s += through.cpu_s() - cpu_s
            self.remembered += phase.samples
        return served

    def first_recalls(self, gateway: ServerProcess) -> FirstRecalls:
        """One user after the other asks until memory answers in time."""

        async def until_remembered(user: ServedUser) -> tuple[bool, float]:
            began = time.monotonic()
            talk = ServedTalk(user, "first", user.exchanges, self.options.turns)
            connection = Connection(gateway.port)
            tries = 0
            while time.monotonic() - began < WARM_S:
                wanted = talk.next_wish()
                assert wanted is not None
                headers = {"X-Memory-User": wanted.user, "X-Memory-Session": wanted.session}
                sample = await send(connection, wanted, headers)
                talk.hear(sample)
                self.remembered.append(sample)
                tries += 1
                if sample.fault is not None or sample.memory == ACKNOWLEDGED:
                    break
            connection.close()
            return tries == 1, 1000 * (time.monotonic() - began)

        results = []
        for done, user in enumerate(self.users):
            self.run.progress("first recalls", done, len(self.users))
            results.append(asyncio.run(until_remembered(user)))
        times = [ms for _, ms in results]
        return FirstRecalls(
            len(results), sum(first for first, _ in results), percentile(times, 50), max(times)
        )

    def soak(self, upstream: ServerProcess, gateway: ServerProcess) -> Soak:
        """As many at a time as there are users."""
        seconds = 60 * self.options.minutes
        resident: list[int] = []

        async def whole() -> tuple[Phase, list[Served]]:
            await _reset(upstream, keep=False)
            deadline = time.monotonic() + seconds

            async def watch() -> None:
                while True:
                    resident.append(gateway.resident_bytes())
                    self.run.progress("soak, seconds", len(resident), int(seconds))
                    await asyncio.sleep(1)

            watching = asyncio.create_task(watch())
            talks = [
                ServedTalk(
                    user,
                    "soak",
                    user.exchanges,
                    self.options.turns,
                    until=lambda: time.monotonic() > deadline,
                )
                for user in self.users
            ]
            phase = await drive(gateway.port, talks, memory=True, apart_s=1.0)
            watching.cancel()
            return phase, await _records(upstream)

        phase, records = asyncio.run(whole())
        resident.append(gateway.resident_bytes())
        self.remembered += phase.samples
        arm = _Arm(
            sorted(phase.samples, key=lambda sample: sample.sent),
            {record.request: record for record in records},
        )
        outside = arm.outside_ms()
        quarter = max(len(outside) // 4, 1)
        half = len(resident) // 2
        turns = max(len(arm.samples), 1)  # two messages each, so in the second half as many messages
        return Soak(
            minutes=self.options.minutes,
            concurrency=len(self.users),
            requests=len(arm.samples),
            failures=_failures(arm.samples),
            degraded=_degraded(arm.samples),
            added_p50_ms=percentile(outside, 50),
            added_p95_ms=percentile(outside, 95),
            first_quarter_p50_ms=percentile(outside[:quarter], 50),
            last_quarter_p50_ms=percentile(outside[-quarter:], 50),
            memory_bytes=(resident[0], resident[half], resident[-1]),
            growth_bytes_per_turn=(resident[-1] - resident[half]) / turns,
        )

    def rows(self) -> list[ServingRow]:
        """In the order in which they were measured."""
        return [self._row(arm, concurrency) for arm, concurrency in self.arms]

    def _row(self, name: str, concurrency: int) -> ServingRow:
        arm = self.arms[name, concurrency]
        first_token = [1000 * (sample.first - sample.sent) for sample in _well(arm.samples)]
        outside = arm.outside_ms()
        same = self.arms.get(("same", concurrency))
        floor = percentile(same.outside_ms(), 50) if same and name == "gateway" else None
        ends, upstream, memory = arm.end_ms(), arm.upstream_ms(), arm.memory_ms()
        short = self._shortest_prompts(concurrency) if name == "gateway" else None
        served = list(arm.served.values())
        following = [record for record in served if record.previous_tokens]
        return ServingRow(
            arm=name,
            concurrency=concurrency,
            requests=len(arm.samples),
            failures=_failures(arm.samples),
            degraded=_degraded(arm.samples) if name == "gateway" else 0,
            first_token_p50_ms=percentile(first_token, 50),
            first_token_p95_ms=percentile(first_token, 95),
            outside_p50_ms=percentile(outside, 50),
            outside_p95_ms=percentile(outside, 95),
            added_p50_ms=None if floor is None else percentile(outside, 50) - floor,
            added_p95_ms=None if floor is None else percentile(outside, 95) - floor,
            tokens_per_s=arm.tokens / arm.seconds if arm.seconds else 0.0,
            prompt_tokens=_mean(record.prompt_tokens for record in served),
            cached_tokens=_mean(record.cached_tokens for record in served),
            shared_tokens=_mean(record.shared_tokens for record in following) if following else None,
            shared_prefix=_mean(record.shared_tokens / record.previous_tokens for record in following)
            if following
            else None,
            memory_p50_ms=percentile(memory, 50) if memory else None,
            memory_p95_ms=percentile(memory, 95) if memory else None,
            upstream_p50_ms=percentile(upstream, 50),
            upstream_p95_ms=percentile(upstream, 95),
            longer_prompt_ms=None if short is None else percentile(upstream, 50) - short,
            end_p50_ms=percentile(ends, 50),
            end_p95_ms=percentile(ends, 95),
            server_cpu_ms=1000 * arm.cpu_s / max(len(arm.samples), 1) if name == "gateway" else None,
        )

    def _shortest_prompts(self, concurrency: int) -> float | None:
        """What the upstream takes for prompts without memory: of the session, or of the turn alone."""
        for name in ("session", "turn"):
            if arm := self.arms.get((name, concurrency)):
                return percentile(arm.upstream_ms(), 50)
        return None


def run(options: ServingOptions, run: Run) -> Measurement:
    """Import, serve, load, count."""
    unknown = [arm for arm in options.arms if arm not in ARMS]
    if unknown:
        raise InvalidInput(f"--arms {unknown[0]!r} is not one of {', '.join(ARMS)}")
    if "same" in options.arms and "gateway" not in options.arms[: options.arms.index("same")]:
        raise InvalidInput("--arms 'same' sends what the gateway made: name 'gateway' before it")
    remembers = "gateway" in options.arms
    if remembers:
        need("starlette", "uvicorn", "httpx2")
    users = read_users(options.paths, max(options.concurrency), options.history, options.answer)
    bench = _Bench(options, run, users)
    with _upstream(options, run.folder) as upstream:
        if not remembers:
            bench.measure(upstream, None)
            return measurement(options, bench.rows())
        served = _prepared(options, run, users)
        with _gateway(upstream, served, run.folder, options.processes) as gateway:
            first = bench.first_recalls(gateway)
            bench.measure(upstream, gateway)
            soak = bench.soak(upstream, gateway) if options.minutes else None
    return measurement(options, bench.rows(), first, soak, audit(served, bench.remembered))


def _prepared(options: ServingOptions, run: Run, users: Sequence[ServedUser]) -> Path:
    """A folder to serve, with the users' histories."""
    imported = options.memory or run.folder / "imported"
    with Memory(imported) as memory:
        for done, user in enumerate(users):
            run.progress("importing histories", done, len(users))
            stored = memory.stats(user=user.name).messages if user.name in memory.users() else 0
            if stored not in (0, len(user.history)):
                raise InvalidInput(f"--memory {str(imported)!r} holds another import: name another folder")
            for start in range(0 if not stored else len(user.history), len(user.history), BATCH):
                memory.add(user.history[start : start + BATCH], user=user.name)
            memory.maintain(user=user.name)
    served = run.folder / "served"
    shutil.copytree(imported, served)
    return served


def _upstream(options: ServingOptions, folder: Path) -> ServerProcess:
    port = free_port()
    rates = ["--prefill", str(options.prefill), "--rate", str(options.rate)]
    cache = ["--prefix-cache"] if options.prefix_cache else []
    command = ["-m", "zibaldone.bench.serving.upstream", "--port", str(port), *rates, *cache]
    return ServerProcess(command, port, "/v1/models", folder / "upstream.log")


def _gateway(upstream: ServerProcess, memory: Path, folder: Path, processes: int) -> ServerProcess:
    port = free_port()
    url = f"http://127.0.0.1:{upstream.port}/v1"
    command = ["-c", _SERVE, "serve", "--memory", str(memory), "--upstream", url, "--port", str(port)]
    command += ["--processes", str(processes)]
    return ServerProcess(command, port, "/healthz", folder / "gateway.log")


async def _reset(upstream: ServerProcess, *, keep: bool) -> None:
    connection = Connection(upstream.port)
    await connection.ask("POST", "/reset", {"keep": keep})
    connection.close()


async def _records(upstream: ServerProcess) -> list[Served]:
    connection = Connection(upstream.port)
    records = await connection.ask("GET", "/records")
    connection.close()
    return [Served(**record) for record in records]


def _well(samples: Iterable[Sample]) -> Iterator[Sample]:
    return (sample for sample in samples if sample.fault is None and sample.first)


def _failures(samples: Iterable[Sample]) -> int:
    return sum(sample.fault is not None for sample in samples)


def _degraded(samples: Iterable[Sample]) -> int:
    return sum(sample.memory != ACKNOWLEDGED for sample in samples)


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return sum(given) / len(given) if given else 0.0
