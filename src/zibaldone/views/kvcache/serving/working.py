"""The worker's side of serving: memory into one worker's paged cache, between the engine's steps.

Threads read blocks into host buffers (pinned for CUDA), check them, and copy them to the device on a stream
of their own, where they are rotated. Imports no engine: its own kernel writes, since cache layouts differ.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zibaldone.errors import BlockMissing, UnsupportedModel
from zibaldone.views.kvcache.model.attention_hooks import RawKV
from zibaldone.views.kvcache.serving.model_card import CardLayer, ModelCard
from zibaldone.views.kvcache.serving.scheduling import LoadPlan, SlotLoad
from zibaldone.views.kvcache.storage.codec import decode_layer
from zibaldone.views.kvcache.storage.layout import BlockLayout, LayerSize

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


_logger = logging.getLogger(__name__)
_NO_BLOCK = 0  # vLLM's number for a block that is not there: behind a sliding window
_PART_BYTES = 32 << 20  # of blocks that a thread has in hand: bounds what loading takes on host and device
_THREADS = 4  # checksums are slower than reading


class PagedSlots(NamedTuple):
    """Tokens of a request that have a slot; the others lie behind a sliding window."""

    tokens: Tensor  # int64 positions in the request, rising
    slots: Tensor  # block * block size + offset, of each


class HeadRange(NamedTuple):
    """Key-value heads of a tensor-parallel rank."""

    start: int
    end: int


def slots_of(block_ids: Sequence[int], block_tokens: int, start: int, end: int) -> PagedSlots:
    """Slots of the tokens from `start` to `end` of a request with these blocks, in order."""
    assert 0 <= start <= end <= len(block_ids) * block_tokens, (start, end, len(block_ids), block_tokens)
    at = torch.arange(start, end)
    block = torch.tensor(block_ids, dtype=torch.int64)[at // block_tokens]
    has_slot = block != _NO_BLOCK
    return PagedSlots(at[has_slot], (block * block_tokens + at % block_tokens)[has_slot])


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


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer of this worker."""

    rotation: CardLayer  # on the device
    slots: PagedLayer
    prefix: RawKV | None  # this rank's heads of the pinned tokens


@dataclass(frozen=True, slots=True)
class _Share:
    """This worker's part of a pool's blocks."""

    layout: BlockLayout  # of its own layers and heads
    bytes_of: tuple[slice, ...]  # of a block, that make up this layout
    layers: tuple[_Layer, ...]  # in the order of this layout


