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


def join(
    groups: Groups, grouped: Groups, rows: Vectors, new: Sequence[int], cap: int, least: float
) -> Groups:
    """`groups`, and in them the `new` rows: each in the nearest that is not full, or alone, in their order.

    How near, is said by the mean cosine with the rows that were `grouped`, without those that joined since.
    """
    groups = [[*members] for members in groups]
    if new and grouped:
        means = np.stack([rows[members].mean(axis=0) for members in grouped])
        near = (rows[list(new)] @ means.T).round(6)  # a product's last bit depends on how many there are
    for place, row in enumerate(new):
        open_ = [len(members) < cap for members in groups[: len(grouped)]]
        best = int(np.where(open_, near[place], -np.inf).argmax()) if any(open_) else -1
        if best >= 0 and near[place, best] >= least:
            groups[best].append(row)
        else:
            groups.append([row])
    return groups
