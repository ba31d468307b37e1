"""Evidence in the recalled text: the runner that the commands of the data sets share.

    python -m benchmarks.locomo PATH [--systems hybrid,zibaldone] [--budgets 1000,2000]

A question is asked when what was said before it has been taken in, and nothing else. Evidence: the share of
its messages of which 80 % of the content words stand in one recalled unit. Answer: an accepted form of it
stands in the text. Nuggets: the share of a rubric's points whose words stand in it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from benchmarks import results
from benchmarks.data import Conversation, Question, load
from zibaldone.api import settings
from zibaldone.cli.compare.evidence import Mean, is_found, share_found
from zibaldone.cli.compare.systems import Equipment, Recalled, System, check_systems, make_system
from zibaldone.models.static import shared_static_embedder

SYSTEMS = ("bm25-user", "hybrid", "messages", "zibaldone")


@dataclass(frozen=True, slots=True)
class Judged:
    """One question asked of one system at one budget."""

    id: str
    conversation: str
    category: str
    faulted: bool
    system: str
    budget_tokens: int | None  # None: the system was given none
    tokens: int
    ms: float
    evidence: float | None  # None without evidence
    answer: float | None  # 1.0: it stands in the text; None without an answer
    nuggets: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One system at one budget. A None had no question to be measured on."""

    system: str
    budget_tokens: int | None
    questions: int
    evidence: Mean | None
    sound: Mean | None  # without the questions that an audit faults
    answer: Mean | None
    nuggets: Mean | None
    by_category: dict[str, Mean | None]  # evidence; where there is none at all, answers
    tokens_mean: float
    p50_ms: float


def in_turn(
    conversation: Conversation, asked: Iterable[Question], systems: Sequence[System]
) -> Iterator[Question]:
    """Each question when the systems have taken in what was said before it, and nothing else."""
    taken = 0
    for question in sorted(asked, key=lambda question: question.visible):
        if question.visible > taken:
            for system in systems:
                system.take(conversation.messages[taken : question.visible])
            taken = question.visible
        yield question


def measure(
    conversations: Iterable[Conversation],
    systems: Sequence[str],
    budgets_tokens: Sequence[int],
    tools: Equipment,
    limit: int | None = None,
) -> list[Judged]:
    """Every question that can be answered, the systems asked in turn so that a busy moment hits them all."""
    judged: list[Judged] = []
    for conversation in conversations:
        print(f"{conversation.name}: {len(conversation.messages):,} messages", file=sys.stderr)
        asked = [q for q in conversation.questions if q.known or q.nuggets][:limit]
        loaded = [make_system(name, tools) for name in systems]
        try:
            for question in in_turn(conversation, asked, loaded):
                for system in loaded:
                    for budget in budgets_tokens if system.budgeted else (None,):
                        began = time.perf_counter()
                        recalled = system.recall(question.text, budget or 0, question.asked_at)
                        ms = (time.perf_counter() - began) * 1000
                        judged.append(judge(conversation, question, system.name, budget, recalled, ms))
        finally:
            for system in loaded:
                system.close()
    return judged


def judge(
    conversation: Conversation,
    question: Question,
    system: str,
    budget_tokens: int | None,
    recalled: Recalled,
    ms: float,
) -> Judged:
    """Whatever is said of one recall."""
    wanted, text = conversation.evidence(question), " ".join(recalled.text.lower().split())
    answers = [" ".join(answer.lower().split()) for answer in question.answers]
    return Judged(
        id=question.id,
        conversation=conversation.name,
        category=question.category,
        faulted=question.faulted,
        system=system,
        budget_tokens=budget_tokens,
        tokens=recalled.tokens,
        ms=round(ms, 3),
        evidence=share_found(wanted, recalled.units) if wanted else None,
        answer=float(any(answer in text for answer in answers)) if answers else None,
        nuggets=fmean(is_found(n, [recalled.text]) for n in question.nuggets) if question.nuggets else None,
    )


def make_rows(judged: Sequence[Judged]) -> list[Row]:
    """One per (system, budget), in the order in which they were asked."""
    groups = results.grouped(judged, lambda each: (each.system, each.budget_tokens))
    return [_row(group) for group in groups.values()]


def _row(judged: Sequence[Judged]) -> Row:
    categories = list(dict.fromkeys(each.category for each in judged))
    has_evidence = any(each.evidence is not None for each in judged)
    return Row(
        system=judged[0].system,
        budget_tokens=judged[0].budget_tokens,
        questions=len(judged),
        evidence=Mean.of(each.evidence for each in judged),
        sound=Mean.of(each.evidence for each in judged if not each.faulted)
        if any(each.faulted for each in judged)
        else None,
        answer=Mean.of(each.answer for each in judged),
        nuggets=Mean.of(each.nuggets for each in judged),
        by_category={
            name: Mean.of(
                each.evidence if has_evidence else each.answer for each in judged if each.category == name
            )
            for name in categories
        },
        tokens_mean=fmean(each.tokens for each in judged),
        p50_ms=median(each.ms for each in judged),
    )


def main(
    data: str, about: str | None, *, budgets: str = "1000,2000", systems: Sequence[str] = SYSTEMS
) -> None:
    """The command of a data set."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{data}", description=about)
    parser.add_argument("path", type=Path)
    parser.add_argument("--systems", default=",".join(systems), help="views joined by '+', or baselines")
    parser.add_argument("--budgets", default=budgets, help="tokens, with commas")
    parser.add_argument("--limit", type=int, help="only the first questions of a conversation")
    parser.add_argument("--min-confidence", type=float, help="recall nothing below it; else the engine's own")
    parser.add_argument("--reranker", help="one of Memory's, by name; chat: the ZIBALDONE_CHAT_MODEL")
    parser.add_argument("--output", type=Path, default=results.RESULTS / f"{data}.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zibaldone-bench-") as folder:
        chat = settings.chat() if given.reranker == "chat" else None
        tools = Equipment(shared_static_embedder(), Path(folder), given.min_confidence, chat, given.reranker)
        names = check_systems(given.systems.split(","))
        judged = measure(
            load(data, given.path), names, [int(b) for b in given.budgets.split(",")], tools, given.limit
        )
    rows = make_rows(judged)
    results.show(f"{data} ({rows[0].questions:,} questions)", rows)
    results.write(given.output, {"data": given.path.name, "rows": rows, "judged": judged})
