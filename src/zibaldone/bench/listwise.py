"""Weights of a linear ranking, by maximum likelihood.

Each relevant item competes alone with all irrelevant items of its query: its probability is the softmax of
the scores over these (Cox's partial likelihood, ListNet's top-one probability), so that several relevant
items do not compete with each other. A query counts 1, however many relevant items it has. The loss is
convex: Newton's method finds its one minimum in a few steps, without a learning rate or a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zibaldone.search.lexical import Doubles, Floats

RIDGE = 1e-3  # half of it times the squared weights is added to the loss
_MOST_STEPS = 100
_ENOUGH = 1e-9  # the loss that the next step would still gain


@dataclass(frozen=True, slots=True)
class Contests:
    """Some queries over the same n items: p relevant items in all, each against its irrelevant ones."""

    differences: Floats  # (p, n, d) the features of each item minus those of the relevant one
    rivals: npt.NDArray[np.bool_]  # (p, n) which items are irrelevant
    shares: Doubles  # (p,) one over how many items are relevant for the query
    queries: int


def contests(features: Sequence[Floats], relevant: Sequence[Sequence[int]]) -> Contests:
    """Per query its items' features (n, d) and the rows of its relevant items, at least one."""
    pairs = [(query, row) for query, rows in enumerate(relevant) for row in rows]
    rivals = np.ones((len(pairs), len(features[0])), dtype=np.bool_)
    for at, (query, _) in enumerate(pairs):
        rivals[at, relevant[query]] = False
    return Contests(
        differences=np.stack([features[query] - features[query][row] for query, row in pairs]),
        rivals=rivals,
        shares=np.array([1 / len(relevant[query]) for query, _ in pairs]),
        queries=len(features),
    )


def loss(data: Sequence[Contests], weights: Doubles) -> tuple[float, Doubles, Doubles]:
    """The mean negative log-likelihood of a query with the ridge, its gradient (d,) and Hessian (d, d)."""
    value, gradient, hessian = 0.0, np.zeros(len(weights)), np.zeros((len(weights), len(weights)))
    for contest in data:
        scores = contest.differences @ weights.astype(np.float32)
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


def fit(data: Sequence[Contests], kept: Sequence[int]) -> Doubles:
    """(d,) the weights that make the relevant items likeliest; 0 for every feature that is not `kept`."""
    columns = list(kept)
    weights = np.zeros(data[0].differences.shape[2])
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
