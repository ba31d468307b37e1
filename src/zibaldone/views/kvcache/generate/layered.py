"""Every layer chooses for itself, in one pass: the paper's Algorithm 1 to the letter (select="per_layer")."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from zibaldone.views.kvcache.generate.generation import room_for
from zibaldone.views.kvcache.generate.selection import Sought
from zibaldone.views.kvcache.model.attention_hooks import RawKV
from zibaldone.views.kvcache.model.encoding import cut, tokens_in
from zibaldone.views.kvcache.model.turns import question_of
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.probe import scaled
from zibaldone.views.kvcache.retrieve.ranking import rank
from zibaldone.views.kvcache.retrieve.scoring import LayerQueries
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.pool_reader import PoolReader
from zibaldone.views.kvcache.storage.tiers import Hits
from zibaldone.views.kvcache.view import KVView


class LayeredMemory:
    """A question of which every layer chooses its own memory, and what layers have chosen so far."""

    def __init__(self, view: KVView, reader: PoolReader, index: Index, sought: Sought) -> None:
        encoder = view.encoder
        self._view, self._reader, self.index = view, reader, index
        self.ids = question_of(encoder.tokenizer, encoder.form, sought.query, sought.now).ids
        room = room_for(encoder, self.ids, sought.max_new_tokens) + tokens_in(encoder.prefix)
        in_all = sum(block.tokens for block in index.blocks)
        # The same for all layers, so that one mask serves all; a layer's last block gives what is left.
        self.tokens = min(sought.k * view.config.block_tokens, in_all, room)
        self.hits = Hits()
        self._used: dict[int, KVBlock] = {}

    @property
    def blocks(self) -> list[KVBlock]:
        """Of all layers, in the order of the log."""
        return sorted(self._used.values(), key=lambda block: block.chronological)

    def choose(self, layer: int, queries: Tensor) -> RawKV:
        """A layer's blocks for its raw queries, in the order of the log."""
        view = self._view
        kv_of = view.encoder.tap.shapes[layer].kv_of
        per_layer = [LayerQueries(layer, scaled(view.encoder, layer, queries), None, kv_of)]
        boxes_alone = replace(view.config, rescore=0)
        places, _ = rank(self.index, per_layer, boxes_alone, len(self.index.blocks), frozenset(), None)
        taken: list[KVBlock] = []
        left = self.tokens
        for place in places:
            if left <= 0:
                break
            taken.append(self.index.blocks[place])
            left -= taken[-1].tokens
        last = taken[-1]
        taken.sort(key=lambda block: block.chronological)
        fetched = view.fetcher.fetch(self._reader, taken)
        self.hits += fetched.hits
        parts = [
            cut((raw[layer],), 0, block.tokens + min(left, 0) if block is last else None)[0]
            for block, raw in zip(taken, fetched.raw, strict=True)
        ]
        self._used.update({block.number: block for block in taken})
        keys = torch.cat([part.keys for part in parts], dim=-2)
        return RawKV(keys, torch.cat([part.values for part in parts], dim=-2))


def layered(
    view: KVView, reader: PoolReader | None, index: Index | None, sought: Sought
) -> LayeredMemory | None:
    """The memory of a question of which every layer chooses its own; None where there is none, or no room."""
    if reader is None or index is None:
        return None
    memory = LayeredMemory(view, reader, index, sought)
    return memory if memory.tokens > 0 else None
