"""The worker's side of serving: memory into one worker's paged cache.

Imports no engine; its own kernel writes, since layouts of caches differ.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from zibaldone.errors import BlockMissing, UnsupportedModel
from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV
from zibaldone.views.kvcache.serving.model_card import ModelCard
from zibaldone.views.kvcache.serving.scheduling import SlotLoad
from zibaldone.views.kvcache.storage.block_files import PoolFiles, checksum
from zibaldone.views.kvcache.storage.codec import decode

# Puts keys and values (tokens, heads, dim) into slots (tokens,) of a cache.
WriteSlots = Callable[[Tensor, Tensor, Tensor], None]


@dataclass(frozen=True, slots=True)
class PagedLayer:
    """One layer of an engine's paged cache: keys and values of `heads` heads, on a device."""

    device: torch.device
    write_slots: WriteSlots
    heads: int
    key_dim: int
    value_dim: int

    def write(self, kv: RawKV, slots: Sequence[int]) -> None:
        """Write rotated keys (heads, tokens, dim) and values into these slots."""
        keys = kv.keys.transpose(0, 1).contiguous().to(self.device)
        values = kv.values.transpose(0, 1).contiguous().to(self.device)
        self.write_slots(keys, values, torch.tensor(slots, dtype=torch.int64, device=self.device))


_logger = logging.getLogger(__name__)
_NO_BLOCK = 0  # vLLM's number for a block that is not there: behind a sliding window


class PagedSlots(NamedTuple):
    """Tokens of a request that have a slot; the others lie behind a sliding window."""

    tokens: tuple[int, ...]  # positions in the request, rising
    slots: tuple[int, ...]  # block * block size + offset, of each


class HeadRange(NamedTuple):
    """Key-value heads of a tensor-parallel rank."""

    start: int
    end: int


def slots_of(block_ids: Sequence[int], block_tokens: int, start: int, end: int) -> PagedSlots:
    """Slots of the tokens from `start` to `end` of a request with these blocks, in order."""
    assert 0 <= start <= end <= len(block_ids) * block_tokens, (start, end, len(block_ids), block_tokens)
    tokens = tuple(at for at in range(start, end) if block_ids[at // block_tokens] != _NO_BLOCK)
    slots = (block_ids[at // block_tokens] * block_tokens + at % block_tokens for at in tokens)
    return PagedSlots(tokens, tuple(slots))


def head_range(kv_heads: int, rank: int, ranks: int) -> HeadRange:
    """A rank's heads: an equal share; with more ranks than heads, several share one."""
    assert 0 <= rank < ranks, (rank, ranks)
    assert max(kv_heads, ranks) % min(kv_heads, ranks) == 0, f"{kv_heads} heads among {ranks} ranks"
    if kv_heads >= ranks:
        share = kv_heads // ranks
        return HeadRange(rank * share, (rank + 1) * share)
    sharers = ranks // kv_heads
    return HeadRange(rank // sharers, rank // sharers + 1)


@dataclass(frozen=True, slots=True)
class RankShare:
    """Rank of this worker."""

    rank: int  # among those that share every layer's heads
    ranks: int


class WorkerSide:
    """Writes memory into one worker's cache."""

    def __init__(
        self, layers: Mapping[int, PagedLayer], dtype: torch.dtype, block_tokens: int, share: RankShare
    ) -> None:
        """`layers` are this worker's, by number; `dtype` is what the model computes in."""
        self._layers, self._dtype, self._block_tokens, self._share = layers, dtype, block_tokens, share
        self._cards: dict[Path, ModelCard] = {}
        self._failed: set[int] = set()

    def load(self, loads: Sequence[SlotLoad]) -> None:
        """Load keys at their positions, and values, of all layers; before a step's pass."""
        for load in loads:
            try:
                self._load(load)
            except Exception as error:  # noqa: BLE001 - the border of an engine: it would end with all requests
                first, last = load.start // self._block_tokens, -(-load.end // self._block_tokens)
                self._failed.update(load.block_ids[first:last])
                _logger.warning("memory was not loaded, and is computed: %s", error)

    def take_failed(self) -> set[int]:
        """Blocks that could not be filled since the last call."""
        failed, self._failed = self._failed, set()
        return failed

    def _load(self, load: SlotLoad) -> None:
        card = self._card(load.plan.card)
        first, parts = _parts(load, card)
        slots = slots_of(load.block_ids, self._block_tokens, load.start, load.end)
        positions = torch.tensor(slots.tokens)
        if not len(positions):
            return
        for number, layer in self._layers.items():
            of_layer = card.layers[number]
            heads = slice(*head_range(of_layer.kv_heads, self._share.rank, self._share.ranks))
            keys = torch.cat([part[number].keys[heads] for part in parts], dim=1)[:, positions - first]
            values = torch.cat([part[number].values[heads] for part in parts], dim=1)[:, positions - first]
            _check(keys, values, layer, number)
            rotated = of_layer.rotate(keys, positions)
            layer.write(RawKV(rotated.to(self._dtype), values.to(self._dtype)), slots.slots)

    def _card(self, path: Path) -> ModelCard:
        if path not in self._cards:
            self._cards[path] = ModelCard.read(path)
        return self._cards[path]


def _parts(load: SlotLoad, card: ModelCard) -> tuple[int, list[Raw]]:
    """(position of the first token, raw keys and values of prefix and blocks up to `end`)."""
    plan, files = load.plan, PoolFiles(load.plan.files, load.plan.layout, ())
    parts: list[Raw] = []
    if card.prefix is not None and load.start < plan.prefix_tokens:
        parts.append(card.prefix)
    ends = accumulate((block.tokens for block in plan.blocks), initial=plan.prefix_tokens)
    wanted = [
        (at, block) for at, block in zip(ends, plan.blocks, strict=False) if at + block.tokens > load.start
    ]
    first = 0 if parts or not wanted else wanted[0][0]
    files.announce([block.slot for _, block in wanted])
    for _, block in wanted:
        data = files.read(block.slot)
        if checksum(data) != block.checksum:
            raise BlockMissing(f"a KV block is not in place {block.slot} any more, or is damaged")
        parts.append(decode(data, block.tokens, plan.layout))
    return first, parts


def _check(keys: torch.Tensor, values: torch.Tensor, layer: PagedLayer, number: int) -> None:
    ours = keys.shape[0], keys.shape[2], values.shape[2]
    theirs = layer.heads, layer.key_dim, layer.value_dim
    if ours != theirs:
        raise UnsupportedModel(
            f"layer {number} has (heads, key, value) {ours} in the pool and {theirs} in this worker: serve"
            " the model that KVMemory has attached"
        )
