"""Whole turns as the unit of choice and of reuse: blocks are only how they are stored.

A block of sixteen tokens that stands alone says little: a pretrained model answers worse with such pieces in
sight than with whole turns (docs/results.md). So rankings are of messages, which are
taken whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zibaldone.views.kvcache.config import Order
from zibaldone.views.kvcache.storage.manifest import KVBlock


@dataclass(frozen=True, slots=True)
class TurnsInSight:
    """Turns that fit a budget."""

    blocks: tuple[KVBlock, ...]  # in their order there
    dropped: int = 0  # ranked turns that it had no room for

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)


def fitting_turns(
    ranked: Sequence[int],
    blocks_of: Mapping[int, Sequence[KVBlock]],
    tokens: int,
    without: frozenset[int],
    order: Order = "time",
) -> TurnsInSight:
    """The best turns while they fit; what does not fit is skipped.

    Of a best turn that alone is longer than that, its beginning.
    """
    left, dropped = tokens, 0
    taken: list[list[KVBlock]] = []
    for seq in ranked:
        turn = [] if seq in without else blocks_of.get(seq, [])
        length = sum(block.tokens for block in turn)
        if length > left and taken:
            dropped += 1
            continue
        some: list[KVBlock] = []
        for block in turn:
            if block.tokens <= left:
                some.append(block)
                left -= block.tokens
            else:
                break
        if some:
            taken.append(some)
    blocks = [block for turn in reversed(taken) for block in turn]
    if order == "time":
        blocks.sort(key=lambda block: block.chronological)
    return TurnsInSight(tuple(blocks), dropped)


def newest_turns(newest: Sequence[KVBlock], tokens: int) -> TurnsInSight:
    """The last whole turns of these blocks, as many as so many tokens hold."""
    by_turn: dict[int, list[KVBlock]] = {}
    for block in newest:
        by_turn.setdefault(block.tile.seqs[-1], []).append(block)
    left = tokens
    taken: list[KVBlock] = []
    for turn in reversed(by_turn.values()):
        left -= sum(block.tokens for block in turn)
        if left < 0:
            break
        taken[:0] = turn
    return TurnsInSight(tuple(taken))
