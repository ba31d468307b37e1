"""The soak: start a fleet, load it, kill what can be killed, and count."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from zibaldone.bench.fleet.audit import FleetAudit, audit
from zibaldone.bench.fleet.load import FleetLoad, FleetUser
from zibaldone.bench.fleet.members import Chaos, FleetProcess
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Run, need
from zibaldone.bench.registry import FleetOptions
from zibaldone.bench.serving.processes import free_port
from zibaldone.bench.stats import percentile
from zibaldone.bench.table import Column, tabulate
from zibaldone.bench.workload import made_up_turns
from zibaldone.memory import MAINTAINED, Memory
from zibaldone.storage.bucket_blocks import bytes_in_bucket
from zibaldone.testing.bucket import FakeBucketServer
from zibaldone.testing.postgres import ROLE, PostgresServer

_PROGRAM = "from zibaldone.cli.app import app; app()"
_SETTINGS = ("max_connections=600", "shared_buffers=128MB")  # of PostgreSQL
_LEASE_S = 15.0
_POLL_S = 2.0
_ERROR_SHARE = 0.02  # of the bucket's requests


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One kind of request, as clients saw it; times are from the first attempt to the answer."""

    operation: str
    requests: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    worst_ms: float
    again: int  # requests that needed more than one attempt


@dataclass(frozen=True, slots=True)
class FleetCounts:
    """What must not happen, as clients saw it while it ran."""

    foreign: int  # codes of other users in an answer
    undead: int  # codes whose forgetting had been acknowledged before
    unseen: int  # recalls of an acknowledged message by its code that did not bring it
    given_up: int  # requests that nobody answered for minutes
    crashes: int  # tracebacks in the logs of servers and workers


def run(options: FleetOptions, run: Run) -> Measurement:
    """Measure."""
    need("starlette", "uvicorn", "psycopg", *([] if options.no_bucket else ["obstore"]))
    texts = fleet_texts(options.path)
    users = [FleetUser(number) for number in range(options.users)]
    with ExitStack() as stack:
        bucket = None if options.no_bucket else stack.enter_context(FakeBucketServer(seed=options.seed))
        postgres = PostgresServer(_SETTINGS)
        stack.callback(postgres.stop)
        postgres.run(f"CREATE DATABASE fleet OWNER {ROLE}")
        url = postgres.url("fleet")
        stack.enter_context(fleet_environment(bucket.environment if bucket else {}))
        blocks = bucket.url if bucket else None
        views = MAINTAINED if bucket is None else (*MAINTAINED, "chunks")
        with Memory(url, blocks=blocks, embedder=None, chat=None):
            pass  # tables, and the bucket's name
        databases = [postgres]
        if options.replica:
            databases.append(PostgresServer(_SETTINGS, standby_of=postgres))
            stack.callback(databases[1].stop)
            stack.enter_context(fleet_environment({"ZIBALDONE_REPLICA": databases[1].url("fleet")}))
        members = _members(options, run, url, views)
        for member in members:
            stack.callback(member.stop)
            member.start()
        for member in members:
            run.progress(f"starting {member.name}", 0, 0)
            member.wait_until_ready()
        servers = [member for member in members if member.port]
        load = FleetLoad(users, servers, texts, clients=options.clients, seed=options.seed)
        for user in users[: options.regulars]:
            run.progress("filling histories", user.number, options.regulars)
            load.fill(user, options.history)
        load.requests.clear()
        if bucket is not None:
            bucket.error_share = _ERROR_SHARE
        chaos = Chaos(
            members, databases, bucket, kill_s=options.kill_s, restart_s=options.restart_s, seed=options.seed
        )
        before = {member: member.cpu_s() for member in members}
        began = time.monotonic()
        load.start()
        chaos.start()
        while (passed := time.monotonic() - began) < 60 * options.minutes and chaos.failure is None:
            run.progress(
                f"{len(load.requests)} requests, {chaos.done.total()} blows",
                round(passed),
                60 * round(options.minutes),
            )
            time.sleep(1)
        load.stop()
        seconds = time.monotonic() - began
        chaos.stop()
        with Memory(url, embedder=None, chat=None) as memory:
            audited = audit(memory, users, views, options.wait_s, run.progress)
            database = memory._database  # noqa: SLF001
            with database.read() as connection:
                in_bucket = bytes_in_bucket(database, connection)
            on_disk = memory.stats().bytes_on_disk
        used = {
            kind: sum(member.cpu_s() - before[member] for member in members if bool(member.port) == is_server)
            for kind, is_server in (("servers", True), ("workers", False))
        }
        crashes = [crash for member in members for crash in member.crashes()]
        counts = FleetCounts(load.foreign, load.undead, load.unseen, load.given_up, len(crashes))
    rows = _rows(load, seconds)
    blows = dict(chaos.done) | ({"bucket errors": bucket.misbehaved} if bucket else {})
    figures = {
        "fleet": rows,
        "seconds": seconds,
        "counts": counts,
        "audit": audited,
        "blows": blows,
        "failed attempts": dict(load.failures),
        "processor seconds": used,
        "examples": [*load.examples[:20], *crashes[:20]],
        "bytes": {"all": on_disk, "in the bucket": in_bucket},
    }
    title = (
        f"{options.servers} servers, {options.workers} workers, {options.users} users, {options.clients}"
        f" clients, {options.minutes:g} minutes"
    )
    return Measurement(figures, [tabulate(title, _COLUMNS, rows)], tuple(_notes(figures, counts, audited)))


