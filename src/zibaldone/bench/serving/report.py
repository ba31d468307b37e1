"""The figures of a load, and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from zibaldone.bench.outcome import Measurement
from zibaldone.bench.registry import ServingOptions
from zibaldone.bench.serving.audit import Audit
from zibaldone.bench.table import Column, percent, tabulate

ARMS = ("turn", "session", "full", "gateway", "same")


@dataclass(frozen=True, slots=True)
class ServingRow:
    """One arm at one concurrency, all rounds together. Times without failures."""

    arm: str
    concurrency: int
    requests: int
    failures: int
    degraded: int  # of the gateway's: memory was not there
    first_token_p50_ms: float
    first_token_p95_ms: float
    outside_p50_ms: float  # of the time to the first token, what was not the upstream's
    outside_p95_ms: float
    added_p50_ms: float | None  # None: not the gateway's
    added_p95_ms: float | None
    tokens_per_s: float  # of answers, while all were busy
    prompt_tokens: float  # mean
    cached_tokens: float  # mean: what the upstream's prefix cache had
    shared_tokens: float | None  # mean: that a prompt begins with as the one before it did
    shared_prefix: float | None  # of the conversation's prompt before, the share that the next begins with
    memory_p50_ms: float | None  # by which memory held requests up, as the gateway says it
    memory_p95_ms: float | None
    upstream_p50_ms: float  # of the time to the first token, the upstream's own
    upstream_p95_ms: float
    longer_prompt_ms: float | None  # of the upstream's, what it takes longer than without memory (medians)
    end_p50_ms: float  # from the end of the upstream's answer to the client's: the answer is stored meanwhile
    end_p95_ms: float
    server_cpu_ms: float | None  # of the gateway's process per request


@dataclass(frozen=True, slots=True)
class Soak:
    """A long load through the gateway."""

    minutes: float
    concurrency: int
    requests: int
    failures: int
    degraded: int
    added_p50_ms: float  # outside of the upstream, all of it
    added_p95_ms: float
    first_quarter_p50_ms: float
    last_quarter_p50_ms: float
    memory_bytes: tuple[int, int, int]  # resident: at the beginning, in the middle, at the end
    growth_bytes_per_turn: float  # in the second half


@dataclass(frozen=True, slots=True)
class FirstRecalls:
    """The first requests of users to a server that has just begun: their memory is read in."""

    users: int
    in_time: int
    ready_p50_ms: float  # from the first request to the end of the first that had memory
    ready_max_ms: float


_COLUMNS = (
    Column("arm", lambda row: row.arm, left=True),
    Column("at a\ntime", lambda row: row.concurrency),
    Column("re-\nquests", lambda row: row.requests),
    Column("fail-\nures", lambda row: row.failures),
    Column("de-\ngraded", lambda row: row.degraded),
    Column("first token\np50 ms", lambda row: row.first_token_p50_ms, ".0f"),
    Column("\np95 ms", lambda row: row.first_token_p95_ms, ".0f"),
    Column("outside\np50 ms", lambda row: row.outside_p50_ms, ".1f"),
    Column("\np95 ms", lambda row: row.outside_p95_ms, ".1f"),
    Column("added\np50 ms", lambda row: row.added_p50_ms, ".1f"),
    Column("\np95 ms", lambda row: row.added_p95_ms, ".1f"),
    Column("tokens\nper s", lambda row: row.tokens_per_s, ".1f"),
    Column("prompt\ntokens", lambda row: row.prompt_tokens, ".0f"),
    Column("cached", lambda row: row.cached_tokens, ".0f"),
    Column("shared", lambda row: row.shared_tokens, ".0f"),
    Column("CPU\nms", lambda row: row.server_cpu_ms, ".1f"),
)


_SPLIT = (
    Column("at a\ntime", lambda row: row.concurrency),
    Column("memory\np50 ms", lambda row: row.memory_p50_ms, ".1f"),
    Column("\np95 ms", lambda row: row.memory_p95_ms, ".1f"),
    Column("all added\np50 ms", lambda row: row.added_p50_ms, ".1f"),
    Column("\np95 ms", lambda row: row.added_p95_ms, ".1f"),
    Column("upstream\np50 ms", lambda row: row.upstream_p50_ms, ".1f"),
    Column("of it for the\nlonger prompt", lambda row: row.longer_prompt_ms, ".1f"),
    Column("at the end\np50 ms", lambda row: row.end_p50_ms, ".1f"),
    Column("\np95 ms", lambda row: row.end_p95_ms, ".1f"),
)


@dataclass(frozen=True, slots=True)
class _Ratios:
    """Tokens per second through the gateway, to those of the other arms."""

    concurrency: int
    to: Mapping[str, float]


def measurement(
    options: ServingOptions,
    rows: Sequence[ServingRow],
    first: FirstRecalls | None = None,
    soak: Soak | None = None,
    counted: Audit | None = None,
) -> Measurement:
    tables = [tabulate("serving", _COLUMNS, rows)]
    figures: dict[str, object] = {"rows": rows}
    if remembered := [row for row in rows if row.arm == "gateway"]:
        tables.append(tabulate("what memory takes, and what longer prompts take", _SPLIT, remembered))
    if ratios := _ratios(rows):
        tables.append(_ratio_table(ratios))
        figures["throughput"] = {ratio.concurrency: ratio.to for ratio in ratios}
    cache = "on" if options.prefix_cache else "off"
    upstream = (
        f"upstream: prefill {options.prefill:g} tokens/s, one prompt at a time; {options.rate:g} tokens/s of"
        f" each stream; prefix cache {cache}; answers of {options.answer} tokens at most;"
        f" {options.history:,} messages of history of each user"
    )
    notes = [upstream]
    if first is not None:
        figures["first_recalls"] = first
        notes.append(
            f"first requests after the start: {first.in_time} of {first.users} users had memory at once; it"
            f" was there after {first.ready_p50_ms:.0f} ms (median), {first.ready_max_ms:.0f} ms at most"
        )
    if soak is not None:
        figures["soak"] = soak
        began, middle, ended = (size / 1e6 for size in soak.memory_bytes)
        notes.append(
            f"soak: {soak.minutes:g} minutes, {soak.concurrency} at a time: {soak.requests} requests,"
            f" {soak.failures} failures, {soak.degraded} degraded; outside p50 {soak.added_p50_ms:.1f} ms,"
            f" p95 {soak.added_p95_ms:.1f} ms (first quarter p50 {soak.first_quarter_p50_ms:.1f}, last"
            f" {soak.last_quarter_p50_ms:.1f}); resident {began:.0f} -> {middle:.0f} -> {ended:.0f} MB,"
            f" {soak.growth_bytes_per_turn / 1000:.1f} kB a turn in the second half"
        )
    if counted is not None:
        figures["audit"] = counted
        notes.append(
            f"log: {counted.acknowledged} turns acknowledged, {counted.lost} lost, {counted.doubled} doubled,"
            f" {counted.foreign} that nobody said; of {counted.unacknowledged} others"
            f" {counted.of_those_stored} stored"
        )
    return Measurement(figures, tables, tuple(notes))


def _ratios(rows: Sequence[ServingRow]) -> list[_Ratios]:
    speeds = {(row.arm, row.concurrency): row.tokens_per_s for row in rows}
    return [
        _Ratios(
            row.concurrency,
            {
                arm: row.tokens_per_s / speeds[arm, row.concurrency]
                for arm in ARMS
                if arm != "gateway" and speeds.get((arm, row.concurrency))
            },
        )
        for row in rows
        if row.arm == "gateway"
    ]


def _ratio_table(ratios: Sequence[_Ratios]) -> Table:
    arms = [arm for arm in ARMS if arm in ratios[0].to]
    columns = [Column("at a time", lambda row: row.concurrency)]
    columns += [_ratio_column(arm) for arm in arms]
    return tabulate("tokens per second through the gateway, to those of", columns, ratios)


def _ratio_column(arm: str) -> Column:
    return Column(arm, lambda row: percent(row.to.get(arm)))
