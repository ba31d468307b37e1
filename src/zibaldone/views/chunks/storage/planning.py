"""Which records go into which new blocks: Algorithm 2 as a function of what lies where."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zibaldone.search.clustering import agglomerate
from zibaldone.storage.batches import in_chunks
from zibaldone.views.chunks.storage.blocks import overhead

_MOST_GROUPED = 500  # records at a time: what a forgetting has staged again may be all of them
_FULL = 0.75  # of a block, from which it is worth writing

Matrix = npt.NDArray[np.float32]
Similarity = Callable[[Sequence[int]], Matrix]  # of n records, (n, n): symmetric, from 0


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """A record's size, and the block that it is in."""

    id: int
    namespace: str
    time_us: int
    bytes: int
    block: str | None  # None: it is staged
    slot: int | None = None  # in the block


def plan(
    records: Sequence[RecordPlace],
    due: Collection[str],
    block_bytes: int,
    staged_blocks: float,
    similarity: Similarity,
) -> list[list[RecordPlace]]:
    """The records of each new block, in the order of time; no block has two namespaces'.

    Staged records and those of blocks that are due (lines 11 to 13) are grouped by similarity, into groups
    that fit into a block (lines 15 to 17). What came out of a block is written. Of the others, when more than
    `staged_blocks` blocks' worth of a namespace waits, groups are written until no more than that is left:
    those that fill a block, what is most alike first.
    """
    loose: dict[str, list[RecordPlace]] = {}
    for record in records:
        if record.block is None or record.block in due:
            loose.setdefault(record.namespace, []).append(record)
    planned: list[list[RecordPlace]] = []
    for _, those in sorted(loose.items()):
        waiting = sum(record.bytes for record in those if record.block is None)
        excess = waiting - staged_blocks * block_bytes
        if excess > 0 or any(record.block for record in those):
            ordered = sorted(those, key=lambda record: (record.time_us, record.id))
            parts = in_chunks(ordered, _MOST_GROUPED)
            groups = [group for part in parts for group in _groups(part, block_bytes, similarity)]
            planned += _written(groups, excess, block_bytes)
    return planned


@dataclass(frozen=True, slots=True)
class _Group:
    records: list[RecordPlace]  # in the order of time
    cohesion: float  # mean similarity of two of them

    @property
    def bytes(self) -> int:
        return overhead(len(self.records)) + sum(record.bytes for record in self.records)


def _groups(ordered: Sequence[RecordPlace], block_bytes: int, similarity: Similarity) -> list[_Group]:
    """All of these records, in groups that fit into a block unless a record alone does not."""
    alike = similarity([record.id for record in ordered])
    each = overhead(1) - overhead(0)
    sizes = [record.bytes + each for record in ordered]
    groups = agglomerate(alike, linkage="mean", sizes=sizes, most=block_bytes - overhead(0))
    return [_Group([ordered[row] for row in rows], _cohesion(alike, rows)) for rows in groups]


def _cohesion(alike: Matrix, rows: Sequence[int]) -> float:
    """1 for a record alone: there is nobody to wait for that would fit."""
    n = len(rows)
    of_rows = alike[np.ix_(rows, rows)]
    return float((of_rows.sum() - np.trace(of_rows)) / (n * (n - 1))) if n > 1 else 1.0


def _written(groups: Sequence[_Group], excess: float, block_bytes: int) -> list[list[RecordPlace]]:
    """Groups with records of a block; and others until no more than `excess` bytes of staged ones are."""
    out_of_blocks = [group for group in groups if any(record.block for record in group.records)]
    staged = [group for group in groups if all(record.block is None for record in group.records)]
    full = [group for group in staged if group.bytes >= _FULL * block_bytes]
    ordered = sorted(full, key=lambda group: -group.cohesion)
    ordered += sorted((group for group in staged if group not in full), key=lambda group: -group.bytes)
    written = []
    for group in out_of_blocks + ordered:
        if excess <= 0 and group not in out_of_blocks:
            break
        written.append(group.records)
        excess -= sum(record.bytes for record in group.records if record.block is None)
    return written