def _members(options: FleetOptions, run: Run, url: str, views: tuple[str, ...]) -> list[FleetProcess]:
    members = []
    for number in range(options.servers):
        port = free_port()
        words = ["serve", "--memory", url, "--port", str(port), "--requests-per-minute", "0"]
        members.append(FleetProcess(f"server-{number}", ["-c", _PROGRAM, *words], run.folder, port))
    for number in range(options.workers):
        words = ["worker", "--memory", url, "--lease", str(_LEASE_S), "--poll", str(_POLL_S)]
        words += [word for view in views for word in ("--view", view)]
        members.append(FleetProcess(f"worker-{number}", ["-c", _PROGRAM, *words], run.folder))
    return members


def fleet_texts(path: Path | None) -> list[str]:
    """Real turns, or made-up ones."""
    if path is None:
        return [message.content for message in made_up_turns()]
    conversations = LoCoMoQuestions(path)
    return [m.content for user in conversations.users() for m in conversations.messages(user)]


@contextmanager
def fleet_environment(values: Mapping[str, str]) -> Iterator[None]:
    """For this process and those that it starts."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _rows(load: FleetLoad, seconds: float) -> list[OperationRow]:
    rows = []
    for operation in (*sorted({request.operation for request in load.requests}), "all"):
        those = [r for r in load.requests if operation in (r.operation, "all")]
        times = [request.ms for request in those]
        rows.append(
            OperationRow(
                operation,
                len(those),
                len(those) / seconds,
                percentile(times, 50),
                percentile(times, 95),
                percentile(times, 99),
                max(times, default=0.0),
                sum(request.attempts > 1 for request in those),
            )
        )
    return rows


def _notes(figures: Mapping[str, object], counts: FleetCounts, audited: FleetAudit) -> Iterator[str]:
    for name in ("blows", "failed attempts", "processor seconds", "bytes"):
        held = figures[name]
        assert isinstance(held, dict)
        words = ", ".join(f"{what} {amount:,.0f}" for what, amount in sorted(held.items()))
        yield f"{name}: {words or 'none'}"
    yield (
        f"acknowledged {audited.acknowledged:,}, forgotten {audited.forgotten:,}, uncertain"
        f" {audited.uncertain:,}; no view behind {audited.caught_up_s:.0f} s after the load"
    )
    shown = audited.undead + counts.undead
    yield (
        f"lost {audited.lost}, doubled {audited.doubled}, another's {audited.foreign + counts.foreign}, there"
        f" after it was forgotten {shown}, sent by nobody {audited.unknown}, out of order {audited.gaps}"
    )
    yield (
        f"acknowledged and not recalled {counts.unseen}, requests given up {counts.given_up}, views behind"
        f" for good {audited.behind}, faults {len(audited.faults)}, tracebacks {counts.crashes}"
    )
    examples = figures["examples"]
    assert isinstance(examples, list)
    yield from (*examples, *audited.faults[:10])


_COLUMNS = (
    Column("operation", lambda row: row.operation, left=True),
    Column("requests", lambda row: row.requests, ","),
    Column("per s", lambda row: row.per_second, ".1f"),
    Column("p50\nms", lambda row: row.p50_ms, ",.0f"),
    Column("p95\nms", lambda row: row.p95_ms, ",.0f"),
    Column("p99\nms", lambda row: row.p99_ms, ",.0f"),
    Column("worst\nms", lambda row: row.worst_ms, ",.0f"),
    Column("sent\nagain", lambda row: row.again, ","),
)
