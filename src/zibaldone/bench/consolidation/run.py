"""Streams facts into systems, asks every question at every budget, and judges what comes back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from zibaldone.bench.base import Cost, System, Tools
from zibaldone.bench.consolidation.facts import Question, Stream, Streaming
from zibaldone.bench.consolidation.judging import Judgement, Marked, judge, nothing_marked
from zibaldone.bench.outcome import Progress, silent
from zibaldone.bench.systems import make_system

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
class Record:
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


@dataclass(frozen=True, slots=True)
class Load:
    """What it took a system to take in a stream."""

    system: str
    streaming: Streaming
    stream_tokens: int
    facts: int
    seconds: float
    cost: Cost


def evaluate(
    stream: Stream,
    systems: Sequence[str],
    budgets_tokens: Sequence[int],
    tools: Tools,
    *,
    streaming: Streaming = "chunks",
    progress: Progress = silent,
) -> tuple[list[Record], list[Load]]:
    """Every (system, question, budget), one system at a time; loading is timed by itself."""
    messages = stream.messages(tools.tokenizer, streaming)
    questions = (*stream.single_hop, *stream.multi_hop)
    records: list[Record] = []
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


def _ask(system: System, question: Question, budget: int, stream: Stream, streaming: Streaming) -> Record:
    start = time.perf_counter()
    context = system.recall(_USER, question.text, budget)
    ms = (time.perf_counter() - start) * 1000
    return Record(
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
