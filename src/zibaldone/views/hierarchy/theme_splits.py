"""Ways to split a theme: several, all deterministic, for the objective to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import agglomerations, components, two_means
from zibaldone.views.hierarchy.graph import Floats

Partition = tuple[tuple[int, ...], ...]  # places of members, rising; the parts by their first member


def mean_cosine(rows: Vectors) -> float:
    """Of all pairs of the unit rows (n, d); 1 for a single row."""
    n = len(rows)
    total = rows.astype(np.float64).sum(axis=0)
    return float((total * total).sum() - n) / (n * (n - 1)) if n > 1 else 1.0


def partitions(rows: Vectors, component: float, cap: int) -> list[Partition]:
    """Partitions of the unit rows (n, d), n > 1, into two parts or more of at most `cap`, each once.

    Connected components where a cosine is at least `component`; along the first principal component: halves,
    thirds, the widest gap; 2-means that starts from the halves; average linkage with two and three parts.
    """
    exact = rows.astype(np.float64)
    cosines = exact @ exact.T
    along = _along(exact)
    second = two_means(exact, np.asarray(along > np.median(along)))
    linked = [parts for parts in agglomerations(cosines, linkage="mean") if 2 <= len(parts) <= 3]
    candidates: list[Sequence[list[int]]] = [
        components(cosines >= component),
        *_slices(along),
        [part for part in (np.flatnonzero(~second).tolist(), np.flatnonzero(second).tolist()) if part],
        *linked,
    ]
    fitting: dict[Partition, None] = {}
    for parts in candidates:
        fit = [piece for part in parts for piece in _fitting(sorted(part), along, cap)]
        if len(fit) > 1:
            fitting[tuple(sorted(tuple(piece) for piece in fit))] = None
    return list(fitting)


def _along(rows: Floats) -> Floats:
    """(n,) places on the first principal component; its sign is that of the farthest row."""
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centred @ centred.T)
    along: Floats = vectors[:, -1]
    return along if along[np.abs(along).argmax()] >= 0 else -along


def _fitting(part: list[int], along: Floats, cap: int) -> Iterator[list[int]]:
    """A part as it is, or in as many even slices along the component as it takes."""
    count = -(-len(part) // cap)
    ordered = sorted(part, key=lambda place: (along[place], place)) if count > 1 else part
    for edges in pairwise(len(part) * edge // count for edge in range(count + 1)):
        yield sorted(ordered[slice(*edges)])


def _slices(along: Floats) -> Iterator[list[list[int]]]:
    order = np.lexsort((np.arange(len(along)), along)).tolist()
    gaps = np.diff(along[order])
    n = len(order)
    for cuts in ([n // 2], [n // 3, 2 * n // 3], [int(gaps.argmax()) + 1]):
        yield [order[a:b] for a, b in pairwise([0, *cuts, n]) if b > a]
