"""Putting like with like, by vectors: for headings, new documents, splits and merges."""

from __future__ import annotations

from collections.abc import Sequence

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import agglomerate

_AT_ONCE = 2_000  # rows that are compared with each other


def cluster(vectors: Vectors, sizes: Sequence[int], threshold: float, most: float) -> list[list[int]]:
    """Rows (n, d) in groups, each in rising order, in the order of their first.

    The two groups whose centroids have the highest cosine are joined, as long as it is `threshold` or more
    and their sizes add up to `most` or less. More rows than _AT_ONCE are grouped in runs of so many.
    """
    clusters = []
    for start in range(0, len(vectors), _AT_ONCE):
        end = start + _AT_ONCE
        rows = vectors[start:end]
        groups = agglomerate(
            rows @ rows.T, linkage="centroid", least=threshold, sizes=sizes[start:end], most=most
        )
        clusters += [[start + row for row in group] for group in groups]
    return clusters
