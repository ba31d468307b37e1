"""What a fleet needs for so many users: measured per message and call, multiplied, set against limits.

Rows and bytes are those of every table, of PostgreSQL's log and of the bucket, divided by messages. Processor
seconds are this process's and, apart, those of all of PostgreSQL's processes. What is assumed of users and of
machines is in the options and in `_LIMITS`; figures of more users than were measured are multiplied.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import func, select, text

from zibaldone.backlog import MOST_PAGES, PAGE
from zibaldone.bench.fleet.run import fleet_environment, fleet_texts
from zibaldone.bench.outcome import Measurement, Run, need
from zibaldone.bench.registry import SizingOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.memory import GATHER_S, MAINTAINED, Memory
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.bucket_blocks import bytes_in_bucket
from zibaldone.storage.schema import metadata, users, view_states
from zibaldone.testing.bucket import FakeBucketServer
from zibaldone.testing.postgres import ROLE, PostgresServer

_DAY_S = 86_400
_IN_PARTS = 50  # messages of an add that fills
_BUSY = 0.6  # of a processor, at the peak: more, and who comes waits
_LOOKS_S = 5.0  # from one look of a worker at who lags behind to the next
_COMMITS_OF_A_STEP = 8  # of a maintenance: the lease, and each view's cursor
_LOOKS = 10  # that are measured
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class TableSize:
    """One table, its indexes included."""

    table: str
    rows: int
    bytes: int
    rows_per_message: float
    bytes_per_message: float


@dataclass(frozen=True, slots=True)
class CallCost:
    """One kind of call."""

    call: str
    per: str  # what the figures are of
    calls: int
    ms: float  # that went by
    own_ms: float  # of the processor, in the calling process
    postgres_ms: float  # of the processor, in PostgreSQL's
    log_bytes: float  # of PostgreSQL's write-ahead log


@dataclass(frozen=True, slots=True)
class Limit:
    """What one machine of a usual size can do."""

    what: str
    unit: str
    one_has: float


@dataclass(frozen=True, slots=True)
class FleetSize:
    """What so many users need, at the peak hour where it is a rate."""

    users: int
    rows: float
    database_bytes: float
    bucket_bytes: float
    adds_per_s: float
    recalls_per_s: float
    servers: float  # processes
    workers: float
    postgres_processors: float
    log_bytes_per_s: float
    commits_per_s: float
    looking_s: float  # of one look at who lags behind, by one worker
    machines: dict[str, float]  # by what is limited: how many machines' worth is needed

    @property
    def saturates(self) -> str:
        """What is nearest to its limit, or furthest beyond, on one machine."""
        return max(self.machines, key=lambda what: self.machines[what])


_LIMITS = {
    "disk of the database": Limit("disk of the database", "bytes", 4e12),
    "processors of the database": Limit("processors of the database", "processors", 32 * _BUSY),
    "write-ahead log": Limit("write-ahead log", "bytes a second", 200e6),
    "commits": Limit("commits", "a second", 5_000),
    "workers' looks": Limit("workers' looks", "seconds of one look", _LOOKS_S),
}


def run(options: SizingOptions, run: Run) -> Measurement:
    """Fill, measure each kind of call, multiply."""
    need("psycopg", "obstore")
    texts = itertools.cycle(fleet_texts(options.path))
    with ExitStack() as stack:
        bucket = stack.enter_context(FakeBucketServer())
        postgres = PostgresServer(("max_connections=100", "shared_buffers=256MB"))
        stack.callback(postgres.stop)
        postgres.run(f"CREATE DATABASE sizing OWNER {ROLE}")
        stack.enter_context(fleet_environment(bucket.environment))
        views = (*MAINTAINED, "chunks") if options.chunks else MAINTAINED
        url = postgres.url("sizing")
        memory = stack.enter_context(
            Memory(url, blocks=bucket.url, embedder=None, chat=None, maintained=views, workers=1)
        )
        meter = _Meter(postgres)
        costs = list(_measured(memory, url, options, texts, meter, run))
        messages = memory.stats().messages
        meter.analyse()
        tables = _tables(memory, messages)
        database = memory._database  # noqa: SLF001
        with database.read() as connection:
            in_bucket = bytes_in_bucket(database, connection) / messages
        costs += _looks(memory, options, meter, run)
    sizes = [
        _size(number, options, tables, {cost.call: cost for cost in costs}, costs[-1], in_bucket)
        for number in options.for_users
    ]
    whole = sum(table.bytes_per_message for table in tables)
    limits = ", ".join(f"{limit.what} {limit.one_has:,.4g} {limit.unit}" for limit in _LIMITS.values())
    notes = (
        (
            f"{messages:,} messages of {options.users} users; {whole:,.0f} bytes a message in the database,"
            f" {in_bucket:,.0f} in the bucket"
        ),
        (
            f"assumed: {options.kept:,} messages kept of each user, {options.adds:g} added and"
            f" {options.recalls:g} recalls a day, {options.peak:g} times as many at the peak; a processor is"
            f" busy {_BUSY:.0%} then"
        ),
        f"one machine: {limits}",
    )
    return Measurement(
        {"tables": tables, "costs": costs, "sizes": sizes, "bucket bytes per message": in_bucket},
        [
            tabulate("rows and bytes of a message", _TABLE_COLUMNS, tables),
            tabulate("cost of a call", _COST_COLUMNS, costs),
            tabulate("what a fleet needs", _SIZE_COLUMNS, sizes),
            tabulate("how many machines' worth that is", _MACHINE_COLUMNS, sizes),
        ],
        notes,
    )


class _Meter:
    """Time, processor time of both sides, and bytes of the log, from `start` to `read`."""

    def __init__(self, postgres: PostgresServer) -> None:
        self._postgres = postgres
        self._begun = (0.0, 0.0, 0.0, 0)

    def analyse(self) -> None:
        """As autovacuum does: what a query costs depends on what is known of its tables."""
        self._postgres.run("VACUUM ANALYZE", "sizing")

    def start(self) -> None:
        self._begun = self._now()

    def read(self, call: str, per: str, calls: int) -> CallCost:
        ms, own, theirs, log = (now - then for now, then in zip(self._now(), self._begun, strict=True))
        ms, own, theirs = (1000 * figure / calls for figure in (ms, own, theirs))
        return CallCost(call, per, calls, ms, own, theirs, log / calls)

    def _now(self) -> tuple[float, float, float, int]:
        written = self._postgres.run("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")[0][0]
        return time.perf_counter(), time.process_time(), _family_s(self._postgres.pid), int(written)


def _family_s(pid: int) -> float:
    """Processor seconds of a process, and of its children that live and that have ended."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if path.parent.name == str(pid):
            total += sum(int(field) for field in fields[11:15])
        elif fields[1] == str(pid):
            total += int(fields[11]) + int(fields[12])
    return total / _TICKS_PER_S


