"""From the views' candidates to one context: planned, fused, de-duplicated, budgeted, in order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from zibaldone import log
from zibaldone.choosing import Chosen, Count, choose
from zibaldone.core import Decision, Evidence, Narrowing, Recall, Trace, ViewTrace
from zibaldone.generations import snapshots
from zibaldone.models.base import Tokenizer
from zibaldone.outdating import current_first, holding
from zibaldone.planning import plan
from zibaldone.rendering import render
from zibaldone.search.fusion import reciprocal_rank
from zibaldone.search.ranker import LONG_DAYS
from zibaldone.search.request import Aim
from zibaldone.search.unit_index import AFTER_DAYS
from zibaldone.storage.database import Database
from zibaldone.text.periods import asked_period
from zibaldone.text.remembered import sweeping
from zibaldone.views.base import Query, Retrieved, View
from zibaldone.views.profile import ProfileView
from zibaldone.views.updates import UpdatesView

DEFAULT_FLOOR = 0.005  # docs/log.md has the trade-off curve


@dataclass(frozen=True, slots=True)
class Overlays:
    """Views that do not compete for the budget, but say more of what is recalled; None: not asked."""

    profile: ProfileView | None = None
    timeline: View | None = None
    updates: UpdatesView | None = None


@sweeping()
def recall(
    database: Database,
    views: Sequence[View],
    query: Query,
    *,
    floor: float,
    tokenizer: Tokenizer,
    count: Count,
    overlays: Overlays,
    narrowing: Narrowing,
) -> Recall:
    """Ask the views and choose. What is forgotten while they work is left out at the end, by its sources."""
    began = time.perf_counter()
    if narrowing:
        with database.read() as connection:
            query = replace(query, within=log.seqs_within(connection, query.scope.user, narrowing))
    if overlays.profile is not None:
        own = snapshots(database, query.scope.user, overlays.profile)
        query = replace(query, people=overlays.profile.people(own, query.scope.user))
    answers = _Answers(database, query)
    plan_ = plan(query.text, query.budget_tokens)
    known = answers.of(overlays.profile, plan_.standing_tokens)
    retrieved = [answers.of(view, query.budget_tokens) for view in views]
    lines = answers.of(overlays.timeline, plan_.timeline_tokens)
    candidates = answers.still_there(reciprocal_rank([found.evidence for found in retrieved]))
    confidence = max((found.confidence for found in (*retrieved, lines)), default=0.0)
    if confidence < floor:
        reason = f"memory knows too little of this (confidence {confidence:.3f}, the floor is {floor:.3f})"
        chosen = Chosen([], [Decision(e, i, False, reason) for i, e in enumerate(candidates, 1)], 0, ())
    else:
        candidates = in_period_first(candidates, query, plan_.aim)
        standing = answers.still_there(known.evidence)
        if overlays.updates is not None:
            candidates = current_first(database, overlays.updates, candidates, query, tokenizer)
            standing = holding(database, overlays.updates, standing, query)
        chosen = choose(
            candidates,
            query,
            count,
            plan_,
            standing=[replace(entry, standing=True) for entry in standing],
            lines=answers.still_there(lines.evidence),
        )
    text, citations = render(chosen.evidence)
    return Recall(
        query=query.text,
        text=text,
        tokens=chosen.tokens,
        evidence=tuple(chosen.evidence),
        citations=citations,
        trace=Trace(
            views=tuple(answers.traces),
            decisions=tuple(chosen.decisions),
            confidence=confidence,
            floor=floor,
            ms=(time.perf_counter() - began) * 1000,
            aim=plan_.aim.value,
            parts=chosen.parts,
        ),
    )


@dataclass(slots=True)
class _Answers:
    """The views' answers to one query, and how long each took."""

    database: Database
    query: Query
    traces: list[ViewTrace] = field(default_factory=list)

    def of(self, view: View | None, room_tokens: int) -> Retrieved:
        """What a view retrieves for so much room; nothing from no view, or for no room."""
        if view is None or not room_tokens:
            return Retrieved((), 0, 0.0, lambda _: None)
        query = replace(self.query, budget_tokens=room_tokens)
        start = time.perf_counter()
        retrieved = view.retrieve(snapshots(self.database, query.scope.user, view), query)
        self.traces.append(
            ViewTrace(
                view=view.name,
                candidates=len(retrieved.evidence),
                considered=retrieved.considered,
                ms=(time.perf_counter() - start) * 1000,
                model_calls=retrieved.model_calls,
                note=retrieved.note,
                explain=retrieved.explain,
            )
        )
        return retrieved

    def still_there(self, candidates: Sequence[Evidence]) -> list[Evidence]:
        """Those all of whose messages are in the log now, and may be recalled."""
        if not candidates:
            return []
        with self.database.read() as connection:
            sources = {seq for unit in candidates for seq in unit.sources}
            here = log.present(connection, self.query.scope.user, sources)
        if self.query.within is not None:
            here &= self.query.within
        return [unit for unit in candidates if here.issuperset(unit.sources)]


@sweeping()
def search(
    database: Database,
    view: View,
    updates: UpdatesView,
    query: Query,
    limit: int,
    tokenizer: Tokenizer,
    narrowing: Narrowing,
) -> tuple[Evidence, ...]:
    """What a view retrieves, best first, `limit` at most; what no longer holds is marked."""
    if narrowing:
        with database.read() as connection:
            query = replace(query, within=log.seqs_within(connection, query.scope.user, narrowing))
    answers = _Answers(database, query)
    candidates = answers.still_there(answers.of(view, query.budget_tokens).evidence)
    return tuple(current_first(database, updates, candidates[:limit], query, tokenizer)[:limit])


def in_period_first(candidates: list[Evidence], query: Query, aim: Aim) -> list[Evidence]:
    """What was said in the time that an overview or a list is of, or just after a short one, comes first."""
    period = asked_period(query.text, query.now.date()) if aim in (Aim.OVERVIEW, Aim.LIST) else None
    if period is None:
        return candidates
    ends = period.last
    if not period.first or not ends or (ends - period.first).days >= LONG_DAYS:
        ends = None  # of a long time, what is told after it is told of something else
    then: list[Evidence] = []
    otherwise: list[Evidence] = []
    for unit in candidates:
        day = unit.time.date()
        soon = ends is not None and 0 <= (day - ends).days <= AFTER_DAYS
        (then if unit.is_dated and (soon or period.holds(day)) else otherwise).append(unit)
    return then + otherwise
