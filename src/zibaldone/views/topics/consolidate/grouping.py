"""Putting like with like, by vectors: for headings, new documents, splits and merges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import unit

_AT_ONCE = 2_000  # rows that are compared with each other


def cluster(vectors: Vectors, sizes: Sequence[int], threshold: float, most: float) -> list[list[int]]:
    """Rows (n, d) in groups, each in rising order, in the order of their first.

    The two groups whose centroids have the highest cosine are joined, as long as it is `threshold` or more
    and their sizes add up to `most` or less. More rows than _AT_ONCE are grouped in runs of so many.
    """
    found = []
    for start in range(0, len(vectors), _AT_ONCE):
        end = start + _AT_ONCE
        groups = _clustered(vectors[start:end], sizes[start:end], threshold, most)
        found += [[start + row for row in group] for group in groups]
    return found


def _clustered(vectors: Vectors, sizes: Sequence[int], threshold: float, most: float) -> list[list[int]]:
    n = len(vectors)
    members = [[row] for row in range(n)]
    if n < 2:
        return members
    sums = np.array(vectors, dtype=np.float32)
    centroids = unit(sums)
    size = np.array(sizes, dtype=np.float64)
    alive = np.ones(n, dtype=bool)
    like = sums @ sums.T
    like[size[:, None] + size[None, :] > most] = -2
    np.fill_diagonal(like, -2)
    partner = like.argmax(axis=1)
    best = like[np.arange(n), partner]
    while True:
        first = int(best.argmax())
        if best[first] < threshold:
            return sorted(group for group in members if group)
        second = int(partner[first])
        members[first] = sorted(members[first] + members[second])
        members[second] = []
        alive[second] = False
        sums[first] += sums[second]
        size[first] += size[second]
        centroids[first] = unit(sums[first : first + 1])[0]
        like[second, :] = like[:, second] = -2
        row = centroids @ centroids[first]
        row[~alive | (size + size[first] > most)] = -2
        row[first] = -2
        like[first, :] = like[:, first] = row
        # Whose best partner has changed is looked for anew; all others can only have won the new one.
        again = np.flatnonzero((partner == first) | (partner == second))
        again = np.union1d(again, (first, second))
        nearer = (row > best) | ((row == best) & (first < partner))
        partner[nearer], best[nearer] = first, row[nearer]
        partner[again] = like[again].argmax(axis=1)
        best[again] = like[again, partner[again]]
