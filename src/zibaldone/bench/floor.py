"""The confidence floor's trade-off: what it empties that should be empty, and what it costs.

Every question is recalled once with no floor; its confidence then says at which floor it would be emptied.
Four kinds of question are asked of each LoCoMo conversation: its own answerable ones (emptying them loses
evidence), its own adversarial ones (about the right people, never answered), and answerable ones of the
other conversations, as they are and with the two speakers' names put in place of the strangers', so that
a name alone cannot give them away. A second table says whether the confidence is worth what it says: of
questions that were given about the same one, the share that is answerable, half of all weight on answerable
ones and a quarter on each kind of foreign ones. Nothing tells adversarial questions from answerable ones
(docs/log.md), so they are in the first table alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from zibaldone.bench.base import Equipment, Example
from zibaldone.bench.locomo import ADVERSARIAL, LoCoMoQuestions
from zibaldone.bench.metrics import is_found
from zibaldone.bench.outcome import Measurement, Progress, Run, silent
from zibaldone.bench.registry import FloorOptions
from zibaldone.bench.stats import SEED
from zibaldone.bench.table import Column, tabulate
from zibaldone.core import Message
from zibaldone.memory import Memory

KINDS = ("answerable", "adversarial", "foreign", "foreign-renamed")
FLOORS = tuple(round(0.05 * step, 2) for step in range(20))
FOREIGN_PER_CONVERSATION = 150
BUDGET_TOKENS = 1000
_BINS = (0.0, 0.005, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.01)
_WEIGHTS = {"answerable": 0.5, "foreign": 0.25, "foreign-renamed": 0.25}


@dataclass(frozen=True, slots=True)
class FloorProbe:
    """One question, how relevant the memory found itself, and what it recalled without a floor."""

    id: str
    user: str  # whose memory was asked
    kind: str
    question: str
    confidence: float
    recall: float | None  # share of the evidence turns found; None for what has none to find


@dataclass(frozen=True, slots=True)
class Point:
    """One floor."""

    floor: float
    emptied: dict[str, float]  # kind -> share of its questions with a confidence below the floor
    evidence_recall: float  # of the answerable questions, an emptied one counting 0


@dataclass(frozen=True, slots=True)
class ConfidenceWorth:
    """Questions that were given about the same confidence; shares are weighted."""

    least: float
    below: float
    stated: float  # the mean confidence
    true: float  # the share that is answerable
    questions: int


def evaluate(
    benchmark: LoCoMoQuestions, tools: Equipment, *, limit: int | None = None, progress: Progress = silent
) -> tuple[list[FloorProbe], float]:
    """Ask everything; also the engine's default floor. `limit` is per conversation and kind."""
    probes: list[FloorProbe] = []
    default_floor = 0.0
    with Memory(tools.folder / "floor", embedder=tools.embedder) as memory:
        for place, user in enumerate(benchmark.users()):
            progress(user, place, len(benchmark.users()))
            memory.add(benchmark.messages(user), user=user)
            now = max(message.time for message in benchmark.messages(user) if message.time)
            default_floor = memory.recall("?", user=user, now=now).trace.floor
            for kind, example, question in _questions(benchmark, user, limit):
                recalled = memory.recall(
                    question, user=user, budget_tokens=BUDGET_TOKENS, views=["messages"], floor=0.0, now=now
                )
                units = [evidence.text for evidence in recalled.evidence]
                turns = example.evidence if kind == "answerable" else ()
                recall = sum(is_found(turn, units) for turn in turns) / len(turns) if turns else None
                probes.append(FloorProbe(example.id, user, kind, question, recalled.trace.confidence, recall))
    return probes, default_floor


def curve(probes: Sequence[FloorProbe], floors: Sequence[float] = FLOORS) -> tuple[Point, ...]:
    """What every floor would have done."""
    by_kind = {kind: [probe for probe in probes if probe.kind == kind] for kind in KINDS}
    judged = [probe for probe in probes if probe.recall is not None]
    return tuple(
        Point(
            floor=floor,
            emptied={
                kind: sum(probe.confidence < floor for probe in of_kind) / len(of_kind)
                for kind, of_kind in by_kind.items()
                if of_kind
            },
            evidence_recall=sum(probe.recall or 0.0 for probe in judged if probe.confidence >= floor)
            / max(len(judged), 1),
        )
        for floor in floors
    )