def _measured(
    memory: Memory, url: str, options: SizingOptions, texts: Iterator[str], meter: _Meter, run: Run
) -> Iterator[CallCost]:
    names = [f"user-{number}" for number in range(options.users)]
    total = options.users * options.messages
    meter.start()
    for place, name in enumerate(names):
        run.progress("filling", place, len(names))
        for start in range(0, options.messages, _IN_PARTS):
            memory.add(
                _turns(texts, min(_IN_PARTS, options.messages - start)), user=name, session=f"s{start}"
            )
    yield meter.read("add, many at a time", "message", total)
    run.progress("maintaining", 0, 0)
    meter.start()
    memory.maintain()
    yield meter.read("maintain, many at a time", "message", total)
    meter.start()
    for place in range(options.calls):
        memory.add(next(texts), user=names[place % len(names)], session="now")
    yield meter.read("add", "message", options.calls)
    meter.start()
    touched = names[: min(len(names), options.calls)]
    for name in touched:
        memory.maintain(user=name)
    yield meter.read("maintain", "user with news", len(touched))
    chance = random.Random(0)
    asks = [" ".join(next(texts).split()[:8]) for _ in range(options.calls)]
    with Memory(url, embedder=None, chat=None) as fresh:
        meter.start()
        for name, question in zip(touched, asks, strict=False):
            fresh.recall(question, user=name)
        yield meter.read("recall, first of a user", "recall", len(touched))
        meter.start()
        for question in asks:
            fresh.recall(question, user=chance.choice(touched))
        yield meter.read("recall", "recall", len(asks))


