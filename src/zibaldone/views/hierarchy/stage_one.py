"""Stage I (section 3.3, Eq. 4): a compact and diverse selection of themes, then of their semantics.

Choosing themes first finds less than Eq. 4 on the semantics alone (docs/decisions.md), which is the default.

Coverage pulls away from a dense neighbourhood whose members say the same, relevance pulls towards the query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zibaldone.search.lexical import Doubles, Ints
from zibaldone.views.checked_settings import Count, Share, settings


@settings
class StageOne:
    """Settings of Stage I, with the values of the paper's code (section 3.3)."""

    pool: Count = 40  # semantics by similarity to the query: S_q
    near: Count = 10  # k of the kNN graph
    themes: Count = 5  # representatives at most, of guided themes
    semantics: Count = 20  # representatives at most
    alpha: Share = 0.7  # of coverage; the rest is relevance
    coverage: Share = 1.0  # |C(R)| / |V| that is enough


@dataclass(frozen=True, slots=True)
class Pick:
    """A representative."""

    id: int
    relevance: float  # s~ of Eq. 4: normalised, 0 to 1


def knn(cosines: Doubles, candidates: Ints, k: int) -> Doubles:
    """Weights (m, m) among candidates, of the graph that joins each to the k nearest of all n nodes.

    `cosines` are the candidates' (m, n) with all nodes, `candidates` (m,) their places among these.
    """
    own = np.arange(len(candidates))
    others = cosines.copy()
    others[own, candidates] = -np.inf
    edges = np.zeros_like(others)
    nearest = np.argsort(-others, axis=1, kind="stable")[:, : min(k, others.shape[1] - 1)]
    np.put_along_axis(edges, nearest, np.take_along_axis(others, nearest, axis=1), axis=1)
    weights = np.maximum(edges[:, candidates], 0)
    weights[own, own] = 1  # w_ii: a node is as similar to itself as can be
    return np.asarray(weights)


def representatives(
    ids: Ints, relevance: Doubles, weights: Doubles, most: int, config: StageOne
) -> tuple[Pick, ...]:
    """Eq. 4: greedy, of equal values the lowest id, until the coverage is reached or `most` are chosen.

    `ids` and `relevance` are (m,), the query's cosine as in the paper, or any score where higher is better;
    `weights` (m, m) as of `knn`. Z is the sum of all, as in the paper's code, so relevance mostly decides.
    """
    similar = normalised(relevance)
    open_ = np.ones(len(ids))  # 1: not in C(R) yet
    free = set(range(len(ids)))
    picks: list[Pick] = []
    while free and len(picks) < most and (not picks or 1 - open_.mean() < config.coverage):
        gain = weights @ open_ / weights.sum()
        values = (config.alpha * gain + (1 - config.alpha) * similar).round(12)
        best = min(free, key=lambda place: (-values[place], ids[place]))
        free.remove(best)
        open_[weights[best] > 0] = 0
        picks.append(Pick(int(ids[best]), float(similar[best])))
    return tuple(picks)


def normalised(scores: Doubles) -> Doubles:
    """(n,) scaled to 0..1 by minimum and maximum; 0.5 when all are equal."""
    if not len(scores):
        return np.zeros(0)
    low, high = float(scores.min()), float(scores.max())
    if high <= low:
        return np.full(len(scores), 0.5)
    return np.asarray((scores - low) / (high - low), dtype=np.float64)
