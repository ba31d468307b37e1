"""Streams facts into systems, asks every question at every budget, and judges what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Protocol, cast, runtime_checkable

from rich.table import Table

from zibaldone.bench.base import Cost, Equipment, System
from zibaldone.bench.consolidation.facts import HOPS, ChainQuestion, Stream, Streaming, Wordings, make_stream
from zibaldone.bench.consolidation.judging import Judgement, Marked, judge, nothing_marked
from zibaldone.bench.consolidation.natural import NATURAL, natural_rows, natural_table, spread
from zibaldone.bench.outcome import Measurement, Progress, Run, silent
from zibaldone.bench.registry import ConsolidationOptions
from zibaldone.bench.stats import Mean, percentile
from zibaldone.bench.systems import check_systems, make_system
from zibaldone.bench.table import Column, budget, tabulate

SINGLE, MULTI = "single-hop", "multi-hop"
_USER = "facts"
_FREE = Cost()


@runtime_checkable
class Marking(Protocol):
    """A system whose contexts say of some facts that they no longer hold."""

    def marked(self, line: str, sentence: str) -> bool:
        """Whether this sentence of this line of a context is marked as superseded."""


def marks_of(system: System) -> Marked:
    """How this system marks what is superseded; not at all unless it says so."""
    return system.marked if isinstance(system, Marking) else nothing_marked


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """One question asked of one system at one budget."""

    id: str
    hops: int
    question: str
    answer: str
    system: str
    streaming: Streaming
    stream_tokens: int
    budget_tokens: int | None  # None: the system was given no budget
    tokens: int
    ms: float
    judgement: Judgement
    wordings: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Load:
    """What it took a system to take in a stream."""

    system: str
    streaming: Streaming
    stream_tokens: int
    facts: int
    seconds: float
    cost: Cost
    wordings: str = ""


def evaluate(
    stream: Stream,
    systems: Sequence[str],
    budgets_tokens: Sequence[int],
    tools: Equipment,
    *,
    streaming: Streaming = "chunks",
    progress: Progress = silent,
) -> tuple[list[JudgedQuestion], list[Load]]:
    """Every (system, question, budget), one system at a time; loading is timed by itself."""
    messages = stream.messages(tools.tokenizer, streaming)
    questions = (*stream.single_hop, *stream.multi_hop)
    records: list[JudgedQuestion] = []
    loads = []
    for name in systems:
        progress(f"{name}: loading {stream.tokens:,} tokens", 0, 0)
        system = make_system(name, tools)
        try:
            start = time.perf_counter()
            cost = system.load(_USER, messages) or _FREE
            seconds = time.perf_counter() - start
            loads.append(Load(name, streaming, stream.tokens, len(stream.facts), seconds, cost))
            system.recall(_USER, questions[0].text, budgets_tokens[0])  # warm
            for done, question in enumerate(questions):
                progress(f"{name}, {stream.tokens:,} tokens", done, len(questions))
                budgets = budgets_tokens if system.budgeted else budgets_tokens[:1]
                records += [_ask(system, question, budget, stream, streaming) for budget in budgets]
        finally:
            system.close()
    return records, loads


def _ask(
    system: System, question: ChainQuestion, budget: int, stream: Stream, streaming: Streaming
) -> JudgedQuestion:
    start = time.perf_counter()
    context = system.recall(_USER, question.text, budget)
    ms = (time.perf_counter() - start) * 1000
    return JudgedQuestion(
        id=question.id,
        hops=question.hops,
        question=question.text,
        answer=question.answer,
        system=system.name,
        streaming=streaming,
        stream_tokens=stream.tokens,
        budget_tokens=budget if system.budgeted else None,
        tokens=context.tokens,
        ms=round(ms, 3),
        judgement=judge(question, context.text, marks_of(system)),
    )


@dataclass(frozen=True, slots=True)
class ConsolidationRow:
    """One system at one budget on one stream, over the questions of one kind. Shares are from 0 to 1."""

    kind: str  # SINGLE or MULTI
    system: str
    streaming: str
    stream_tokens: int
    budget_tokens: int | None
    wordings: str
    questions: int
    correct: Mean | None  # every current link there, and no superseded value that is not marked
    of_seeds: tuple[float, ...]  # the same, stream by stream
    complete: Mean | None  # every current link there
    links: float  # share of the current links that are there
    stale: float  # share of the questions with a superseded value that is not marked
    marked: float  # share of the questions with a superseded value that is marked
    complete_by_hops: dict[int, float | None]
    tokens_mean: float
    p50_ms: float


def run(options: ConsolidationOptions, run: Run) -> Measurement:
    """Streams of each kind, size and seed, and every system on each; those in people's own words first."""
    systems, tools = check_systems(options.systems), run.tools(options.floor)
    seeds = range(options.seed, options.seed + options.seeds)
    templates = [one for one in options.wordings if one != NATURAL]
    natural = []
    if NATURAL in options.wordings:
        natural = natural_rows(tools, systems, options.budget, seeds, run.progress)
    records: list[JudgedQuestion] = []
    loads: list[Load] = []
    # Words that are no Streaming or Wordings are refused where they are used.
    streaming = cast("Streaming", options.streaming)
    for wordings, length, seed in product(templates, options.sizes, seeds):
        drawn = cast("Wordings", wordings)
        stream = make_stream(seed, length, tools.tokenizer, options.questions, drawn)
        judged, took = evaluate(
            stream, systems, options.budget, tools, streaming=streaming, progress=run.progress
        )
        records += [replace(one, stream_tokens=length, wordings=wordings, seed=seed) for one in judged]
        loads += [replace(one, stream_tokens=length, wordings=wordings) for one in took]
    rows = make_rows(records)
    figures = {
        "seeds": list(seeds),
        "natural": natural,
        "rows": rows,
        "loads": loads,
        "records": records,
    }
    shown = [natural_table(natural)] if natural else []
    return Measurement(figures, [*shown, *(tables(rows, loads) if rows else ())])


