"""Guided attach, split and merge of themes as semantics arrive (section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import agglomerate, halves, unit
from zibaldone.views.checked_settings import Cosine, Count, settings
from zibaldone.views.hierarchy.objective import Partition

_LINKED = (0.25, 0.5, 0.75, 0.9)  # quantiles of a theme's cosines, at which its split candidates are cut
Groups = list[list[int]]  # ids of semantics, rising in each


@settings
class Guided:
    """Settings of guided themes; cosines and counts are the paper's code's, for `text-embedding-3-small`."""

    attach: Cosine = 0.62  # to a theme's centroid, at least; below it a semantic begins a theme
    tiny: Count = 1  # semantics of a theme to be merged, at most
    merge_least: Cosine = 0.5  # of a tiny theme's centroid and that of a theme which it may join
    k: Count = 10  # themes that a tiny one may join
    split: bool = True  # the ablations of section 5.3
    merge: bool = True


@dataclass(frozen=True, slots=True)
class _Change:
    """Groups in the place of themes, and the partition afterwards."""

    gone: Sequence[int]
    come: Mapping[int, list[int]]  # ids of semantics by theme
    after: Partition


class GuidedThemes:
    """Every semantic in exactly one theme. What it does next depends on its members and their vectors alone.

    The larger part of a theme keeps its id, so as few semantics as can be are reassigned.
    """

    def __init__(self, config: Guided, cap: int, dimension: int) -> None:
        self.of: dict[int, int] = {}  # theme by semantic
        self.members: dict[int, list[int]] = {}  # ids of semantics by theme, rising; lists never change
        self.partition = Partition.nothing(dimension)
        self.reassigned: set[int] = set()  # semantics whose theme has changed (section 5.3)
        self._config, self._cap = config, cap
        self._rows: dict[int, Vectors] = {}

    def restore(self, of: Mapping[int, int], rows: Mapping[int, Vectors]) -> None:
        """Fill empty themes: theme and vector (d,) by semantic."""
        self._rows = dict(rows)
        groups: dict[int, list[int]] = {theme: [] for theme in sorted(set(of.values()))}
        for semantic in sorted(of):
            groups[of[semantic]].append(semantic)
        self._make(_Change((), groups, self.partition.changed((), self._stacked(groups))))

    def add(self, semantic: int, vector: Vectors) -> None:
        """Attach a semantic to the most similar theme, or begin one; then split, and merge."""
        self._rows[semantic] = vector
        near = self.partition.nearest(vector)[:1]
        joined = [theme for theme, cosine in near if cosine >= self._config.attach]
        members = sorted([semantic, *(one for theme in joined for one in self.members[theme])])
        themes = self._make(self._change(joined, [members]))
        if self._config.split and len(members) > self._cap:
            splits = [self._change(themes, groups) for groups in self._splits(members)]
            themes = self._make(max(splits, key=_worth))
        if self._config.merge:
            for theme in themes:
                self._merge(theme)

    def _splits(self, members: Sequence[int]) -> list[Groups]:
        """Clusterings of a crowded theme: by 2-means, and by average linkage down to some cosines."""
        rows = unit(self._stack(members))
        near = (rows @ rows.T).astype(np.float64).round(6)
        sizes = [1.0] * len(members)
        cuts = np.quantile(near[np.triu_indices(len(members), 1)], _LINKED)
        ways = [list(halves(rows, sizes))]
        ways += [agglomerate(near, linkage="mean", least=c, sizes=sizes, most=self._cap) for c in cuts]
        return [[[members[place] for place in part] for part in way] for way in ways]

    def _merge(self, theme: int) -> None:
        """Let a tiny theme join one of its nearest, where that raises f."""
        members = self.members.get(theme, [])  # none where a merge before took them
        if not 0 < len(members) <= self._config.tiny:
            return
        near = self.partition.nearest(unit(self._stack(members)).sum(axis=0))
        others = [other for other, cosine in near if other != theme and cosine >= self._config.merge_least]
        merges = [
            self._change([theme, other], [sorted(members + self.members[other])])
            for other in others[: self._config.k]
            if len(members) + len(self.members[other]) <= self._cap
        ]
        best = max(merges, key=_worth, default=None)
        if best and _worth(best) > round(self.partition.f(), 9):
            self._make(best)

    def _change(self, gone: Sequence[int], groups: Groups) -> _Change:
        """Put groups in the place of themes. Each has the id of the theme it has most of, or a new one."""
        free, new, come = list(gone), max(self.members, default=0), {}
        for group in sorted(groups, key=lambda group: (-len(group), group[0])):
            shared = {theme: len(set(group).intersection(self.members[theme])) for theme in free}
            theme = max(free, key=lambda theme: (shared[theme], -theme), default=0)
            if theme:
                free.remove(theme)
            else:
                theme = new = new + 1
            come[theme] = group
        return _Change(gone, come, self.partition.changed(gone, self._stacked(come)))

    def _make(self, change: _Change) -> list[int]:
        """Make a change; returns the themes that came."""
        for theme in change.gone:
            del self.members[theme]
        self.members |= change.come
        of = {semantic: theme for theme, group in change.come.items() for semantic in group}
        self.reassigned |= {one for one in of.keys() & self.of.keys() if of[one] != self.of[one]}
        self.of |= of
        self.partition = change.after
        return list(change.come)

    def _stacked(self, groups: Mapping[int, Sequence[int]]) -> dict[int, Vectors]:
        return {theme: self._stack(group) for theme, group in groups.items()}

    def _stack(self, semantics: Sequence[int]) -> Vectors:
        return np.stack([self._rows[one] for one in semantics])


def _worth(change: _Change) -> float:
    return round(change.after.f(), 9)