def _looks(memory: Memory, options: SizingOptions, meter: _Meter, run: Run) -> Iterator[CallCost]:
    """What a worker's look costs beside more and more users of whom everything is read."""
    idle = 0
    for wanted in (options.idle // 10, options.idle):
        run.progress("making idle users", wanted, options.idle)
        _add_idle(memory, range(idle, wanted - options.users))  # whole pages: each look goes over as many
        idle = wanted - options.users
        meter.analyse()
        memory._backlog.look()  # noqa: SLF001 - marks are cleared
        meter.start()
        for _ in range(_LOOKS):
            memory._backlog.look()  # noqa: SLF001
        yield meter.read(f"look, {options.users + idle:,} users", "look", _LOOKS)


def _add_idle(memory: Memory, numbers: range) -> None:
    """The rows of users whom every view has read, without their messages: a look sees no more of them."""
    chosen = memory._chosen(None)  # noqa: SLF001
    for some in in_chunks(numbers, 1000):
        names = [f"idle-{number:09}" for number in some]
        counters = {"next_seq": 2, "version": 1, "deletions": 0, "behind": 0}
        state = {"generation": 1, "cursor": 1, "serving": 1, "standing": "", "chat": ""}
        with memory._database.unlocked() as connection:  # noqa: SLF001
            connection.execute(users.insert(), [{"user": name, **counters} for name in names])
            rows = [
                {"user": name, "view": view.name, "fingerprint": view.fingerprint, **state}
                for name in names
                for view in chosen
            ]
            connection.execute(view_states.insert(), rows)


def _turns(texts: Iterator[str], count: int) -> list[Message]:
    return [Message(content=next(texts), role=("user", "assistant")[place % 2]) for place in range(count)]


def _tables(memory: Memory, messages: int) -> list[TableSize]:
    sizes = []
    with memory._database.read() as connection:  # noqa: SLF001
        for table in metadata.sorted_tables:
            rows = connection.execute(select(func.count()).select_from(table)).scalar_one()
            size = connection.execute(
                text("SELECT pg_total_relation_size(CAST(:name AS regclass))"), {"name": table.name}
            ).scalar_one()
            if rows:
                sizes.append(TableSize(table.name, rows, size, rows / messages, size / messages))
    return sorted(sizes, key=lambda size: -size.bytes)


def _size(
    number: int,
    options: SizingOptions,
    tables: list[TableSize],
    costs: dict[str, CallCost],
    look: CallCost,
    in_bucket: float,
) -> FleetSize:
    kept = number * options.kept
    adds = number * options.adds * options.peak / _DAY_S
    recalls = number * options.recalls * options.peak / _DAY_S
    add, maintain = costs["add"], costs["maintain"]
    warm, cold = costs["recall"], costs["recall, first of a user"]
    first = min(1.0, 1 / max(options.recalls, 1e-9))  # of a day's recalls: the user's index is not there yet
    recall_own = first * cold.own_ms + (1 - first) * warm.own_ms
    recall_theirs = first * cold.postgres_ms + (1 - first) * warm.postgres_ms
    steps = adds / options.turns  # a maintenance takes in what is said within seconds
    postgres = (adds * add.postgres_ms + recalls * recall_theirs + steps * maintain.postgres_ms) / 1000
    # A look goes over a page of all users, and over those who are marked: from what they say until the next.
    looked_at = min(number, PAGE) + min(steps * (_LOOKS_S + GATHER_S), MOST_PAGES * PAGE)
    looking_s = looked_at / PAGE * (look.own_ms + look.postgres_ms) / 1000  # both wait for each other
    workers = steps * maintain.own_ms / 1000 / _BUSY
    postgres += max(workers, 1) * looked_at / PAGE * look.postgres_ms / 1000 / _LOOKS_S
    needs = {
        "disk of the database": kept * sum(table.bytes_per_message for table in tables),
        "processors of the database": postgres,
        "write-ahead log": adds * add.log_bytes + steps * maintain.log_bytes,
        "commits": adds + steps * _COMMITS_OF_A_STEP,
        "workers' looks": looking_s,
    }
    return FleetSize(
        users=number,
        rows=kept * sum(table.rows_per_message for table in tables),
        database_bytes=needs["disk of the database"],
        bucket_bytes=kept * in_bucket,
        adds_per_s=adds,
        recalls_per_s=recalls,
        servers=(adds * add.own_ms + recalls * recall_own) / 1000 / _BUSY,
        workers=workers,
        postgres_processors=needs["processors of the database"] / _BUSY,
        log_bytes_per_s=needs["write-ahead log"],
        commits_per_s=needs["commits"],
        looking_s=looking_s,
        machines={what: need / _LIMITS[what].one_has for what, need in needs.items()},
    )


def _of_bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} PB"


_TABLE_COLUMNS = (
    Column("table", lambda row: row.table, left=True),
    Column("rows", lambda row: row.rows, ","),
    Column("MB", lambda row: row.bytes / 1e6, ",.1f"),
    Column("rows\na message", lambda row: row.rows_per_message, ".2f"),
    Column("bytes\na message", lambda row: row.bytes_per_message, ",.0f"),
)
_COST_COLUMNS = (
    Column("call", lambda row: row.call, left=True),
    Column("of a", lambda row: row.per, left=True),
    Column("calls", lambda row: row.calls, ","),
    Column("ms", lambda row: row.ms, ",.3f"),
    Column("processor ms\nof ours", lambda row: row.own_ms, ",.3f"),
    Column("of\nPostgreSQL", lambda row: row.postgres_ms, ",.3f"),
    Column("log\nbytes", lambda row: row.log_bytes, ",.0f"),
)
_SIZE_COLUMNS = (
    Column("users", lambda row: row.users, ","),
    Column("rows", lambda row: row.rows, ".2g"),
    Column("database", lambda row: _of_bytes(row.database_bytes)),
    Column("bucket", lambda row: _of_bytes(row.bucket_bytes)),
    Column("adds\na s", lambda row: row.adds_per_s, ",.1f"),
    Column("recalls\na s", lambda row: row.recalls_per_s, ",.1f"),
    Column("server\nprocesses", lambda row: row.servers, ",.1f"),
    Column("worker\nprocesses", lambda row: row.workers, ",.1f"),
    Column("processors\nof PostgreSQL", lambda row: row.postgres_processors, ",.1f"),
    Column("log\na s", lambda row: _of_bytes(row.log_bytes_per_s)),
    Column("one\nlook, s", lambda row: row.looking_s, ",.2f"),
)
_MACHINE_COLUMNS = (
    Column("users", lambda row: row.users, ","),
    *(Column(what, partial(lambda what, row: row.machines[what], what), ",.2f") for what in _LIMITS),
    Column("saturates first", lambda row: row.saturates, left=True),
)
