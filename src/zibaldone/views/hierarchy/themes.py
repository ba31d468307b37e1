"""Themes: semantics that belong together, for whoever looks around in a memory. Recall does without them.

They are made when they are looked at, of all semantics, by average linkage inside of blocks of like ones. So
they depend on the semantics, their order and the cap alone. A cosine alone says nothing: in one embedder two
unrelated sentences have 0.1 and in another 0.7. So what all of a user's semantics have in common is taken out
before they are compared, and one number does for every embedder.
"""

from __future__ import annotations

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import agglomerate, halves, unit

CAP = 12  # semantics per theme; appendix B.3
TOGETHER = 0.35  # mean cosine of the semantics of a theme
FETCH = 0.52  # cosine of an episode and of a semantic that says what is known of it
_BLOCK = 256  # semantics that are compared with each other
_FEW = 20  # semantics before which the mean of all is not trusted

Groups = list[list[int]]  # places of rows, rising in each


def common(rows: Vectors) -> Vectors:
    """(d,) what unit rows (n, d) have in common."""
    return np.asarray(rows.sum(axis=0) / (len(rows) + _FEW), dtype=np.float32)


def group(rows: Vectors, cap: int) -> Groups:
    """Unit rows (n, d) in themes of at most `cap`, by their first: joined while they are alike enough."""
    rows = unit(rows - common(rows))
    groups: Groups = []
    todo = [np.arange(len(rows))]
    while todo:
        block = todo.pop()
        if len(block) > _BLOCK:
            todo.extend(block[side] for side in halves(rows[block], np.ones(len(block)).tolist()))
            continue
        near = rows[block] @ rows[block].T
        parts = agglomerate(near, linkage="mean", least=TOGETHER, sizes=[1.0] * len(block), most=cap)
        groups.extend(block[part].tolist() for part in parts)
    return sorted(groups)
