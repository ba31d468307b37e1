"""Where a trace's chunks lie under one policy or another, followed in memory, byte by byte.

The engine's own policy is the very function that the engine calls (`planning.plan`); a test holds what is
counted here against the real store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from zibaldone.bench.locality.traces import TraceEvent
from zibaldone.views.chunks.storage.blocks import overhead
from zibaldone.views.chunks.storage.placement import Placement
from zibaldone.views.chunks.storage.planning import BlockUse, Layout, Matrix, RecordPlace, associated, plan

Policy = Callable[["UserLayout"], list[list[int]]]  # the records of each new block


class UserLayout:
    """One user's chunks: where each lies, what was read together, and what was written for it."""

    def __init__(self) -> None:
        self.places: dict[int, RecordPlace] = {}
        self.blocks: dict[str, BlockUse] = {}
        self.vectors: dict[int, Any] = {}
        self.pairs: Counter[tuple[int, int]] = Counter()
        self.recent: list[tuple[int, ...]] = []  # what was read together, the newest last
        self.block_bytes: dict[str, int] = {}
        self.written_bytes = 0  # to blocks
        self._new = 0

    def stage(self, event: TraceEvent) -> None:
        """Records are written, or written anew: they wait in the database."""
        for record in event.records:
            self.remove([record.id])
            self.places[record.id] = RecordPlace(
                record.id, record.namespace, record.time_us, len(record.data), None
            )

    def remove(self, ids: Iterable[int]) -> None:
        """They are no more."""
        for number in ids:
            if gone := self.places.pop(number, None):
                self._invalidate(gone.block)

    def read_together(self, ids: Sequence[int]) -> None:
        """They were read in one go."""
        distinct = sorted(set(ids))
        self.pairs.update((number, number) for number in distinct)
        self.pairs.update(combinations(distinct, 2))
        self.recent.append(tuple(distinct))

    def write(self, planned: Iterable[Sequence[int]]) -> None:
        """New blocks of these records; a block without a live one is released."""
        for ids in planned:
            self._new += 1
            key = str(self._new)
            for number in ids:
                self._invalidate(self.places[number].block)
                self.places[number] = replace(self.places[number], block=key)
            size = overhead(len(ids)) + sum(self.places[number].bytes for number in ids)
            self.blocks[key], self.block_bytes[key] = BlockUse(len(ids), 0), size
            self.written_bytes += size

    def association(self, ids: Sequence[int]) -> Matrix:
        """As the engine has it without a model."""
        wanted = [(min(a, b), max(a, b)) for a, b in combinations_with_replacement(ids, 2)]
        pairs = {pair: times for pair in wanted if (times := self.pairs.get(pair, 0))}
        return associated(ids, pairs, self.similarity(ids))

    def similarity(self, ids: Sequence[int]) -> Matrix:
        """(n, n) cosines."""
        rows = np.stack([self.vectors[number] for number in ids])
        return np.asarray(rows @ rows.T, dtype=np.float32)

    @property
    def live_bytes(self) -> int:
        return sum(place.bytes for place in self.places.values())

    @property
    def stored_bytes(self) -> int:
        """Of blocks and of what is staged."""
        staged = sum(place.bytes for place in self.places.values() if place.block is None)
        return staged + sum(self.block_bytes.values())

    def _invalidate(self, block: str | None) -> None:
        if block is not None:
            use = self.blocks[block]
            self.blocks[block] = replace(use, invalid=use.invalid + 1)
            if use.invalid + 1 == use.records:
                del self.blocks[block], self.block_bytes[block]


@dataclass(frozen=True, slots=True)
class PlacementArm:
    """A row of the benchmark."""

    name: str
    policy: Policy
    oracle: bool = False  # blocks are counted as if all lay where who knows every request would have put it


def arms(placement: Placement) -> tuple[PlacementArm, ...]:
    """Figure 10's layouts, each of one user's chunks, ours with a part changed, and what can be reached."""
    longer = placement.staged_blocks
    never = replace(placement, gc_invalid_ratio=float("inf"))
    ours = planned(placement)
    return (
        PlacementArm("append-only", in_order(never, 1)),
        PlacementArm("oracle", in_order(never, 1), oracle=True),
        PlacementArm("append-only, waiting", in_order(never, longer)),
        PlacementArm("oracle, waiting", in_order(never, longer), oracle=True),
        PlacementArm("semantic-only", planned(never, by=UserLayout.similarity)),
        PlacementArm("ours", ours),
        PlacementArm("ours, hardly waiting", planned(replace(placement, staged_blocks=1))),
        PlacementArm("ours, no collection", planned(never)),
        PlacementArm("ours, moving too", moving(ours, placement.block_bytes, 16.0)),
        PlacementArm("ours, moving a lot", moving(ours, placement.block_bytes, 4.0)),
    )


def in_order(placement: Placement, staged_blocks: float) -> Policy:
    """Blocks in the order of time, as soon as more than that waits."""

    def policy(layout: UserLayout) -> list[list[int]]:
        return _plan(layout, replace(placement, staged_blocks=staged_blocks), lambda ids: _nobody(len(ids)))

    return policy


def planned(
    placement: Placement, by: Callable[[UserLayout, Sequence[int]], Matrix] = UserLayout.association
) -> Policy:
    """The engine's, by this association."""
    return lambda layout: _plan(layout, placement, lambda ids: by(layout, ids))


def moving(policy: Policy, block_bytes: int, least_saved: float) -> Policy:
    """And Algorithm 2's lines 3 to 10: two blocks that are read together are packed anew together.

    Where that would have saved so many reads of blocks, of the last 400 requests, for each block it writes.
    """

    def both(layout: UserLayout) -> list[list[int]]:
        layout.write(policy(layout))
        while moved := _repacked(layout, block_bytes, least_saved):
            layout.write(moved)
        return []

    return both


_RECENT = 400  # requests that a move is judged by
_TRIED = 6  # pairs of blocks


def _repacked(layout: UserLayout, block_bytes: int, least_saved: float) -> list[list[int]]:
    recent = layout.recent[-_RECENT:]
    place = {number: record.block for number, record in layout.places.items()}
    together: Counter[tuple[str, str]] = Counter()
    for ids in recent:
        together.update(combinations(sorted({block for n in ids if (block := place.get(n))}), 2))
    best: tuple[float, list[list[int]]] = (0.0, [])
    for two, _ in together.most_common(_TRIED):
        records = [replace(r, block=None) for r in layout.places.values() if r.block in two]
        new = plan(Layout(records, {}), block_bytes, 1.0, 0.0, layout.association)
        block_of = {number: at for at, ids in enumerate(new) for number in ids}
        saved = sum(
            len({place[n] for n in ids if n in block_of}) - len({block_of[n] for n in ids if n in block_of})
            for ids in recent
        )
        worth = saved - least_saved * sum(record.bytes for record in records) / block_bytes
        if len(new) <= len(two) and worth > best[0]:
            best = (worth, new)
    return best[1]


def _plan(
    layout: UserLayout, placement: Placement, association: Callable[[Sequence[int]], Matrix]
) -> list[list[int]]:
    return plan(
        Layout(list(layout.places.values()), layout.blocks),
        placement.block_bytes,
        placement.gc_invalid_ratio,
        placement.staged_blocks,
        association,
    )


def _nobody(n: int) -> Matrix:
    return np.zeros((n, n), dtype=np.float32)
