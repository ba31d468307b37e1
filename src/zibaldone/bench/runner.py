"""Asks every system every question of a benchmark at every budget, and judges what comes back."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from zibaldone.bench.base import Cost, DataSet, Equipment, Example, RecalledContext, System
from zibaldone.bench.metrics import Density, answer_coverage, evidence_density, is_found, nuggets_found
from zibaldone.bench.outcome import Progress, silent
from zibaldone.bench.systems import make_system

_FREE = Cost()
_LINE_BREAK_TOKENS = 1  # what a unit costs beside its own tokens


@dataclass(frozen=True, slots=True)
class Judged:
    """One question asked of one system at one budget: enough to look at a miss."""

    id: str
    user: str
    category: str
    faulted: bool
    question: str
    answer: str | None
    system: str
    budget_tokens: int | None  # None: the system was given no budget
    tokens: int
    units: int
    ms: float
    evidence: int  # turns that answer it
    missed: tuple[str, ...]  # the texts of those that are in no recalled unit
    session_recall: float | None  # share of the evidence sessions with a recalled unit
    answer_coverage: float | None
    nuggets: float | None  # share of the rubric's nuggets whose words stand in the text
    density: Density | None  # of the answer's words in the units; None without an answer to cover
    cost: Cost = _FREE  # of this recall
    turns: int = 0  # of the user's conversation
    ingest: Cost = _FREE  # of taking it in, the same for all questions of the user

    @property
    def evidence_recall(self) -> float | None:
        """Share of the evidence turns found; None without evidence turns."""
        return 1 - len(self.missed) / self.evidence if self.evidence else None


def run(
    data: DataSet,
    systems: Sequence[str],
    budgets_tokens: Sequence[int],
    tools: Equipment,
    *,
    limit: int | None = None,
    progress: Progress = silent,
) -> list[Judged]:
    """Every (question, system, budget), the systems asked in turn so that a busy moment hits them all.

    Each system is loaded with one user at a time and warmed by one untimed recall. Questions that cannot be
    answered are left out: nothing is to be found for them.
    """
    examples = [example for example in data.examples if example.answerable][:limit]
    judge = Judge(tools)
    records: list[Judged] = []
    for user, group in itertools.groupby(examples, key=lambda example: example.user):
        progress(f"loading {user}", len(records), 0)
        questions = list(group)
        loaded = [make_system(name, tools) for name in systems]
        try:
            messages = data.messages(user)
            ingest: dict[str, Cost] = {}
            for system in loaded:
                ingest[system.name] = system.load(user, messages) or Cost()
                system.recall(user, questions[0].question, budgets_tokens[0], questions[0].now)
            for example in questions:
                for system in loaded:
                    cost = ingest[system.name]
                    records += [
                        replace(record, turns=len(messages), ingest=cost)
                        for record in _ask(system, example, budgets_tokens, judge)
                    ]
                progress(user, len({record.id for record in records}), len(examples))
        finally:
            for system in loaded:
                system.close()
    return records


def _ask(system: System, example: Example, budgets_tokens: Sequence[int], judge: Judge) -> Iterator[Judged]:
    for budget in budgets_tokens if system.budgeted else budgets_tokens[:1]:
        start = time.perf_counter()
        context = system.recall(example.user, example.question, budget, example.now)
        ms = (time.perf_counter() - start) * 1000
        yield judge.record(example, system.name, context, budget if system.budgeted else None, ms)


class Judge:
    """Says everything that is said of one context for one question."""

    def __init__(self, tools: Equipment) -> None:
        # The same unit comes back for question after question; its tokens are counted once.
        self._unit_tokens = lru_cache(maxsize=1 << 16)(tools.count_tokens)

    def record(
        self, example: Example, system: str, context: RecalledContext, budget_tokens: int | None, ms: float
    ) -> Judged:
        """The figures of one recall that took `ms`."""
        texts = [unit.text for unit in context.units]
        recalled = {unit.session for unit in context.units}
        wanted = example.evidence_sessions
        density = self._density(example, context)
        return Judged(
            id=example.id,
            user=example.user,
            category=example.category,
            faulted=example.faulted,
            question=example.question,
            answer=example.answer,
            system=system,
            budget_tokens=budget_tokens,
            tokens=context.tokens,
            units=len(texts),
            ms=round(ms, 3),
            evidence=len(example.evidence),
            missed=tuple(turn for turn in example.evidence if not is_found(turn, texts)),
            session_recall=sum(s in recalled for s in wanted) / len(wanted) if wanted else None,
            answer_coverage=None if example.answer is None else answer_coverage(example.answer, context.text),
            nuggets=nuggets_found(example.nuggets, context.text),
            density=density,
            cost=context.cost,
        )

    def _density(self, example: Example, context: RecalledContext) -> Density | None:
        if example.answer is None:
            return None
        ranked = [unit.text for unit in sorted(context.units, key=lambda unit: unit.rank)]
        costs = [self._unit_tokens(text) + _LINE_BREAK_TOKENS for text in ranked]
        return evidence_density(example.answer, ranked, costs)
