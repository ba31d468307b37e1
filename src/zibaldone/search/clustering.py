"""Group similar rows: agglomerative clustering and 2-means, over numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from zibaldone.models.embedding import unit as unit

Matrix = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]

_ROUNDS = 8  # of 2-means; a few dozen rows settle sooner


def agglomerate(
    similarity: Matrix,
    *,
    linkage: Literal["mean", "centroid"],
    least: float = -np.inf,
    sizes: Sequence[float] | None = None,
    most: float = np.inf,
) -> list[list[int]]:
    """Rows in groups, each rising, by their first: the likeliest two are joined while that reaches `least`.

    `similarity` is (n, n) and symmetric. "mean": two groups are as similar as their rows are on average;
    "centroid": as the cosine of their sums, `similarity` being the rows' inner products. Groups whose `sizes`
    together exceed `most` are not joined. Similarities that differ by less than 1e-6 are equal.
    """
    n = len(similarity)
    groups = [[row] for row in range(n)]  # a row that is joined with an earlier one leaves an empty group
    if n < 2:
        return groups
    sums = similarity.astype(np.float64)  # of similarities between groups
    size = np.ones(n) if sizes is None else np.array(sizes, dtype=np.float64)
    weight = np.ones(n) if linkage == "mean" else np.sqrt(np.maximum(np.diag(sums), 0))
    alive = np.ones(n, dtype=np.bool_)
    near = np.stack([_joined_with(row, sums, weight, size, alive, most) for row in range(n)])
    partner = near.argmax(axis=1)
    best = near[np.arange(n), partner]
    while True:
        a = int(best.argmax())
        b = int(partner[a])
        if best[a] == -np.inf or best[a] < least:
            return sorted(sorted(group) for group in groups if group)
        groups[a] += groups[b]
        groups[b] = []
        sums[a] += sums[b]
        sums[:, a] += sums[:, b]
        size[a] += size[b]
        weight[a] = weight[a] + weight[b] if linkage == "mean" else np.sqrt(max(sums[a, a], 0.0))
        alive[b] = False
        near[b, :] = near[:, b] = -np.inf
        row = near[a, :] = near[:, a] = _joined_with(a, sums, weight, size, alive, most)
        # Whose best partner has changed is looked for anew; all others can only have won the new one.
        stale = np.union1d(np.flatnonzero((partner == a) | (partner == b)), (a, b))
        prefers_a = (row > best) | ((row == best) & (a < partner))
        partner[prefers_a], best[prefers_a] = a, row[prefers_a]
        partner[stale] = near[stale].argmax(axis=1)
        best[stale] = near[stale, partner[stale]]


def _joined_with(row: int, sums: Matrix, weight: Matrix, size: Matrix, alive: Bools, most: float) -> Matrix:
    """(n,) how similar a group is to each other; -inf for what it cannot be joined with."""
    scale = weight[row] * weight
    similarities = np.divide(sums[row], scale, out=np.zeros(len(sums)), where=scale > 0).round(6)
    similarities[~alive | (size + size[row] > most)] = -np.inf
    similarities[row] = -np.inf
    return np.asarray(similarities)


def two_means(rows: Matrix, in_second: Bools) -> Bools:
    """Spherical 2-means of unit rows (n, d) from a first guess: (n,) True for rows of the second group.

    A group may be empty at the end only where the guess left it empty.
    """
    for _ in range(_ROUNDS):
        if in_second.all() or not in_second.any():
            break
        means = unit(np.stack([rows[~in_second].sum(axis=0), rows[in_second].sum(axis=0)]))
        similarities = rows @ means.T
        updated = np.asarray(similarities[:, 1] > similarities[:, 0])
        if (updated == in_second).all():
            break
        in_second = updated
    return in_second


def halves(vectors: Matrix, sizes: Sequence[float]) -> tuple[list[int], list[int]]:
    """Rows (n, d), at least two, in two groups of like rows, none with less than a quarter of the size.

    2-means from the row farthest from the mean and the row farthest from that; where it would leave one side
    too small, the rows are cut at half the size, along the line between the two centroids.
    """
    rows = unit(vectors)
    weights = np.array(sizes, dtype=np.float64)
    first = rows[int((rows @ rows.mean(axis=0)).argmin())]
    second = rows[int((rows @ first).argmin())]
    side = two_means(rows, np.asarray(rows @ second > rows @ first))
    if side.any() and not side.all():
        first, second = unit(np.stack([rows[~side].sum(axis=0), rows[side].sum(axis=0)]))
    if min(weights[side].sum(), weights[~side].sum()) * 4 < weights.sum():
        ranked = np.argsort(rows @ second - rows @ first, kind="stable")
        filled = np.cumsum(weights[ranked])
        cut = min(max(1, int(np.searchsorted(filled, filled[-1] / 2))), len(rows) - 1)
        side = np.zeros(len(rows), dtype=np.bool_)
        side[ranked[cut:]] = True
    return np.flatnonzero(~side).tolist(), np.flatnonzero(side).tolist()
