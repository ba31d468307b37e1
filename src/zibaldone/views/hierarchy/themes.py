"""Themes: semantics that belong together, for whoever looks around in a memory. Recall does without them.

They are made in one go of all semantics, by average linkage inside of blocks of like ones. Until there are
half as many again, each new one joins the theme that it is nearest to, or begins one. So themes depend on the
semantics, their order and the settings alone, not on the batches in which they came, nor on what was
forgotten; and what is spent on one semantic does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import agglomerate, halves

CAP = 12  # semantics per theme; appendix B.3
_AT_ONCE = 64  # so few are always put together anew
_BLOCK = 512  # semantics that are compared with each other
_JOINED_AT_ONCE = 256  # of those that join later: bounds the memory of a product with all groups
_EQUAL = 2e-6

Groups = list[list[int]]  # places of rows, rising in each


def grouped_at(number: int) -> int:
    """How many of so many semantics were there when they were last grouped as a whole."""
    at = min(number, _AT_ONCE)
    while at >= _AT_ONCE and at * 3 // 2 <= number:
        at = at * 3 // 2
    return at


def group(rows: Vectors, cap: int, least: float) -> Groups:
    """Rows (n, d) in themes of at most `cap`, by their first: joined while their mean cosine is `least`."""
    groups: Groups = []
    todo = [np.arange(len(rows))]
    while todo:
        block = todo.pop()
        if len(block) > _BLOCK:
            todo.extend(block[side] for side in halves(rows[block], np.ones(len(block)).tolist()))
            continue
        near = rows[block] @ rows[block].T
        parts = agglomerate(near, linkage="mean", least=least, sizes=[1.0] * len(block), most=cap)
        groups.extend(block[part].tolist() for part in parts)
    return sorted(groups)


class Anchors:
    """Groups that were made in one go, as what comes later sees them.

    How near one is, is said by the mean cosine with the rows that were grouped, without those that joined
    since.
    """

    def __init__(self, means: Vectors, sizes: Sequence[int]) -> None:
        """`means` (g, d) of the rows that were grouped; `sizes`: how many rows each group has by now."""
        self._means = means
        self._sizes = np.array(sizes, dtype=np.int64)

    def join(self, rows: Vectors, cap: int, least: float) -> list[int]:
        """Each of the rows (n, d), in their order: the place of the nearest group that is not full; or -1."""
        joined = []
        for start in range(0, len(rows), _JOINED_AT_ONCE):
            for near in rows[start : start + _JOINED_AT_ONCE] @ self._means.T:
                place = self._nearest(near, cap, least)
                if place >= 0:
                    self._sizes[place] += 1
                joined.append(place)
        return joined

    def _nearest(self, near: Vectors, cap: int, least: float) -> int:
        """A product's last bit depends on how many there are, so what is equal to six places is equal."""
        open_ = np.where(self._sizes < cap, near, -np.inf)
        highest = open_.max(initial=-np.inf)
        if highest == -np.inf:
            return -1
        places = np.flatnonzero(open_ >= highest - _EQUAL)
        rounded = near[places].round(6)
        best = int(rounded.argmax())
        return int(places[best]) if rounded[best] >= least else -1
