"""Weights of a linear ranking, by maximum likelihood.

Each relevant item competes alone with all irrelevant items of its query: its probability is the softmax of
the scores over these (Cox's partial likelihood, ListNet's top-one probability), so that several relevant
items do not compete with each other. A query counts 1, however many relevant items it has. The loss is
convex: Newton's method finds its one minimum in a few steps, without a learning rate or a seed. Where
irrelevant items are too many, some may stand for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zibaldone.search.lexical import Doubles, Floats
from zibaldone.search.ranker import FEATURES, Weights

RIDGE = 1e-3  # half of it times the squared length of the weights is in the loss
_MOST_STEPS = 100
_ENOUGH = 1e-9  # the loss that the next step would still gain


@dataclass(frozen=True, slots=True)
class Contests:
    """Some queries over the same n items: p relevant items in all, each against its irrelevant ones."""

    differences: Floats  # (p, n, d) the features of each item minus those of the relevant one
    rivals: Floats  # (p, n) for how many irrelevant items each one stands; 0: it is relevant
    shares: Doubles  # (p,) one over how many items are relevant for the query
    queries: float  # that they count for


def contests(
    features: Sequence[Floats], relevant: Sequence[Sequence[int]], stand_for: Floats | None = None
) -> Contests:
    """Per query its items' features (n, d) and the rows of its relevant items, at least one.

    `stand_for` (n,) says for how many items like it each one stands; None: for itself.
    """
    pairs = [(query, row) for query, rows in enumerate(relevant) for row in rows]
    each = np.ones(len(features[0]), dtype=np.float32) if stand_for is None else stand_for
    rivals = np.tile(each, (len(pairs), 1))
    for at, (query, _) in enumerate(pairs):
        rivals[at, relevant[query]] = 0
    return Contests(
        differences=np.stack([features[query] - features[query][row] for query, row in pairs]),
        rivals=rivals,
        shares=np.array([1 / len(relevant[query]) for query, _ in pairs]),
        queries=len(features),
    )


def balanced(groups: Sequence[Sequence[Contests]]) -> list[Contests]:
    """All contests, every group of them counting as one query, whatever its number of queries."""
    return [
        replace(contest, shares=contest.shares / queries, queries=contest.queries / queries)
        for group in groups
        for queries in [sum(contest.queries for contest in group)]
        for contest in group
    ]


def loss(data: Sequence[Contests], weights: Doubles) -> tuple[float, Doubles, Doubles]:
    """The mean negative log-likelihood of a query with the ridge, its gradient (d,) and Hessian (d, d)."""
    value, gradient, hessian = 0.0, np.zeros(len(weights)), np.zeros((len(weights), len(weights)))
    for contest in data:
        scores = contest.differences @ weights.astype(np.float32)
        scores[contest.rivals == 0] = -np.inf  # its relevant siblings are in nobody's way
        highest = np.maximum(scores.max(axis=1, keepdims=True), 0)  # the relevant item's own score is 0
        odds = np.exp(scores - highest) * contest.rivals
        total = np.exp(-highest) + odds.sum(axis=1, keepdims=True)
        value += float(contest.shares @ (np.log(total) + highest)[:, 0])
        chances = odds / total  # (p, n)
        means = (chances[:, None, :] @ contest.differences)[:, 0, :].astype(np.float64)  # (p, d)
        gradient += contest.shares @ means
        flat = contest.differences.reshape(-1, len(weights))
        shared = chances * contest.shares[:, None].astype(np.float32)
        hessian += (flat * shared.reshape(-1, 1)).T @ flat - (means.T * contest.shares) @ means
    queries = sum(contest.queries for contest in data)
    return (
        value / queries + RIDGE / 2 * float(weights @ weights),
        gradient / queries + RIDGE * weights,
        hessian / queries + RIDGE * np.eye(len(weights)),
    )


def fit(data: Sequence[Contests], kept: Sequence[int], start: Doubles | None = None) -> Doubles:
    """(d,) the weights that make the relevant items likeliest; what is not `kept` stays as `start` has it.

    `start` (d,) is 0 where there is none; near the minimum it saves steps.
    """
    columns = list(kept)
    weights = np.zeros(data[0].differences.shape[2]) if start is None else start.astype(np.float64)
    value, gradient, hessian = loss(data, weights)
    for _ in range(_MOST_STEPS):
        step = np.zeros_like(weights)
        step[columns] = np.linalg.solve(hessian[np.ix_(columns, columns)], gradient[columns])
        gain = float(step @ gradient) / 2
        if gain < _ENOUGH:
            break
        after = loss(data, weights - step)
        while after[0] > value and gain > _ENOUGH:  # too far: Newton's parabola is local
            step, gain = step / 2, gain / 2
            after = loss(data, weights - step)
        if after[0] >= value:
            break
        weights, (value, gradient, hessian) = weights - step, after
    return weights


def to_vector(weights: Weights) -> Doubles:
    """(d,) in the order of FEATURES."""
    return np.array([getattr(weights, name) for name in FEATURES])