def reliability(probes: Sequence[FloorProbe]) -> tuple[ConfidenceWorth, ...]:
    """By bins of confidence; those without a question are left out."""
    weighed = [probe for probe in probes if probe.kind in _WEIGHTS]
    of_kind = {kind: sum(probe.kind == kind for probe in weighed) for kind in _WEIGHTS}
    rows: list[ConfidenceWorth] = []
    for least, below in pairwise(_BINS):
        mine = [probe for probe in weighed if least <= probe.confidence < below]
        weights = [_WEIGHTS[probe.kind] / of_kind[probe.kind] for probe in mine]
        if not (total := sum(weights)):
            continue
        stated = sum(probe.confidence * weight for probe, weight in zip(mine, weights, strict=True)) / total
        held = (weight for probe, weight in zip(mine, weights, strict=True) if probe.kind == "answerable")
        rows.append(ConfidenceWorth(least, min(below, 1.0), stated, sum(held) / total, len(mine)))
    return tuple(rows)


def run(options: FloorOptions, run: Run) -> Measurement:
    """One row per floor, the engine's default marked; and whether the confidence is worth what it says."""
    probes, default = evaluate(
        LoCoMoQuestions(options.path), run.tools(), limit=options.limit, progress=run.progress
    )
    points = curve(probes, sorted({*FLOORS, default}))
    bins = reliability(probes)
    figures = {
        "data": options.path.name,
        "default_floor": default,
        "points": points,
        "reliability": bins,
        "asked": probes,
    }
    columns = [
        Column(
            "floor", lambda point: f"{point.floor:.3f}" + (" *" if point.floor == default else ""), left=True
        ),
        *map(_emptied, KINDS),
        Column("evidence\nrecall", lambda point: point.evidence_recall, ".3f"),
    ]
    title = "confidence floor: share of questions emptied"
    worth = tabulate(
        "confidence, said and true",
        [
            Column("confidence", lambda row: f"{row.least:.3f} to {row.below:.3f}", left=True),
            Column("said", lambda row: row.stated, ".2f"),
            Column("true", lambda row: row.true, ".2f"),
            Column("questions", lambda row: row.questions),
        ],
        bins,
    )
    return Measurement(figures, [tabulate(title, columns, points, caption="* the default"), worth])


def _emptied(kind: str) -> Column:
    return Column(kind.replace("-", "\n"), lambda point: point.emptied.get(kind), ".3f")


def rename(question: str, strangers: Sequence[str], speakers: Sequence[str]) -> str:
    """The question with the strangers' names replaced by the speakers', one for one."""
    names = dict(zip(strangers, speakers, strict=False))
    pattern = r"\b(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b"
    return re.sub(pattern, lambda match: names[match[1]], question) if names else question


def _questions(
    benchmark: LoCoMoQuestions, user: str, limit: int | None
) -> Iterator[tuple[str, Example, str]]:
    own = [example for example in benchmark.examples if example.user == user]
    for example in [example for example in own if example.answerable][:limit]:
        yield "answerable", example, example.question
    for example in [example for example in own if example.category == ADVERSARIAL][:limit]:
        yield "adversarial", example, example.question
    others = [example for example in benchmark.examples if example.user != user and example.answerable]
    rng = np.random.default_rng(SEED)
    count = min(len(others), FOREIGN_PER_CONVERSATION if limit is None else limit)
    speakers = _speakers(benchmark.messages(user))
    for i in sorted(rng.choice(len(others), count, replace=False)) if others else []:
        stranger = others[int(i)]
        yield "foreign", stranger, stranger.question
        strangers = _speakers(benchmark.messages(stranger.user))
        yield "foreign-renamed", stranger, rename(stranger.question, strangers, speakers)


def _speakers(messages: Sequence[Message]) -> list[str]:
    return list(dict.fromkeys(message.speaker for message in messages))