def make_rows(records: Sequence[JudgedQuestion]) -> tuple[ConsolidationRow, ...]:
    """One row per stream, kind of question, system and budget, in the order in which they were asked."""
    groups: dict[tuple[str, int, str, str, str, int | None], list[JudgedQuestion]] = {}
    for record in records:
        kind = SINGLE if record.hops == 1 else MULTI
        place = (record.wordings, record.system, record.budget_tokens)
        key = (kind, record.stream_tokens, record.streaming, *place)
        groups.setdefault(key, []).append(record)
    return tuple(_row(key[0], group) for key, group in groups.items())


def _row(kind: str, records: Sequence[JudgedQuestion]) -> ConsolidationRow:
    judged = [record.judgement for record in records]
    first = records[0]
    by_hops = {hops: [record.judgement for record in records if record.hops == hops] for hops in HOPS}
    return ConsolidationRow(
        kind=kind,
        system=first.system,
        streaming=first.streaming,
        stream_tokens=first.stream_tokens,
        budget_tokens=first.budget_tokens,
        wordings=first.wordings,
        questions=len(records),
        of_seeds=tuple(
            _share(
                [one.judgement for one in records if one.seed == seed], lambda judgement: judgement.correct
            )
            for seed in dict.fromkeys(record.seed for record in records)
        ),
        correct=Mean.of([float(judgement.correct) for judgement in judged]),
        complete=Mean.of([float(judgement.complete) for judgement in judged]),
        links=sum(judgement.current for judgement in judged) / sum(judgement.links for judgement in judged),
        stale=_share(judged, lambda judgement: judgement.stale > 0),
        marked=_share(judged, lambda judgement: judgement.marked > 0),
        complete_by_hops={
            hops: _share(of, lambda judgement: judgement.complete) if of else None
            for hops, of in by_hops.items()
        },
        tokens_mean=sum(record.tokens for record in records) / len(records),
        p50_ms=percentile([record.ms for record in records], 50),
    )


def _share(judged: Sequence[Judgement], is_so: Callable[[Judgement], bool]) -> float:
    return sum(map(is_so, judged)) / len(judged)


def tables(rows: Sequence[ConsolidationRow], loads: Sequence[Load]) -> list[Table]:
    """One for each kind of stream and of question, and what taking the streams in has cost."""
    made = []
    for stream in dict.fromkeys((row.stream_tokens, row.streaming, row.wordings) for row in rows):
        of_stream = [row for row in rows if (row.stream_tokens, row.streaming, row.wordings) == stream]
        for kind in (SINGLE, MULTI):
            if of_kind := [row for row in of_stream if row.kind == kind]:
                title = f"consolidation, {kind}: {stream[0]:,} tokens, {of_kind[0].questions} questions"
                caption = f"a message per {stream[1].removesuffix('s')}, {stream[2]} wordings"
                made.append(tabulate(title, list(_columns(kind)), of_kind, caption=caption))
    # One stream of each kind: others of its size take as long.
    once = {(load.system, load.stream_tokens, load.wordings): load for load in reversed(loads)}
    return [*made, tabulate("taking the facts in", _LOADS, list(reversed(once.values())))]


def _columns(kind: str) -> Iterator[Column]:
    yield Column("system", lambda row: row.system, left=True)
    yield Column("budget", lambda row: budget(row.budget_tokens))
    yield Column("correct", lambda row: row.correct and row.correct.value, ".2f")
    yield Column("over\nseeds", lambda row: spread(row.of_seeds))
    head = "all links\ncurrent" if kind == MULTI else "current\nthere"
    yield Column(head, lambda row: row.complete and row.complete.value, ".2f")
    if kind == MULTI:
        yield Column("share of\nlinks", lambda row: row.links, ".2f")
        for hops in HOPS[1:]:
            yield _by_hops(hops)
    yield Column("outdated\nunmarked", lambda row: row.stale, ".2f")
    yield Column("outdated\nmarked", lambda row: row.marked, ".2f")
    yield Column("tokens", lambda row: row.tokens_mean, ".0f")
    yield Column("p50\nms", lambda row: row.p50_ms, ".1f")


def _by_hops(hops: int) -> Column:
    return Column(f"{hops}\nhops", lambda row: row.complete_by_hops[hops], ".2f")


_LOADS = (
    Column("system", lambda load: load.system, left=True),
    Column("one message per", lambda load: load.streaming.removesuffix("s"), left=True),
    Column("wordings", lambda load: load.wordings, left=True),
    Column("tokens", lambda load: load.stream_tokens, ","),
    Column("facts", lambda load: load.facts, ","),
    Column("seconds", lambda load: load.seconds, ".1f"),
    Column("model calls", lambda load: load.cost.calls, ","),
    Column("model tokens", lambda load: load.cost.tokens, ","),
)
