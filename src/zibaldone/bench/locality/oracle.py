"""Where chunks would lie if every request of a trace were known: what a layout can reach, at no cost.

The best packing is as hard as partitioning a hypergraph; this one is agglomerated from what is read together,
and then improved by single moves and exchanges for as long as one helps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from zibaldone.search.clustering import agglomerate
from zibaldone.views.chunks.storage.blocks import overhead

_ROUNDS = 6
_TRIED = 8  # blocks that a record may go to


def best_blocks(
    sizes: Mapping[int, int], requests: Sequence[Sequence[int]], block_bytes: int
) -> dict[int, int]:
    """A block's number by record; `sizes` are the records' bytes, in the order in which they were written."""
    each = overhead(1) - overhead(0)
    return _Packing(
        {n: size + each for n, size in sizes.items()}, requests, block_bytes - overhead(0)
    ).improved()


class _Packing:
    def __init__(self, sizes: Mapping[int, int], requests: Sequence[Sequence[int]], room: int) -> None:
        self._sizes, self._room = sizes, room
        self._requests = [[number for number in set(ids) if number in sizes] for ids in requests]
        self._asked: dict[int, list[int]] = {number: [] for number in sizes}
        for row, ids in enumerate(self._requests):
            for number in ids:
                self._asked[number].append(row)
        self._block_of = self._agglomerated()
        self._load: Counter[int] = Counter()
        for number, block in self._block_of.items():
            self._load[block] += sizes[number]
        self._held = [Counter(self._block_of[n] for n in ids) for ids in self._requests]

    def improved(self) -> dict[int, int]:
        for _ in range(_ROUNDS):
            if not sum([self._improve(number) for number in self._sizes]):
                break
        return self._block_of

    def _agglomerated(self) -> dict[int, int]:
        ids = list(self._sizes)
        row_of = {number: row for row, number in enumerate(ids)}
        together = np.full((len(ids), len(ids)), 1e-6)
        for some in self._requests:
            for a, b in combinations([row_of[number] for number in some], 2):
                together[a, b] += 1
                together[b, a] += 1
        sizes = [self._sizes[number] for number in ids]
        groups = agglomerate(together, linkage="mean", sizes=sizes, most=self._room)
        return {ids[row]: block for block, rows in enumerate(groups) for row in rows}

    def _improve(self, number: int) -> bool:
        """Move or exchange the record where that saves a read."""
        here, rows = self._block_of[number], self._asked[number]
        alone = sum(self._held[row][here] == 1 for row in rows)
        there = Counter(block for row in rows for block, n in self._held[row].items() if n and block != here)
        for block, shared in there.most_common(_TRIED):
            gain = alone - (len(rows) - shared)
            if gain <= 0:
                return False
            if self._load[block] + self._sizes[number] <= self._room:
                self._put(number, block)
                return True
            if (other := self._exchange(number, block, gain)) is not None:
                self._put(number, block)
                self._put(other, here)
                return True
        return False

    def _exchange(self, number: int, block: int, gain: int) -> int | None:
        """A record of the block that may come in this one's place at less than the gain."""
        here, size = self._block_of[number], self._sizes[number]
        best, least = None, -gain
        for other, place in self._block_of.items():
            more = self._sizes[other] - size
            if (
                place != block
                or self._load[here] + more > self._room
                or self._load[block] - more > self._room
            ):
                continue
            rows = self._asked[other]
            change = sum(self._held[row][block] == 1 for row in rows)
            change -= sum(not self._held[row][here] for row in rows)
            if change > least:
                best, least = other, change
        return best

    def _put(self, number: int, block: int) -> None:
        here = self._block_of[number]
        for row in self._asked[number]:
            self._held[row][here] -= 1
            self._held[row][block] += 1
        self._load[here] -= self._sizes[number]
        self._load[block] += self._sizes[number]
        self._block_of[number] = block