class WorkerSide:
    """Writes memory into one worker's cache."""

    def __init__(
        self, layers: Mapping[int, PagedLayer], dtype: torch.dtype, block_tokens: int, share: RankShare
    ) -> None:
        """`layers` are this worker's, by number; `dtype` is what the model computes in."""
        self._layers, self._dtype, self._block_tokens, self._share = layers, dtype, block_tokens, share
        self._device = next(iter(layers.values())).device if layers else torch.device("cpu")
        self._stream = torch.cuda.Stream(self._device) if self._device.type == "cuda" else None
        self._threads = ThreadPoolExecutor(_THREADS, "zibaldone-load")
        self._shares: dict[Path, _Share] = {}
        self._loading: dict[str, tuple[SlotLoad, list[Future[None]]]] = {}
        self._failed: set[int] = set()

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)

    def start(self, loads: Sequence[SlotLoad]) -> None:
        """Begin to load keys at their positions, and values, of all layers; reads nothing itself."""
        after = torch.cuda.current_stream(self._device).record_event() if self._stream and loads else None
        for load in loads:
            blocks, size = len(load.plan.blocks), max(1, _PART_BYTES // load.plan.layout.payload_bytes)
            self._loading[load.request_id] = (
                load,
                [
                    self._threads.submit(self._load, load, first, min(first + size, blocks), after)
                    for first in range(0, max(1, blocks), size)
                ],
            )

    def take_finished(self) -> set[str]:
        """Requests whose loads have ended since the last call, failed or not."""
        ended = {name for name, (_, parts) in self._loading.items() if all(part.done() for part in parts)}
        for load, parts in map(self._loading.pop, ended):
            if error := next(filter(None, (part.exception() for part in parts)), None):
                first, last = load.start // self._block_tokens, -(-load.end // self._block_tokens)
                self._failed.update(set(load.block_ids[first:last]) - {_NO_BLOCK})
                _logger.warning("memory was not loaded, and is computed: %s", error)
        return ended

    def take_failed(self) -> set[int]:
        """Blocks that could not be filled since the last call."""
        failed, self._failed = self._failed, set()
        return failed

    @torch.inference_mode()
    def _load(self, load: SlotLoad, first: int, end: int, after: Any) -> None:
        """Load blocks of the plan; `after` is an event behind the passes that may still read the slots."""
        plan, share = load.plan, self._share_of(load.plan)
        paged = slots_of(load.block_ids, self._block_tokens, load.start, load.end)
        sizes = [block.tokens for block in plan.blocks]
        starts = torch.tensor([*accumulate(sizes, initial=plan.prefix_tokens)])
        wanted = (paged.tokens >= starts[first]) & (paged.tokens < starts[end])
        tokens, slots = paged.tokens[wanted], paged.slots[wanted]
        blocks = torch.searchsorted(starts, tokens, right=True) - 1
        with torch.cuda.stream(self._stream) if self._stream else nullcontext():
            if self._stream:
                self._stream.wait_event(after)
            if len(tokens):
                data = self._read(plan, int(blocks[0]), end, share)
                rows = (blocks - blocks[0]) * plan.layout.block_tokens + tokens - starts[blocks]
                for place, layer in enumerate(share.layers):
                    kv = decode_layer(data, place, share.layout)
                    flat = RawKV(*(one.transpose(0, 1).flatten(1, 2) for one in (kv.keys, kv.values)))
                    self._write(layer, flat, rows, PagedSlots(tokens, slots))
            pinned = paged.tokens < (plan.prefix_tokens if first == 0 else 0)
            for layer in share.layers if pinned.any() else ():
                assert layer.prefix is not None
                rows = paged.tokens[pinned]
                self._write(layer, layer.prefix, rows, PagedSlots(rows, paged.slots[pinned]))
            if self._stream:
                self._stream.synchronize()

    def _read(self, plan: LoadPlan, first: int, end: int, share: _Share) -> Tensor:
        """This rank's bytes (blocks, bytes) of checked blocks, on the device."""
        blocks, size = plan.blocks[first:end], plan.layout.payload_bytes
        pin = self._stream is not None
        host = torch.empty((len(blocks), size), dtype=torch.uint8, pin_memory=pin)
        buffer = memoryview(host.numpy()).cast("B")  # type: ignore[arg-type] # which it is
        for place, block in enumerate(blocks):
            part = buffer[place * size : (place + 1) * size]
            try:
                with block.file.open("rb", buffering=0) as file:
                    file.readinto(part)
            except OSError as error:
                raise BlockMissing(f"KV block {block.file.name} cannot be read: {error.strerror}") from error
            if zlib.crc32(part) != block.checksum:
                raise BlockMissing(f"KV block {block.file.name} is damaged")
        if share.layout != plan.layout:  # the checksum is of all heads, and so they are read; these go on
            own = torch.empty((len(blocks), share.layout.payload_bytes), dtype=torch.uint8, pin_memory=pin)
            host = torch.cat([host[:, here] for here in share.bytes_of], dim=1, out=own)
        return host.to(self._device, non_blocking=True)

    def _write(self, layer: _Layer, kv: RawKV, rows: Tensor, paged: PagedSlots) -> None:
        """Write these rows of raw keys and values (heads, rows, dim) into a layer's slots."""
        rows, tokens, slots = (index.to(self._device) for index in (rows, *paged))
        rotated = layer.rotation.rotate(kv.keys[None, :, rows], tokens)[0]
        both = rotated, kv.values[:, rows]
        keys, values = (one.to(self._dtype).transpose(0, 1).contiguous() for one in both)
        layer.slots.write_slots(keys, values, slots)

    def _share_of(self, plan: LoadPlan) -> _Share:
        if plan.card not in self._shares:
            self._shares[plan.card] = self._make_share(ModelCard.read(plan.card), plan.layout)
        return self._shares[plan.card]

    def _make_share(self, card: ModelCard, layout: BlockLayout) -> _Share:
        sizes, bytes_of, layers = [], [], []
        for number, paged in sorted(self._layers.items()):
            whole = layout.layers[number]
            heads = head_range(whole.kv_heads, self._share.rank, self._share.ranks)
            sizes.append(LayerSize(heads.end - heads.start, whole.key_dim, whole.value_dim))
            _check(sizes[-1], paged, number)
            start = layout.offsets[number]
            for size in layout.head_bytes(whole):
                bytes_of.append(slice(start + heads.start * size, start + heads.end * size))
                start += whole.kv_heads * size
            prefix = None
            if card.prefix is not None:
                pinned = card.prefix[number].keys, card.prefix[number].values
                prefix = RawKV(*(one[slice(*heads)].to(self._device) for one in pinned))
            layers.append(_Layer(card.layers[number].on(self._device), paged, prefix))
        return _Share(replace(layout, layers=tuple(sizes)), tuple(bytes_of), tuple(layers))


def _check(size: LayerSize, layer: PagedLayer, number: int) -> None:
    ours = size.kv_heads, size.key_dim, size.value_dim
    theirs = layer.heads, layer.key_dim, layer.value_dim
    if ours != theirs:
        raise UnsupportedModel(
            f"layer {number} has (heads, key, value) {ours} in the pool and {theirs} in this worker: serve"
            " the model that KVMemory has attached"
        )
