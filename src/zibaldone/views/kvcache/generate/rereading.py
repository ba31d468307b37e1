"""Beginnings of turns, computed again behind the turns that now stand before them.

A turn's keys were computed behind its own neighbours in the log. Where it stands behind others, its first
tokens are those that would have seen most of them (as in papers on fusing caches).
"""

from __future__ import annotations

from collections.abc import Sequence

from zibaldone.views.kvcache.model.encoding import Encoder, cut, joined
from zibaldone.views.kvcache.model.tap import Raw, RawKV
from zibaldone.views.kvcache.storage.manifest import KVBlock


def reread(
    encoder: Encoder, blocks: Sequence[KVBlock], raw: Sequence[Raw], tokens: int
) -> tuple[tuple[Raw, ...], int]:
    """The blocks' keys and values, with the first `tokens` of every turn but the first computed again.

    And how many tokens that were. `blocks` are of whole turns, in the order in which they stand in sight.
    """
    before = [encoder.standing] if encoder.standing else []
    made: list[Raw] = []
    again, left = 0, 0
    turn: tuple[int, ...] = ()
    for block, kv in zip(blocks, raw, strict=True):
        if block.tile.seqs != turn:
            left = tokens if turn else 0
            turn = block.tile.seqs
        count = min(left, block.tokens)
        if count:
            fresh = _beside(encoder.run(block.tile.ids[:count], [*before, *made]), kv)
            kv = fresh if count == block.tokens else joined([fresh, cut(kv, count)])
        made.append(kv)
        again, left = again + count, left - count
    return tuple(made), again


def _beside(fresh: Raw, kv: Raw) -> Raw:
    """On the devices and in the types of what it takes the place of."""
    return tuple(
        RawKV(new.keys.to(old.keys), new.values.to(old.values)) for new, old in zip(fresh, kv, strict=True)
    )
