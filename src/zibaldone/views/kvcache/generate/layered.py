"""Every layer chooses for itself, in one pass: the paper's Algorithm 1 to the letter (select="per_layer")."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from zibaldone.errors import BlockMissing
from zibaldone.views.kvcache.generate.generation import LayeredMemory, room_for
from zibaldone.views.kvcache.generate.sight import Sought
from zibaldone.views.kvcache.model.encoding import cut, tokens_in
from zibaldone.views.kvcache.model.tap import RawKV
from zibaldone.views.kvcache.model.turns import question_of
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.ranking import rank
from zibaldone.views.kvcache.retrieve.scoring import LayerQueries
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.pool_reader import PoolReader
from zibaldone.views.kvcache.storage.tiers import Hits
from zibaldone.views.kvcache.view import KVView


@dataclass
class LayerChoices:
    """What layers have chosen so far."""

    by_layer: dict[int, tuple[int, ...]] = field(default_factory=dict)
    used: dict[int, KVBlock] = field(default_factory=dict)
    hits: Hits = field(default_factory=Hits)

    @property
    def blocks(self) -> list[KVBlock]:
        """Of all layers, in the order of the log."""
        return sorted(self.used.values(), key=lambda block: block.chronological)

    @property
    def seqs(self) -> list[int]:
        """Of the messages that these blocks are of."""
        return sorted({seq for block in self.used.values() for seq in block.tile.seqs})


def layered(
    view: KVView, reader: PoolReader | None, index: Index | None, sought: Sought
) -> tuple[LayeredMemory, LayerChoices] | None:
    """A question and how each layer gets k blocks' worth of tokens for it; None where there are none."""
    encoder, config = view.encoder, view.config
    question = question_of(encoder.tokenizer, encoder.form, sought.query, sought.now)
    room = room_for(encoder, question.ids, sought.max_new_tokens)
    in_all = sum(block.tokens for block in index.blocks) if index is not None else 0
    tokens = min(sought.k * config.block_tokens, in_all, room + tokens_in(encoder.prefix))
    if reader is None or index is None or tokens <= 0:
        return None
    choices = LayerChoices()

    def choose(layer: int, queries: Tensor) -> RawKV:
        kv_of = encoder.tap.shapes[layer].kv_of
        per_layer = [LayerQueries(layer, view.probe.scaled(layer, queries), None, kv_of)]
        boxes_alone = replace(config, rescore=0)
        order = rank(index, per_layer, boxes_alone, len(index.blocks), frozenset(), None)
        taken, left = [], tokens
        for place in order.places:
            if left <= 0:
                break
            taken.append(index.blocks[place])
            left -= index.blocks[place].tokens
        last = taken[-1]  # which gives no more than what is left for it
        taken.sort(key=lambda block: block.chronological)
        fetched = view.fetcher.fetch(reader, taken)
        if len(fetched.blocks) < len(taken):
            raise BlockMissing("a KV block was forgotten while a layer asked for it")
        choices.hits += fetched.hits
        parts = [
            cut((raw[layer],), 0, block.tokens + min(left, 0) if block is last else None)[0]
            for block, raw in zip(taken, fetched.raw, strict=True)
        ]
        choices.by_layer[layer] = tuple(block.number for block in taken)
        choices.used.update({block.number: block for block in taken})
        keys = torch.cat([part.keys for part in parts], dim=-2)
        return RawKV(keys, torch.cat([part.values for part in parts], dim=-2))

    return LayeredMemory(question.ids, tokens, choose), choices
