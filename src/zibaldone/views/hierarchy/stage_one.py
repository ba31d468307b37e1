"""Stage I (section 3.3, Eq. 4): a compact and diverse selection of semantics.

The paper selects themes first, and then of their semantics. That finds no more than shuffled themes do, and
less than no themes at all (docs/decisions.md), so the semantics stand for themselves.

Coverage pulls away from a dense neighbourhood whose members say the same, relevance pulls towards the query.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from zibaldone.errors import InvalidInput
from zibaldone.search.lexical import Doubles, Ints
from zibaldone.views.checked_settings import Count, Share, settings

# Of a node: its neighbours in the graph and their similarity, itself not among them.
Neighbours = Callable[[int], Iterable[tuple[int, float]]]
_SELF = 1.0  # w_ii: a node is as similar to itself as can be


@settings
class StageOne:
    """Settings of Stage I, with the values of the paper and its code (section 3.3)."""

    pool: Count = 40  # semantics by similarity to the query: the candidates
    near: Count = 10  # of the pool, that one of it covers at most
    semantics: Count = 20  # representatives at most
    alpha: Share = 0.7  # of coverage; the rest is relevance
    coverage: Share = 1.0  # share of the candidates that is enough


_DEFAULT = StageOne()


@dataclass(frozen=True, slots=True)
class Pick:
    """A representative and its value: alpha * coverage + (1 - alpha) * relevance (Eq. 4)."""

    id: int
    value: float
    coverage: float  # of candidates that nothing before it covered, over Z
    relevance: float  # normalised, 0 to 1
    covers: tuple[int, ...]  # ids that were not covered before it


def select(
    ids: Ints, relevance: Doubles, similar: Callable[[Ints], Doubles], config: StageOne = _DEFAULT
) -> tuple[Pick, ...]:
    """Eq. 4 over the pool, whose graph joins each candidate to its nearest ones.

    The arrays are (n,), one place per semantic; `relevance` is the query's cosine as in the paper, or any
    score where higher is better. `similar` gives the cosines (m, m) of some rows of these arrays.
    """
    rows = _pool(ids, relevance, config.pool)
    if not len(rows):
        return ()
    near = similar(rows)
    place_of = {int(name): place for place, name in enumerate(ids[rows])}

    def neighbours(name: int) -> list[tuple[int, float]]:
        cosines = near[place_of[name]]
        nearest = [place for place in np.argsort(-cosines, kind="stable").tolist() if place != place_of[name]]
        return [(int(ids[rows[place]]), float(cosines[place])) for place in nearest[: config.near]]

    return representatives(ids[rows], relevance[rows], neighbours, config.semantics, config)


def representatives(
    ids: Ints, relevance: Doubles, neighbours: Neighbours, most: int, config: StageOne = _DEFAULT
) -> tuple[Pick, ...]:
    """Eq. 4: greedy, of equal values the lowest id, until the coverage is reached or `most` are chosen.

    `ids` (n,) are distinct; edges that leave the candidates, and those without a positive weight, count for
    nothing. Z is the sum of all weights, as in the paper's code, so that relevance mostly decides. A value
    never rises while representatives are added: a candidate is evaluated anew only when it comes to the top.
    """
    edges = _edges(ids, neighbours)
    z = sum(float(weights.sum()) for _, weights in edges)
    similar = normalised(relevance)
    open_ = np.ones(len(ids))  # 1.0: not covered yet

    def value(row: int) -> tuple[float, float]:
        places, weights = edges[row]
        # Covered ones are added as zeros: a sum of the same shape cannot rise by rounding.
        coverage = float((weights * open_[places]).sum()) / z
        return config.alpha * coverage + (1 - config.alpha) * float(similar[row]), coverage

    heap = [(-value(row)[0], int(ids[row]), row) for row in range(len(ids))]
    heapq.heapify(heap)
    picks: list[Pick] = []
    while heap and len(picks) < most and (not picks or 1 - open_.mean() < config.coverage):
        _, name, row = heapq.heappop(heap)
        worth, coverage = value(row)
        if heap and (-worth, name) > heap[0][:2]:
            heapq.heappush(heap, (-worth, name, row))
            continue
        new = [int(place) for place in edges[row][0] if open_[place]]
        open_[new] = 0.0
        covers = tuple(sorted(int(ids[place]) for place in new))
        picks.append(Pick(name, worth, coverage, float(similar[row]), covers))
    return tuple(picks)


def normalised(scores: Doubles) -> Doubles:
    """(n,) scaled to 0..1 by minimum and maximum; 0.5 when all are equal."""
    if not len(scores):
        return np.zeros(0)
    low, high = float(scores.min()), float(scores.max())
    if high <= low:
        return np.full(len(scores), 0.5)
    return np.asarray((scores - low) / (high - low), dtype=np.float64)


def _pool(ids: Ints, relevance: Doubles, most: int) -> Ints:
    """Rows of the most relevant, best first; of equals the lowest id."""
    if not np.isfinite(relevance).all():
        raise InvalidInput("relevance must be finite: a score that is not a number has no place in an order")
    rows = np.arange(len(ids))
    if len(ids) > most:
        least = np.partition(relevance, len(ids) - most)[len(ids) - most]
        rows = np.flatnonzero(relevance >= least)
    return rows[np.lexsort((ids[rows], -relevance[rows]))][:most]


def _edges(ids: Ints, neighbours: Neighbours) -> list[tuple[Ints, Doubles]]:
    """Places that each candidate covers, itself first, and their weights."""
    place_of = {int(name): place for place, name in enumerate(ids)}
    edges = []
    for place, name in enumerate(place_of):
        inside = {place: _SELF}
        for other, weight in neighbours(name):
            at = place_of.get(int(other))
            if at is not None and at != place and weight > 0:
                inside[at] = float(weight)
        edges.append((np.fromiter(inside, dtype=np.int64), np.fromiter(inside.values(), dtype=np.float64)))
    return edges
