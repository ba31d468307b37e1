"""Themes, online (section 3.2): a semantic is attached, crowded themes split, tiny and near ones merge.

Which theme takes a semantic is decided by cosines (`calibration.Thresholds`); every restructuring is the
candidate of the largest f, and one that is not forced by the cap must raise f.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.views.hierarchy.calibration import Thresholds
from zibaldone.views.hierarchy.changes import Changes, ThemeMove
from zibaldone.views.hierarchy.graph import Neighbours, on_grid
from zibaldone.views.hierarchy.objective import Group, Objective, Regrouping, group
from zibaldone.views.hierarchy.theme_splits import Partition, mean_cosine, partitions

CAP = 12  # semantics per theme; appendix B.3
_MERGES = 2  # at most so many per semantic
_TINY = 1  # semantics in a theme that is content with a farther neighbour
_GAIN = 1e-12  # what rounding may add to f


class ThemeMap:
    """Every semantic in exactly one theme, no theme with more than `cap`.

    What it will do depends on its members, their vectors and its next id, not on how it came to them: a
    restored map goes on as the one that was stored. Theme ids rise and are not given twice.
    """

    def __init__(
        self,
        dimension: int,
        thresholds: Thresholds,
        *,
        cap: int = CAP,
        split: bool = True,
        merge: bool = True,
    ) -> None:
        self._thresholds, self._cap, self._split, self._merge = thresholds, cap, split, merge
        self._dimension = dimension
        self._objective = Objective(dimension)
        self._rows: dict[int, Vectors] = {}
        self._theme: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}  # ids rising
        self._next = 1
        self._reassigned: set[int] = set()

    def restore(
        self,
        assignments: Mapping[int, int],
        vectors: Mapping[int, Vectors],
        *,
        next_theme: int,
        reassigned: Iterable[int] = (),
        neighbours: Mapping[int, Neighbours] | None = None,
    ) -> ThemeMap:
        """Fill this empty map with what another held.

        `assignments`: theme by semantic; `vectors`: by semantic, as they were added, bit for bit;
        `neighbours`: the themes' stored lists, without which all centroids are compared with each other.
        """
        assert not self._theme
        self._theme = dict(assignments)
        self._rows = {semantic: vectors[semantic] for semantic in assignments}
        members = defaultdict(list)
        for semantic in sorted(assignments):
            members[assignments[semantic]].append(semantic)
        self._members = {theme: members[theme] for theme in sorted(members)}
        self._next, self._reassigned = next_theme, set(reassigned)
        groups = {theme: self._group(ids) for theme, ids in self._members.items()}
        self._objective = Objective.restore(self._dimension, groups, neighbours)
        return self

    def __len__(self) -> int:
        return len(self._members)

    @property
    def next_theme(self) -> int:
        """The id of the next theme; to be stored."""
        return self._next

    @property
    def reassigned(self) -> frozenset[int]:
        """Semantics whose theme was changed at some time; to be stored."""
        return frozenset(self._reassigned)

    @property
    def assignments(self) -> Mapping[int, int]:
        return self._theme

    @property
    def themes(self) -> Mapping[int, list[int]]:
        return self._members

    def theme(self, semantic: int) -> int:
        """KeyError when it is not in."""
        return self._theme[semantic]

    def centroid(self, theme: int) -> Vectors:
        """(d,) of unit length; zero when all members are."""
        total = self._group(self._members[theme]).total
        length = float(np.sqrt((total * total).sum()))
        return (total / length if length > 0 else total).astype(np.float32)

    def listed(self, theme: int) -> Neighbours:
        """The theme's nearest ten, of any similarity: as they are to be stored."""
        return self._objective.graph.neighbours(theme)

    def neighbours(self, theme: int) -> Neighbours:
        """Of the nearest ten those of a similarity above 0: the theme kNN graph's edges."""
        near = self.listed(theme)
        kept = sum(similarity > 0 for similarity in near.similarities)
        return Neighbours(near.ids[:kept], near.similarities[:kept])

    def f(self) -> float:
        """The guidance objective, Eq. 1; 0 when empty."""
        return self._objective.value()

    def scores(self) -> tuple[float, float]:
        return self._objective.parts()

    def add(self, semantic: int, vector: Vectors) -> Changes:
        """Put one semantic in its theme: the vector (d,) is of unit length, or zero. ValueError: it is in."""
        if semantic in self._theme:
            raise ValueError(f"semantic {semantic!r} is in theme {self._theme[semantic]!r} already")
        before = _Before(self)
        self._rows[semantic] = vector
        theme = self._attached_to(vector)
        if theme is None:
            touched = self._regroup([], [[semantic]], before)
        else:
            members = [*self._members[theme]]
            insort(members, semantic)
            touched = self._regroup([theme], self._partition(theme, members), before)
        self._consolidate(touched, before)
        return self._told(before)

    def remove(self, semantics: Collection[int]) -> Changes:
        """Take semantics out. A theme without members goes; what is left of one may merge."""
        before = _Before(self)
        left: dict[int, list[int]] = {}
        for semantic in sorted(semantics):
            theme = self._theme.pop(semantic)
            left.setdefault(theme, self._members[theme]).remove(semantic)
            del self._rows[semantic]
            self._reassigned.discard(semantic)
        kept = {theme: self._group(members) for theme, members in left.items() if members}
        gone = [theme for theme, members in left.items() if not members]
        for theme in gone:
            del self._members[theme]
        before.relinked.update(self._objective.change(kept, gone))
        before.touched.update(left)
        for theme in sorted(kept):
            if theme in self._members:
                self._consolidate([theme], before)
        return self._told(before)

    def _attached_to(self, vector: Vectors) -> int | None:
        """The nearest theme when it is near enough, or joining it gives the larger f; None: a new one."""
        themes = self._objective.graph.ids
        if not len(themes):
            return None
        near = self._objective.graph.similarities(on_grid(vector[None]))[:, 0]
        if not self._split:
            near[self._objective.sizes >= self._cap] = -np.inf
        place = int(near.argmax())
        theme, similarity = int(themes[place]), float(near[place])
        if similarity >= self._thresholds.attach:
            return theme
        if similarity < self._thresholds.lenient or len(self._members[theme]) >= self._cap:
            return None
        own = group(vector[None])
        joined = Group(len(self._members[theme]) + 1, self._group(self._members[theme]).total + own.total)
        attached, alone = self._objective.after([Regrouping((theme,), (joined,)), Regrouping((), (own,))])
        return theme if attached > alone else None

    def _partition(self, theme: int, members: list[int]) -> list[list[int]]:
        """A theme's members as they are, or split: when there are too many, or they are of several minds."""
        crowded = len(members) > self._cap
        if not self._split or (not crowded and len(members) < 2 * self._cap // 3):
            return [members]
        rows = np.stack([self._rows[one] for one in members])
        if not crowded and mean_cosine(rows) >= self._thresholds.coherence:
            return [members]
        splits: list[Partition] = [] if crowded else [(tuple(range(len(members))),)]
        splits.extend(partitions(rows, self._thresholds.component, self._cap))
        choices = [[[members[place] for place in part] for part in parts] for parts in splits]
        values = self._objective.after(
            [Regrouping((theme,), tuple(self._group(part) for part in parts)) for parts in choices]
        )
        best = 0
        for place, value in enumerate(values):
            if value > values[best] + _GAIN:
                best = place
        return choices[best]

    def _consolidate(self, seeds: Iterable[int], before: _Before) -> None:
        """Merge these themes with near ones, as long as that raises f."""
        if not self._merge:
            return
        seeds = list(seeds)
        for _ in range(_MERGES):
            pairs = sorted({pair for seed in seeds for pair in self._pairs(seed)})
            if not pairs:
                return
            joint = [sorted(self._members[a] + self._members[b]) for a, b in pairs]
            values = self._objective.after(
                [Regrouping(pair, (self._group(ids),)) for pair, ids in zip(pairs, joint, strict=True)]
            )
            best = int(np.argmax(values))
            if values[best] <= self.f() + _GAIN:
                return
            (merged,) = self._regroup(pairs[best], [joint[best]], before)
            seeds = [merged, *(seed for seed in seeds if seed not in pairs[best])]

    def _pairs(self, seed: int) -> Iterable[tuple[int, int]]:
        near = self._objective.graph.neighbours(seed)
        size = len(self._members[seed])
        for theme, similarity in zip(near.ids, near.similarities, strict=True):
            other = len(self._members[theme])
            tiny = min(size, other) <= _TINY
            least = self._thresholds.lenient if tiny else self._thresholds.merge
            if similarity >= least and size + other <= self._cap:
                yield min(seed, theme), max(seed, theme)

    def _regroup(self, themes: Collection[int], groups: list[list[int]], before: _Before) -> list[int]:
        """Put groups in the place of themes; the ids of the groups.

        The largest group keeps the id of the theme that it has most of, the older one of equals: as few
        semantics as can be are reassigned. The other groups get new ids.
        """
        free = {theme: self._members.pop(theme) for theme in themes}
        named: dict[int, list[int]] = {}
        for part in sorted(groups, key=lambda part: (-len(part), part[0])):
            shared = [(-len(set(part) & set(members)), theme) for theme, members in free.items()]
            if shared:
                theme = min(shared)[1]
                del free[theme]
            else:
                theme, self._next = self._next, self._next + 1
            named[theme] = part
        for theme, part in named.items():
            self._members[theme] = part
            for semantic in part:
                before.old.setdefault(semantic, self._theme.get(semantic))
                self._theme[semantic] = theme
        before.touched.update(named, free)
        put = {theme: self._group(part) for theme, part in named.items()}
        before.relinked.update(self._objective.change(put, list(free)))
        return sorted(named)

    def _told(self, before: _Before) -> Changes:
        changes = before.changes(self)
        self._reassigned.update(move.semantic for move in changes.moves if move.old is not None)
        return changes

    def _group(self, members: list[int]) -> Group:
        return group(np.stack([self._rows[one] for one in members]))


class _Before:
    """What a change found, and what it touches."""

    def __init__(self, themes: ThemeMap) -> None:
        self.first_new = themes.next_theme
        self.old: dict[int, int | None] = {}
        self.touched: set[int] = set()
        self.relinked: set[int] = set()

    def changes(self, themes: ThemeMap) -> Changes:
        moves = tuple(
            ThemeMove(semantic, old, themes.theme(semantic))
            for semantic, old in sorted(self.old.items())
            if old != themes.theme(semantic)
        )
        there = {theme for theme in self.touched if theme in themes.themes}
        return Changes(
            moves,
            tuple(sorted(theme for theme in there if theme >= self.first_new)),
            tuple(sorted(theme for theme in there if theme < self.first_new)),
            tuple(sorted(theme for theme in self.touched - there if theme < self.first_new)),
            tuple(sorted(theme for theme in self.relinked if theme in themes.themes)),
        )
