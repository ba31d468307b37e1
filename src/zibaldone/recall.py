"""From the views' candidates to one context: fused, de-duplicated, budgeted, in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from zibaldone import log
from zibaldone.core import Decision, Evidence, Recall, Trace, ViewTrace
from zibaldone.generations import snapshots
from zibaldone.rendering import header, in_order, line, line_tokens, render
from zibaldone.search.fusion import reciprocal_rank
from zibaldone.storage.database import Database
from zibaldone.text.sentences import Span, passages, sentences
from zibaldone.text.words import terms
from zibaldone.views.base import Query, Retrieved, View

DEFAULT_FLOOR = 0.45  # docs/log.md has the trade-off curve

Count = Callable[[str], int]


def recall(database: Database, views: Sequence[View], query: Query, *, floor: float, count: Count) -> Recall:
    """Ask the views and choose. What is forgotten while they work is left out at the end, by its sources."""
    began = time.perf_counter()
    rankings: list[Retrieved] = []
    traces = []
    for view in views:
        start = time.perf_counter()
        retrieved = view.retrieve(snapshots(database, query.scope.user, view), query)
        ms = (time.perf_counter() - start) * 1000
        rankings.append(retrieved)
        traces.append(
            ViewTrace(
                view=view.name,
                candidates=len(retrieved.evidence),
                considered=retrieved.considered,
                ms=ms,
                model_calls=retrieved.model_calls,
                note=retrieved.note,
                explain=retrieved.explain,
            )
        )
    candidates = _still_there(
        database, query.scope.user, reciprocal_rank([retrieved.evidence for retrieved in rankings])
    )
    relevance = max((retrieved.relevance for retrieved in rankings), default=0.0)
    if relevance < floor:
        reason = f"nothing in memory is relevant enough ({relevance:.2f}, the floor is {floor:.2f})"
        chosen = Chosen([], [Decision(e, i, False, reason) for i, e in enumerate(candidates, 1)], 0)
    else:
        chosen = choose(candidates, query, count)
    text, citations = render(chosen.evidence)
    return Recall(
        query=query.text,
        text=text,
        tokens=chosen.tokens,
        evidence=tuple(chosen.evidence),
        citations=citations,
        trace=Trace(
            views=tuple(traces),
            decisions=tuple(chosen.decisions),
            relevance=relevance,
            floor=floor,
            ms=(time.perf_counter() - began) * 1000,
        ),
    )


def _still_there(database: Database, user: str, candidates: Sequence[Evidence]) -> list[Evidence]:
    """The candidates all of whose messages are in the log now: others were forgotten while views worked."""
    with database.read() as connection:
        here = log.present(connection, user, {seq for unit in candidates for seq in unit.sources})
    return [unit for unit in candidates if here.issuperset(unit.sources)]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen, in reading order, and what became of every candidate."""

    evidence: list[Evidence]
    decisions: list[Decision]
    tokens: int  # of the rendered text


def choose(candidates: Sequence[Evidence], query: Query, count: Count) -> Chosen:
    """Take candidates by rank while they fit; skip what repeats, and what no longer fits.

    Greedy by score with skipping: diversity, coverage and score per token were measured and gave nothing
    (docs/log.md). The text never has more tokens than the budget.
    """
    left = query.budget_tokens
    kept: dict[int, Evidence] = {}  # by rank
    reasons: list[str] = []
    opened: set[tuple[str, int]] = set()  # (session, day) that have their header
    years: set[int] = set()  # that a header names
    said: set[tuple[str | None, str, int]] = set()
    views_of: dict[int, set[str]] = {}  # by seq, the views whose kept units stand on the message
    for rank, unit in enumerate(candidates, 1):
        day = unit.time.date()
        place = (unit.session, day.toordinal())
        cost = unit.tokens
        if place not in opened:
            cost += _added(header(day, day if day.year in years else None), count)
        words = (unit.speaker, unit.text, day.toordinal())
        if words in said:
            reasons.append("the same words of the same day are in already")
        elif all(views_of.get(seq, set()) - {unit.view} for seq in unit.sources):
            reasons.append("another view's units of the same messages are in already")
        elif cost <= left:
            left -= cost
            kept[rank] = unit
            opened.add(place)
            years.add(day.year)
            said.add(words)
            for seq in unit.sources:
                views_of.setdefault(seq, set()).add(unit.view)
            reasons.append(
                f"rank {rank} of {len(candidates)}, and its {unit.tokens} tokens fitted the budget"
            )
        elif not kept and (part := _cut_to_fit(unit, query, count)):
            left -= _tokens([part], count)
            kept[rank] = part
            opened.add(place)
            years.add(day.year)
            reasons.append(f"rank {rank} of {len(candidates)}, cut at sentence borders to fit the budget")
        else:
            reasons.append(
                f"rank {rank} of {len(candidates)}, and only {left} tokens were left for its {cost}"
            )
    while (tokens := _tokens(kept.values(), count)) > query.budget_tokens:
        rank, _ = kept.popitem()
        reasons[rank - 1] = f"rank {rank} of {len(candidates)}, and the rendered text was over the budget"
    decisions = [
        Decision(kept.get(rank, unit), rank, rank in kept, reasons[rank - 1])
        for rank, unit in enumerate(candidates, 1)
    ]
    return Chosen(in_order(kept.values()), decisions, tokens)


def _added(text: str, count: Count) -> int:
    return line_tokens([text], lambda texts: [count(one) for one in texts])[0]


def _tokens(evidence: Iterable[Evidence], count: Count) -> int:
    return count(render(in_order(evidence))[0])


def _cut_to_fit(unit: Evidence, query: Query, count: Count) -> Evidence | None:
    """The unit, or as many of its sentences around what matched as the budget holds.

    When not even one sentence fits, a part of it between words; None when there is no room for a word.
    """
    if _tokens([unit], count) <= query.budget_tokens:
        return unit
    spans = sentences(unit.text)
    room = query.budget_tokens - _tokens([replace(unit, text="")], count)
    if room < 1 or not spans:
        return None
    best_at = _best_match(unit, spans, query)
    if _tokens([_part(unit, spans[best_at], count)], count) > query.budget_tokens:
        spans = passages(unit.text, room, lambda texts: [count(one) for one in texts])
        best_at = _best_match(unit, spans, query)
    first = last = best_at
    best = _part(unit, spans[first], count)
    if _tokens([best], count) > query.budget_tokens:
        return None
    grown = True
    while grown:
        grown = False
        for wider in ((first, last + 1), (first - 1, last)):
            if wider[0] >= 0 and wider[1] < len(spans):
                part = _part(unit, (spans[wider[0]][0], spans[wider[1]][1]), count)
                if _tokens([part], count) <= query.budget_tokens:
                    (first, last), best, grown = wider, part, True
                    break
    return best


def _best_match(unit: Evidence, spans: Sequence[Span], query: Query) -> int:
    asked = set(terms(query.text))
    matches = [len(asked.intersection(terms(unit.text[start:end]))) for start, end in spans]
    return max(range(len(spans)), key=lambda i: (matches[i], -i))


def _part(unit: Evidence, span: Span, count: Count) -> Evidence:
    text = unit.text[span[0] : span[1]]
    return replace(
        unit, text=text, place=unit.place + span[0], tokens=_added(line(unit.speaker, text), count)
    )
