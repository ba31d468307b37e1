"""The guidance objective of section 3.2: how searchable and how faithful a partition into themes is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.views.hierarchy.graph import Floats, Graph, Ints, Neighbours, on_grid

EPSILON = 1e-8  # added to the median absolute deviation in Eq. 3


@dataclass(frozen=True)
class Group:
    """What the objective knows of a theme: its size, and the sum of its members' unit vectors."""

    size: int
    total: Floats

    @cached_property
    def cohesion(self) -> float:
        """Mean cosine between members and centroid; of unit vectors that is |sum| / n. 0 for zero rows."""
        return float(np.sqrt((self.total * self.total).sum())) / self.size

    @cached_property
    def row(self) -> Vectors:
        """The centroid's direction, on the graph's grid."""
        length = self.cohesion * self.size
        direction = self.total / length if length > 0 else self.total
        return on_grid(direction.astype(np.float32))


def group(vectors: Vectors) -> Group:
    """A theme of these members (n, d), in the order of their ids: sums of floats depend on it."""
    rows = vectors.astype(np.float64)
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return Group(len(rows), rows.sum(axis=0))


@dataclass(frozen=True, slots=True)
class Regrouping:
    """A change that may be made: these themes go, these groups come."""

    removed: tuple[int, ...]
    groups: tuple[Group, ...]


def sparsity(sizes: Ints) -> float:
    """Eq. 2; 1 when all themes are of one size."""
    return float(sizes.sum()) ** 2 / (len(sizes) * float((sizes * sizes).sum()))


def g(nearest: Floats) -> Floats:
    """Eq. 3's regulariser of s_k: 1 at the median, near 0 for themes that are redundant or isolated.

    s_k is a maximum over the other themes. A lone theme has none, so it is neither redundant nor isolated:
    there is nothing to punish, and its g is 1. Then a first theme competes with its split in two, where
    s_1 = s_2 = m gives g = 1 as well, by cohesion and balance alone.
    """
    if len(nearest) == 1:
        return np.ones(1)
    middle = _median(nearest)
    off = nearest - middle
    sigma = _median(np.abs(off)) + EPSILON
    return np.asarray(np.exp(-(off * off) / (2 * sigma * sigma)))


def semantic(cohesion: Floats, nearest: Floats) -> float:
    """Eq. 3."""
    return float((cohesion * g(nearest)).sum()) / len(cohesion)


def objective(vectors: Vectors, themes: Sequence[Sequence[int]]) -> float:
    """f(P) of Eq. 1 from scratch: themes are lists of rows of vectors (N, d). 0 without any theme."""
    if not themes:
        return 0.0
    groups = [group(vectors[sorted(theme)]) for theme in themes]
    rows = np.stack([one.row for one in groups])
    sizes = np.array([one.size for one in groups])
    cohesion = np.array([one.cohesion for one in groups])
    return _f(sizes, cohesion, _cosines(rows).max(axis=1))


class Objective:
    """f of a partition that changes theme by theme: what is kept per theme is renewed for those touched.

    Kept are the sizes, the cohesions, and the centroids' kNN graph, whose first entries are the s_k. Sums
    over themes are taken afresh, in the order of ids: m and sigma move all g at once.
    """

    def __init__(self, dimension: int) -> None:
        self.graph = Graph(dimension, floor=-np.inf)
        self._sizes: Ints = np.zeros(0, dtype=np.int64)  # by rising theme id, as the graph's
        self._cohesion: Floats = np.zeros(0)
        self._value: float | None = None

    @staticmethod
    def restore(
        dimension: int, groups: Mapping[int, Group], neighbours: Mapping[int, Neighbours] | None = None
    ) -> Objective:
        """Of themes with rising ids; with their stored lists, or computed afresh."""
        made = Objective(dimension)
        rows = np.array([one.row for one in groups.values()], dtype=np.float32).reshape(-1, dimension)
        made.graph = Graph.restore(dimension, list(groups), rows, neighbours, floor=-np.inf, gridded=True)
        made._sizes = np.array([one.size for one in groups.values()], dtype=np.int64)
        made._cohesion = np.array([one.cohesion for one in groups.values()])
        return made

    def change(self, put: Mapping[int, Group], removed: Collection[int] = ()) -> tuple[int, ...]:
        """Themes come, change and go; gives those whose neighbours are not what they were."""
        gone = self._places(removed)
        self._sizes, self._cohesion = np.delete(self._sizes, gone), np.delete(self._cohesion, gone)
        ids = sorted(put)
        if ids:
            changed = self.graph.change(ids, np.stack([put[one].row for one in ids]), removed, gridded=True)
        else:
            changed = self.graph.remove(removed)
        new = len(self.graph) - len(self._sizes)
        self._sizes = np.concatenate([self._sizes, np.zeros(new, dtype=np.int64)])
        self._cohesion = np.concatenate([self._cohesion, np.zeros(new)])
        places = self._places(ids)
        self._sizes[places] = [put[one].size for one in ids]
        self._cohesion[places] = [put[one].cohesion for one in ids]
        self._value = None
        return changed

    @property
    def sizes(self) -> Ints:
        """(K,) by rising theme id."""
        return self._sizes

    def value(self) -> float:
        if self._value is None:
            self._value = _f(self._sizes, self._cohesion, self.graph.nearest())
        return self._value

    def parts(self) -> tuple[float, float]:
        if not len(self._sizes):
            return 0.0, 0.0
        return sparsity(self._sizes), semantic(self._cohesion, self.graph.nearest())

    def after(self, candidates: Sequence[Regrouping]) -> list[float]:
        """f(P) as it would be after each of these, nothing being changed."""
        groups = [one for candidate in candidates for one in candidate.groups]
        rows = np.stack([one.row for one in groups])
        near = self.graph.similarities(rows)
        among = _cosines(rows)
        nearest = self.graph.nearest()
        values, first = [], 0
        for candidate in candidates:
            own = slice(first, first := first + len(candidate.groups))
            gone = self._places(candidate.removed)
            left = nearest.copy()
            places, second = self.graph.nearest_without(candidate.removed)
            left[places] = second
            towards = near[:, own]
            left = np.delete(np.maximum(left, towards.max(axis=1)), gone)
            come = np.maximum(
                np.delete(towards, gone, axis=0).max(axis=0, initial=-np.inf), among[own, own].max(axis=1)
            )
            sizes = np.array([one.size for one in candidate.groups])
            cohesion = np.array([one.cohesion for one in candidate.groups])
            values.append(
                _f(
                    np.concatenate([np.delete(self._sizes, gone), sizes]),
                    np.concatenate([np.delete(self._cohesion, gone), cohesion]),
                    np.concatenate([left, come]),
                )
            )
        return values

    def _places(self, themes: Collection[int]) -> Ints:
        return np.searchsorted(self.graph.ids, np.array(sorted(themes), dtype=np.int64))


def _f(sizes: Ints, cohesion: Floats, nearest: Floats) -> float:
    return sparsity(sizes) + semantic(cohesion, nearest) if len(sizes) else 0.0


def _cosines(rows: Vectors) -> Floats:
    """(m, m) similarities of rows on the grid, -inf of each with itself."""
    near = Graph.compare(rows, rows)
    np.fill_diagonal(near, -np.inf)
    return near


def _median(values: Floats) -> float:
    middle = len(values) // 2
    if len(values) % 2:
        return float(np.partition(values, middle)[middle])
    low, high = np.partition(values, (middle - 1, middle))[middle - 1 : middle + 1]
    return float(low + high) / 2
