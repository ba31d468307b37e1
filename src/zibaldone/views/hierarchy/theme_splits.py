"""Ways to split a theme: several, all deterministic, for the objective to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.views.hierarchy.graph import Floats

Partition = tuple[tuple[int, ...], ...]  # places of members, rising; the parts by their first member

_ROUNDS = 8  # of 2-means; a dozen members settle sooner


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
    found: dict[Partition, None] = {}
    for parts in (
        _components(cosines >= component),
        *_slices(along),
        _two_means(exact, along),
        *_linkage(cosines),
    ):
        fitting = [fit for part in parts for fit in _fitting(sorted(part), along, cap)]
        if len(fitting) > 1:
            found[tuple(sorted(tuple(part) for part in fitting))] = None
    return list(found)


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


def _components(linked: np.ndarray) -> list[list[int]]:
    parts: list[list[int]] = []
    left = set(range(len(linked)))
    while left:
        part, edge = set(), {min(left)}
        while edge:
            part |= edge
            edge = {int(place) for one in edge for place in np.flatnonzero(linked[one])} - part
        parts.append(sorted(part))
        left -= part
    return parts


def _slices(along: Floats) -> Iterator[list[list[int]]]:
    order = np.lexsort((np.arange(len(along)), along)).tolist()
    gaps = np.diff(along[order])
    n = len(order)
    for cuts in ([n // 2], [n // 3, 2 * n // 3], [int(gaps.argmax()) + 1]):
        yield [order[a:b] for a, b in pairwise([0, *cuts, n]) if b > a]


def _two_means(rows: Floats, along: Floats) -> list[list[int]]:
    second = along > np.median(along)
    for _ in range(_ROUNDS):
        if second.all() or not second.any():
            break
        means = np.stack([rows[~second].mean(axis=0), rows[second].mean(axis=0)])
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        np.divide(means, lengths, out=means, where=lengths > 0)
        nearer = rows @ means.T
        again = nearer[:, 1] > nearer[:, 0]
        if (again == second).all():
            break
        second = again
    return [part for part in (np.flatnonzero(~second).tolist(), np.flatnonzero(second).tolist()) if part]


def _linkage(cosines: Floats) -> Iterator[Sequence[list[int]]]:
    parts = [[place] for place in range(len(cosines))]
    near = cosines.copy()  # sums of cosines between parts
    while len(parts) > 2:
        sizes = np.array([len(part) for part in parts], dtype=np.float64)
        mean = near / np.outer(sizes, sizes)
        mean[np.tril_indices(len(parts))] = -np.inf
        a, b = divmod(int(mean.argmax()), len(parts))
        parts[a] += parts.pop(b)
        near[a] += near[b]
        near[:, a] += near[:, b]
        near = np.delete(np.delete(near, b, axis=0), b, axis=1)
        if len(parts) <= 3:
            yield [list(part) for part in parts]
