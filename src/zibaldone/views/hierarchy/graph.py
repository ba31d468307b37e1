"""The kNN graph over semantics and over themes (section 3.2): exact, and right in both directions.

Products of floats depend on the shape of the matrices that they are computed in, and two similarities that
differ in the last bit would make an updated graph differ from one computed afresh. So vectors are put on a
grid: whole numbers of 1/4080. Their products and all partial sums are whole numbers below 2^24, which
float32 holds without rounding, whatever the order of the sum. A similarity is off by about 0.0001, and is
the same number however it was computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from zibaldone.models.base import Vectors

K = 10  # neighbours per node, as the paper's released settings have it

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_GRID = 4080.0  # below 4096 = sqrt(2^24), with room for what rounding adds to the length
_PLACES = 2.0**28  # a key is product * _PLACES - slot: larger is nearer, and of equals the older
_TOGETHER = 128  # nodes put in by one product
_BLOCK = 1 << 24  # numbers of a product that are in memory at once


def on_grid(vectors: Vectors) -> Vectors:
    """Unit rows (n, d), or zero ones, as whole numbers."""
    gridded: Vectors = np.rint(vectors * np.float32(_GRID))
    return gridded


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest first; of equal ones the smaller id first. Stored as they are, they restore a graph."""

    ids: tuple[int, ...]
    similarities: tuple[float, ...]


