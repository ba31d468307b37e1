"""One recall of several memories: one's own, and those that are shared with the user.

Each was recalled by itself, under its own wall and by its own statistics; here only what they chose meets.
Within a memory the order stays. Between two, a unit counts its score, which is in log-odds, and the logarithm
of the confidence that its memory can answer at all: a memory that knows nothing of the question gives little,
however many there are. Reciprocal rank gives each memory the same room, and loses more: docs/decisions.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from zibaldone.core import Evidence
from zibaldone.recall.packing import Count, choose, standing_room
from zibaldone.recall.recall import LEADING, K, Order, in_time, to_recall
from zibaldone.recall.result import Passages, Recall

_LEAST_CONFIDENCE = 0.001  # of what was recalled all the same


def unite_scopes(
    own: Recall,
    shared: Mapping[str, Recall],
    budget_tokens: int,
    count: Count,
    order: Order,
    missing: Mapping[str, str],
) -> Recall:
    """One's own recall with what shared memories add, by their names, in one budget.

    Rules that always hold are one's own alone: nobody else's words become an instruction. Without anything to
    add it is one's own recall as it was. Of what is `missing` the trace says why.
    """
    began = time.perf_counter()
    traces = {scope: recalled.trace for scope, recalled in shared.items()}
    note = "; ".join(filter(None, (own.trace.note, *missing.values())))
    traced = replace(own.trace, shared=traces, missing=tuple(missing), note=note)
    if not any(shared.values()):
        return replace(own, trace=traced)
    by_scope = {scope: _kept(recalled, scope) for scope, recalled in (("", own), *shared.items())}
    weights = {"": own.confidence} | {scope: trace.confidence for scope, trace in traces.items()}
    chosen = choose(
        in_time(_merged(by_scope, weights), order, LEADING * budget_tokens),
        budget_tokens,
        count,
        stems=own.trace.stems or next(iter(traces.values())).stems,
        standing=[unit for unit in own.evidence if unit.standing],
        standing_tokens=standing_room(budget_tokens),
    )
    dropped = [decision for decision in own.trace.decisions if not decision.kept]
    trace = replace(
        traced,
        decisions=(*chosen.decisions, *dropped),
        confidence=max(weights.values()),
        ms=own.trace.ms + sum(trace.ms for trace in traces.values()) + (time.perf_counter() - began) * 1000,
    )
    return to_recall(own.query, chosen, trace)


def unite_passages(passages: Mapping[str, Passages], limit: int) -> Passages:
    """The best passages of one's own search and those of shared memories, by their names; one's own is ""."""
    by_scope = {scope: [replace(unit, scope=scope) for unit in some] for scope, some in passages.items()}
    confidences = {scope: some.confidence for scope, some in passages.items()}
    return Passages(_merged(by_scope, confidences)[:limit], max(confidences.values()))


def _kept(recalled: Recall, scope: str) -> list[Evidence]:
    """The evidence that a recall chose, best first, as its memory's."""
    kept = (d.evidence for d in recalled.trace.decisions if d.kept and not d.evidence.standing)
    return [replace(unit, scope=scope) if scope else unit for unit in kept]


def _merged(by_scope: Mapping[str, Sequence[Evidence]], confidences: Mapping[str, float]) -> list[Evidence]:
    """All units, best first. Scores of several views do not compare: then it goes by rank."""
    views = {unit.view for units in by_scope.values() for unit in units}
    worth: list[tuple[float, Evidence]] = []
    for scope, units in by_scope.items():
        scores = sorted((unit.score for unit in units), reverse=True)  # a correction may have another unit's
        weight = math.log(max(confidences[scope], _LEAST_CONFIDENCE))
        for rank, (unit, score) in enumerate(zip(units, scores, strict=True), 1):
            worth.append((score + weight if len(views) == 1 else 1 / (K + rank), unit))
    return [unit for _, unit in sorted(worth, key=lambda ranked: -ranked[0])]
