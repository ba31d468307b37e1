"""What goes together: like with like, by vectors, and as much in order as has room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import agglomerate

T = TypeVar("T")
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


def bundles(things: Iterable[T], sizes: Iterable[int], limit: float) -> Iterator[list[T]]:
    """In order, with sizes of `limit` at most together, unless a lone one has more."""
    some: list[T] = []
    total = 0
    for thing, size in zip(things, sizes, strict=True):
        if some and total + size > limit:
            yield some
            some, total = [], 0
        some.append(thing)
        total += size
    if some:
        yield some