class Graph:
    """Directed lists of the k nearest nodes whose similarity is above `floor`.

    Ids rise: a new node's id is larger than that of any node before it. What is in the graph is a function of
    its nodes alone, never of the order or the batches in which they came, moved and went.
    """

    def __init__(self, dimension: int, k: int = K, floor: float = 0.0) -> None:
        self._k = k
        lowest = np.finfo(np.float32).min if floor == -np.inf else np.floor(floor * _GRID**2) + 1
        self._least = np.float32(lowest)  # of a product: the next whole number above the floor
        self._rows: Vectors = np.zeros((0, dimension), dtype=np.float32)
        self._ids: Ints = np.zeros(0, dtype=np.int64)
        self._alive: Bools = np.zeros(0, dtype=np.bool_)
        self._keys: Floats = np.zeros((0, k))
        self._slots: npt.NDArray[np.int32] = np.zeros((0, k), dtype=np.int32)
        self._worst: npt.NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._n = 0  # slots used, in the order of ids; those of nodes that left stay empty for a while
        self._slot: dict[int, int] = {}

    @staticmethod
    def restore(
        dimension: int,
        ids: Sequence[int],
        vectors: Vectors,
        stored: Mapping[int, Neighbours] | None = None,
        k: int = K,
        floor: float = 0.0,
        *,
        gridded: bool = False,
    ) -> Graph:
        """The graph of these nodes, ids rising; from stored lists of the same nodes, or computed afresh."""
        graph = Graph(dimension, k, floor)
        slots = graph._append(ids, vectors if gridded else on_grid(vectors))
        if stored is None:
            graph._recompute(slots)
            return graph
        keys = np.full((len(ids), k), -np.inf)
        for place, node in enumerate(ids):
            row = stored[node]
            if row.ids:
                near = np.array([graph._slot[one] for one in row.ids])
                keys[place, : len(near)] = _keys(np.rint(np.array(row.similarities) * _GRID**2), near)
        graph._write(slots, keys)
        return graph

    def __len__(self) -> int:
        return len(self._slot)

    @property
    def ids(self) -> Ints:
        return self._ids[: self._n][self._alive[: self._n]]

    def add(self, ids: Sequence[int], vectors: Vectors) -> tuple[int, ...]:
        """Put nodes in, or move those that are in; gives the nodes whose lists are not what they were."""
        return self.change(ids, vectors)

    def remove(self, ids: Collection[int]) -> tuple[int, ...]:
        """Take nodes out; gives the others whose lists are not what they were."""
        return self.change((), np.zeros((0, self._rows.shape[1]), dtype=np.float32), ids)

    def change(
        self, ids: Sequence[int], vectors: Vectors, removed: Collection[int] = (), *, gridded: bool = False
    ) -> tuple[int, ...]:
        """`remove`, then `add`, at the price of one. `gridded`: the vectors are on the grid already."""
        changed: set[int] = set()
        rows = vectors if gridded else on_grid(vectors)
        first, gone = 0, list(removed)
        while first < len(ids) or gone:
            some = slice(first, first + _TOGETHER)
            changed.update(self._change(ids[some], rows[some], gone))
            first, gone = first + _TOGETHER, []
        return tuple(sorted(node for node in changed if node in self._slot))

    def neighbours(self, node: int) -> Neighbours:
        """The list of a node; KeyError when it is not in."""
        return self._decode(self._keys[self._slot[node]])

    def nearest(self) -> Floats:
        """(n,) the largest similarity of each node, by rising id; -inf for one without neighbours."""
        first = self._keys[: self._n, 0][self._alive[: self._n]]
        return np.ceil(first / _PLACES) / _GRID**2

    def similarities(self, rows: Vectors) -> Floats:
        """(n, m) similarities of the nodes, by rising id, to m rows on the grid, which need not be nodes."""
        products = self._rows[: self._n] @ rows.T
        return products[self._alive[: self._n]].astype(np.float64) / _GRID**2

    @staticmethod
    def compare(rows: Vectors, others: Vectors) -> Floats:
        """(n, m) similarities of rows on the grid."""
        return (rows @ others.T).astype(np.float64) / _GRID**2

    def nearest_without(self, removed: Collection[int]) -> tuple[Ints, Floats]:
        """Which nodes are nearest to one of `removed`, as places among rising ids, and their next nearest."""
        gone = np.array([self._slot[node] for node in removed])
        alive = self._alive[: self._n]
        hit = np.flatnonzero(_among(self._slots[: self._n, 0], gone) & alive)
        left = np.where(_among(self._slots[hit], gone), -np.inf, self._keys[hit]).max(axis=1, initial=-np.inf)
        unknown = hit[np.isneginf(left) & (self._worst[hit] > -np.inf)]
        if len(unknown):
            keys = self._all_keys(unknown)
            keys[:, gone] = -np.inf
            left[np.isin(hit, unknown)] = keys.max(axis=1)
        places = np.cumsum(alive) - 1
        return places[hit], np.ceil(left / _PLACES) / _GRID**2

    def _change(self, ids: Sequence[int], rows: Vectors, removed: Sequence[int]) -> list[int]:
        moved = [node for node in ids if node in self._slot]
        gone = np.array([self._slot[node] for node in (*removed, *moved)], dtype=np.int64)
        lost, bounds = self._forget_slots(gone)
        for node in removed:
            self._alive[self._slot.pop(node)] = False
        old = [place for place, node in enumerate(ids) if node in self._slot]
        new = [place for place, node in enumerate(ids) if node not in self._slot]
        put = np.zeros(len(ids), dtype=np.int64)
        put[old] = [self._slot[ids[place]] for place in old]
        self._rows[put[old]] = rows[old]
        put[new] = self._append([ids[place] for place in new], rows[new])
        changed = {*lost.tolist(), *put.tolist()}
        if len(put):
            changed.update(self._insert(put, lost, bounds).tolist())
        short = (bounds > -np.inf) & np.isneginf(self._keys[lost, -1]) & self._alive[lost]
        self._recompute(np.setdiff1d(lost[short], put))
        changed_ids = [int(self._ids[slot]) for slot in changed]
        self._compact()
        return changed_ids

    def _forget_slots(self, gone: Ints) -> tuple[Ints, Floats]:
        """Take slots out of all lists; the lists that had one, and what they ended with before.

        What is in no list is below the list's last: whatever comes and is above it belongs in.
        """
        if not len(gone):
            return gone, np.zeros(0)
        listed = self._slots[: self._n]
        hits = _among(listed, gone)
        lost = np.unique(np.flatnonzero(hits) // self._k)
        bounds = self._keys[lost, -1]
        self._write(lost, np.sort(np.where(hits[lost], -np.inf, self._keys[lost]), axis=1)[:, ::-1])
        return lost, bounds

    def _insert(self, put: Ints, lost: Ints, bounds: Floats) -> Ints:
        """Give nodes their lists, and put them in others' lists; the slots of those."""
        dead = np.flatnonzero(~self._alive[: self._n])
        products = self._rows[: self._n] @ self._rows[put].T
        products[put, np.arange(len(put))] = -np.inf
        products[dead] = -np.inf
        self._write(put, self._best(np.ascontiguousarray(products.T)))
        reach = self._worst[: self._n].copy()
        reach[lost] = np.where(np.isneginf(bounds), -np.inf, np.ceil(bounds / _PLACES))
        np.maximum(reach, self._least, out=reach)
        reach[put] = np.inf
        slots = np.unique(np.flatnonzero(products >= reach[:, None]) // len(put))
        slots = slots[self._alive[slots]]
        above = self._keys[slots, -1]
        _, places, which = np.intersect1d(slots, lost, assume_unique=True, return_indices=True)
        above[places] = bounds[which]
        keys = _keys(products[slots], put[None, :])
        keys[(keys < above[:, None]) | (products[slots] < self._least)] = -np.inf
        merged = np.concatenate([self._keys[slots], keys], axis=1)
        best = np.sort(np.partition(merged, -self._k, axis=1)[:, -self._k :], axis=1)[:, ::-1]
        differs = (best != self._keys[slots]).any(axis=1)
        reached: Ints = slots[differs]
        self._write(reached, best[differs])
        return reached

    def _recompute(self, slots: Ints) -> None:
        for part in _blocks(slots, self._n):
            products = self._rows[part] @ self._rows[: self._n].T
            products[np.arange(len(part)), part] = -np.inf
            products[:, ~self._alive[: self._n]] = -np.inf
            self._write(part, self._best(products))

    def _all_keys(self, slots: Ints) -> Floats:
        products = self._rows[slots] @ self._rows[: self._n].T
        products[np.arange(len(slots)), slots] = -np.inf
        products[:, ~self._alive[: self._n]] = -np.inf
        return _keys(products, np.arange(self._n))

    def _best(self, products: Vectors) -> Floats:
        """(m, k) the largest keys of each row (m, n), falling."""
        width = products.shape[1]
        if width > self._k:
            last = np.partition(products, width - self._k, axis=1)[:, width - self._k]
        else:
            last = np.full(len(products), -np.inf)
        keys = np.full((len(products), self._k), -np.inf)
        for row, (line, least) in enumerate(zip(products, last, strict=True)):
            columns = np.flatnonzero(line >= max(least, self._least))  # more than k only when some are equal
            best = np.sort(_keys(line[columns], columns))[::-1][: self._k]
            keys[row, : len(best)] = best
        return keys

    def _decode(self, keys: Floats) -> Neighbours:
        listed = keys[keys > -np.inf]
        products = np.ceil(listed / _PLACES)
        ids = self._ids[(products * _PLACES - listed).astype(np.int64)]
        return Neighbours(tuple(ids.tolist()), tuple((products / _GRID**2).tolist()))

    def _write(self, slots: Ints, keys: Floats) -> None:
        self._keys[slots] = keys
        products = np.ceil(keys / _PLACES)
        with np.errstate(invalid="ignore"):
            near = products * _PLACES - keys
        self._slots[slots] = np.where(np.isneginf(keys), -1, near).astype(np.int32)
        self._worst[slots] = products[:, -1]

    def _append(self, ids: Sequence[int], rows: Vectors) -> Ints:
        known = self._ids[max(0, self._n - 1) : self._n].tolist()
        if any(after <= before for before, after in pairwise([*known, *ids])):
            raise ValueError(f"ids must rise: {list(ids)!r} after {known!r}")
        needed = self._n + len(ids)
        if needed > len(self._ids):
            room = max(needed, len(self._ids) * 3 // 2, 16) - len(self._ids)
            self._rows = np.pad(self._rows, ((0, room), (0, 0)))
            self._ids, self._alive = np.pad(self._ids, (0, room)), np.pad(self._alive, (0, room))
            self._keys = np.pad(self._keys, ((0, room), (0, 0)), constant_values=-np.inf)
            self._slots = np.pad(self._slots, ((0, room), (0, 0)), constant_values=-1)
            self._worst = np.pad(self._worst, (0, room), constant_values=-np.inf)
        slots = np.arange(self._n, needed)
        self._rows[slots], self._ids[slots], self._alive[slots] = rows, ids, True
        self._keys[slots], self._slots[slots], self._worst[slots] = -np.inf, -1, -np.inf
        self._slot.update(zip(ids, slots.tolist(), strict=True))
        self._n = needed
        return slots

    def _compact(self) -> None:
        if self._n <= 2 * len(self._slot) + 16:
            return
        kept = np.flatnonzero(self._alive[: self._n])
        places = np.cumsum(self._alive[: self._n]) - 1
        products = np.ceil(self._keys[kept] / _PLACES)
        near = places[self._slots[kept]]
        with np.errstate(invalid="ignore"):
            keys = np.where(np.isneginf(products), -np.inf, _keys(products, near))
        self._rows, self._ids = self._rows[kept], self._ids[kept]
        self._alive, self._n = self._alive[kept], len(kept)
        self._keys, self._slots, self._worst = keys, self._slots[kept], self._worst[kept]
        self._slot = {int(node): slot for slot, node in enumerate(self._ids)}
        self._write(np.arange(self._n), keys)


def _among(slots: npt.NDArray[np.integer], gone: Ints) -> Bools:
    """As np.isin, which takes longer to begin than to compare a few."""
    if len(gone) > 4:
        return np.isin(slots, gone)
    mask = np.zeros(slots.shape, dtype=np.bool_)
    for slot in gone:
        mask |= slots == slot
    return mask


def _keys(products: npt.NDArray[np.floating], slots: npt.NDArray[np.integer]) -> Floats:
    return products.astype(np.float64) * _PLACES - slots


def _blocks(slots: Ints, width: int) -> list[Ints]:
    size = max(1, _BLOCK // max(width, 1))
    return [slots[first : first + size] for first in range(0, len(slots), size)]
