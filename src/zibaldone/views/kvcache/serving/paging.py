"""Where things lie in an engine's paged cache, as numbers: slots of tokens, heads of ranks.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_NO_BLOCK = 0  # vLLM's number for a block that is not there: behind a sliding window


@dataclass(frozen=True, slots=True)
class PagedSlots:
    """Some of a request's tokens that have a place; the rest lies behind a sliding window."""

    tokens: tuple[int, ...]  # positions in the request, rising
    slots: tuple[int, ...]  # block * block size + offset, of each


def slots_of(block_ids: Sequence[int], block_tokens: int, start: int, end: int) -> PagedSlots:
    """The places of the tokens from `start` to `end` of a request that has these blocks, in their order."""
    assert 0 <= start <= end <= len(block_ids) * block_tokens, (start, end, len(block_ids), block_tokens)
    tokens = [at for at in range(start, end) if block_ids[at // block_tokens] != _NO_BLOCK]
    slots = [block_ids[at // block_tokens] * block_tokens + at % block_tokens for at in tokens]
    return PagedSlots(tuple(tokens), tuple(slots))


@dataclass(frozen=True, slots=True)
class HeadRange:
    """Which key-value heads of a model a tensor-parallel rank has."""

    start: int
    end: int
    leads: bool  # whether it is the first of the ranks that have these heads

    @property
    def heads(self) -> slice:
        return slice(self.start, self.end)


def head_range(kv_heads: int, rank: int, ranks: int) -> HeadRange:
    """A rank's own heads: an equal share each; where there are more ranks than heads, several share one."""
    assert 0 <= rank < ranks, (rank, ranks)
    if kv_heads >= ranks:
        assert kv_heads % ranks == 0, f"{kv_heads} heads do not divide among {ranks} ranks"
        share = kv_heads // ranks
        return HeadRange(rank * share, (rank + 1) * share, leads=True)
    assert ranks % kv_heads == 0, f"{ranks} ranks do not divide among {kv_heads} heads"
    sharers = ranks // kv_heads
    return HeadRange(rank // sharers, rank // sharers + 1, leads=rank % sharers == 0)
