"""Putting like with like, by vectors: for headings, new documents, splits and merges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zibaldone.models.base import Vectors


def unit(rows: Vectors) -> Vectors:
    """Rows (n, d) of length 1; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0), dtype=np.float32)


def cluster(vectors: Vectors, sizes: Sequence[int], threshold: float, most: float) -> list[list[int]]:
    """Rows (n, d) in groups, each in rising order, in the order of their first.

    The two groups whose centroids have the highest cosine are joined, as long as it is `threshold` or more
    and their sizes add up to `most` or less.
    """
    n = len(vectors)
    members = [[row] for row in range(n)]
    if n < 2:
        return members
    sums = np.array(vectors, dtype=np.float32)
    size = np.array(sizes, dtype=np.float64)
    like = sums @ sums.T
    like[size[:, None] + size[None, :] > most] = -2
    np.fill_diagonal(like, -2)
    best = like.max(axis=1)
    while True:
        first = int(best.argmax())
        if best[first] < threshold:
            return sorted(group for group in members if group)
        second = int(like[first].argmax())
        members[first] = sorted(members[first] + members[second])
        members[second] = []
        sums[first] += sums[second]
        size[first] += size[second]
        like[second, :] = like[:, second] = -2
        alive = np.array([bool(group) for group in members])
        row = unit(sums) @ unit(sums[first : first + 1])[0]
        row[~alive | (size + size[first] > most)] = -2
        row[first] = -2
        like[first, :] = like[:, first] = row
        best = like.max(axis=1)


def halves(vectors: Vectors, sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Rows (n, d), at least two, in two groups of like rows, none with less than a quarter of the size.

    Two centroids, from the row farthest from the mean and the row farthest from that; where they would leave
    one side too small, the rows are cut at half the size, along the line between the two.
    """
    rows = unit(vectors)
    weights = np.array(sizes, dtype=np.float64)
    one = rows[int((rows @ rows.mean(axis=0)).argmin())]
    other = rows[int((rows @ one).argmin())]
    for _ in range(8):
        lean = rows @ one - rows @ other
        side = lean >= 0
        if side.all() or not side.any():
            break
        one, other = unit(np.stack([rows[side].sum(axis=0), rows[~side].sum(axis=0)]))
    lean = rows @ one - rows @ other
    side = lean >= 0
    if min(weights[side].sum(), weights[~side].sum()) * 4 < weights.sum():
        ranked = np.argsort(lean, kind="stable")
        filled = np.cumsum(weights[ranked])
        cut = min(max(1, int(np.searchsorted(filled, filled[-1] / 2))), len(rows) - 1)
        side = np.zeros(len(rows), dtype=bool)
        side[ranked[:cut]] = True
    return np.flatnonzero(side).tolist(), np.flatnonzero(~side).tolist()
