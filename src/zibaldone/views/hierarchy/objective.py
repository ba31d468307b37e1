"""The guidance objective f(P) of section 3.2, Eqs. 1 to 3: how searchable and how faithful themes are.

f is large for themes of one size that cohere, and none of which is a near copy of its neighbour or far from
all. It is at its largest where every semantic is alone (`python -m benchmarks.xmemory`): so it chooses among
splits and among merges, and what may be split or merged is decided by sizes and a cosine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import unit
from zibaldone.search.lexical import Doubles, Ints

EPSILON = 1e-8  # in Eq. 3's sigma


def sparsity_score(sizes: Ints) -> float:
    """Eq. 2, N² / (K Σ n_k²), of the sizes n_k (K,); 1 if all are alike."""
    return float(sizes.sum()) ** 2 / (len(sizes) * float((sizes * sizes).sum()))


def g(nearest: Doubles) -> Doubles:
    """Eq. 3's regulariser of s_k (K,): 1 at the median; a lone theme, which has no s_k, is at it."""
    if len(nearest) == 1:
        return np.ones(1)
    off = nearest - np.median(nearest)
    sigma = np.median(np.abs(off)) + EPSILON
    return np.asarray(np.exp(-(off * off) / (2 * sigma * sigma)))


def sem_score(cohesion: Doubles, nearest: Doubles) -> float:
    """Eq. 3, of the mean cosines between members and centroid (K,), and of s_k (K,)."""
    return float((cohesion * g(nearest)).mean())


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A partition P into themes; arrays have a row for each, ids rising. Immutable."""

    ids: Ints  # (K,)
    sizes: Ints  # (K,) n_k
    sums: Doubles  # (K, d) of the members' unit vectors
    cosines: Doubles  # (K, K) between centroids; -inf with itself

    @staticmethod
    def nothing(dimension: int) -> Partition:
        """Make a partition of no semantics."""
        none = np.zeros(0, dtype=np.int64)
        return Partition(none, none, np.zeros((0, dimension)), np.zeros((0, 0)))

    def changed(self, gone: Sequence[int], come: Mapping[int, Vectors]) -> Partition:
        """Take the themes `gone` out, and others in: rows (n, d) of members by id, in the members' order."""
        kept = np.flatnonzero(~np.isin(self.ids, list(gone)))
        new = [unit(rows.astype(np.float64)).sum(axis=0) for rows in come.values()]
        sums = np.vstack([self.sums[kept], *new])
        ids = np.concatenate([self.ids[kept], np.fromiter(come, np.int64, len(come))])
        sizes = np.concatenate([self.sizes[kept], np.array([len(rows) for rows in come.values()], np.int64)])
        cosines = np.full((len(ids), len(ids)), -np.inf)
        cosines[: len(kept), : len(kept)] = self.cosines[np.ix_(kept, kept)]
        # Rounded, since a product of other rows beside it may differ in its last digit.
        cosines[len(kept) :] = (unit(sums[len(kept) :]) @ unit(sums).T).round(6)
        cosines[:, len(kept) :] = cosines[len(kept) :].T
        np.fill_diagonal(cosines, -np.inf)
        order = np.argsort(ids)
        return Partition(ids[order], sizes[order], sums[order], cosines[np.ix_(order, order)])

    def f(self) -> float:
        """Eq. 1."""
        cohesion = np.linalg.norm(self.sums, axis=1) / self.sizes  # of unit vectors
        return sparsity_score(self.sizes) + sem_score(cohesion, self.cosines.max(axis=1))

    def nearest(self, vector: Vectors) -> list[tuple[int, float]]:
        """Themes by the cosine of their centroids with a vector (d,), nearest first."""
        near = (unit(self.sums) @ unit(vector[None].astype(np.float64))[0]).round(6)
        return [(int(self.ids[place]), float(near[place])) for place in np.argsort(-near, kind="stable")]
