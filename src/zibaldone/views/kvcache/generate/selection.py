"""Memory of a question: whole turns by text, or each layer's own blocks (Algorithm 1, line 3: Retrieve)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import torch
from torch import Tensor

from zibaldone import log
from zibaldone.views.kvcache.generate.generation import Prefilled, behind, behind_layers, room_for
from zibaldone.views.kvcache.model.attention_hooks import Raw, RawKV
from zibaldone.views.kvcache.model.encoding import Encoder, cut
from zibaldone.views.kvcache.model.turns import question_of
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.scoring import aggregate, box_scores
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, PoolReader
from zibaldone.views.kvcache.view import KVView


@dataclass(frozen=True, slots=True)
class Sought:
    """A question, and limits of its memory."""

    query: str
    now: datetime
    session: str | None  # that is going on
    budget_tokens: int  # of memory
    max_new_tokens: int
    by_text: tuple[int, ...] = ()  # seqs as text recall ranks them
    given: tuple[int, ...] | None = None  # seqs that the caller selects, and no others


@dataclass(frozen=True, slots=True)
class Cited:
    """A message that was selected."""

    seq: int
    session: str
    time: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnSelection:
    """The blocks that are to stand before one question, before their keys are at hand."""

    ids: tuple[int, ...]  # of the question
    blocks: tuple[KVBlock, ...] = ()  # in the order of the log
    newest: tuple[KVBlock, ...] = ()  # right before the question

    @property
    def shown(self) -> tuple[KVBlock, ...]:
        return (*self.blocks, *self.newest)


@dataclass(frozen=True, slots=True)
class SelectedMemory:
    """A question with its memory, the same for all layers."""

    ids: tuple[int, ...]  # of the question
    raw: tuple[Raw, ...] = ()  # of chosen blocks and newest turns, without the pinned prefix
    blocks: tuple[KVBlock, ...] = ()
    recent_tokens: int = 0  # of the newest turns among these

    @property
    def kv_tokens(self) -> int:
        """Tokens that are not computed again, without the prefix."""
        return sum(raw[0].tokens for raw in self.raw)

    def prefilled(self, encoder: Encoder, answer_tokens: int = 0) -> Prefilled:
        """The memory in a cache that is to hold the question and `answer_tokens` more."""
        return behind(encoder, self.raw, self.ids, answer_tokens)


def select_memory(
    view: KVView, reader: PoolReader | None, index: Index | None, sought: Sought
) -> SelectedMemory | LayeredMemory:
    """Choose and fetch: one selection, or one per layer. Raises InvalidInput if the window is too small."""
    if not view.config.whole_turns:
        if reader is not None and index is not None:
            memory = LayeredMemory(view, reader, index, sought)
            if memory.kv_tokens > 0:
                return memory
        ids = select(view, None, sought).ids
        return SelectedMemory(ids, (view.encoder.prefix,) if view.encoder.prefix else ())
    selection = select(view, reader, sought)
    if reader is None:
        return SelectedMemory(selection.ids)
    return SelectedMemory(
        selection.ids,
        view.fetcher.fetch(reader, selection.shown),
        selection.shown,
        sum(block.tokens for block in selection.newest),
    )


def select(view: KVView, reader: PoolReader | None, sought: Sought) -> TurnSelection:
    """Select whole turns by text. Raises InvalidInput as `select_memory` does."""
    encoder, config = view.encoder, view.config
    ids = question_of(encoder.tokenizer, encoder.form, sought.query, sought.now)
    room = room_for(encoder, ids, sought.max_new_tokens)
    if reader is None:
        return TurnSelection(ids)
    budget = min(sought.budget_tokens, room)
    most = min(config.recent_tokens, budget)
    newest: tuple[KVBlock, ...] = ()
    if sought.session is not None and most and sought.given is None:
        newest = _last_turns(reader.look(manifest.newest, sought.session, most), most)
    ranked = sought.by_text if sought.given is None else sought.given
    turns = reader.look(manifest.of_turns, ranked)
    left = budget - sum(block.tokens for block in newest)
    standing = seqs_of(newest)
    others = [turns[seq] for seq in ranked if seq in turns and seq not in standing]
    return TurnSelection(ids, _fitting(others, left), newest)


def _last_turns(blocks: Sequence[KVBlock], tokens: int) -> tuple[KVBlock, ...]:
    """The last whole turns of these blocks that so many tokens hold."""
    turns: dict[int, list[KVBlock]] = {}
    for block in blocks:
        turns.setdefault(block.tile.seqs[-1], []).append(block)
    taken: list[KVBlock] = []
    for turn in reversed(turns.values()):
        tokens -= sum(block.tokens for block in turn)
        if tokens < 0:
            break
        taken[:0] = turn
    return tuple(taken)


def _fitting(ranked: Sequence[Sequence[KVBlock]], tokens: int) -> tuple[KVBlock, ...]:
    """The best that fit, in the order of the log; of one that alone is too large, its beginning."""
    taken: list[KVBlock] = []
    left = tokens
    for blocks in ranked:
        if sum(block.tokens for block in blocks) > left and (taken or len(blocks) == 1):
            continue
        for block in blocks:
            if block.tokens > left:
                break
            taken.append(block)
            left -= block.tokens
    return tuple(sorted(taken, key=lambda block: block.chronological))


def seqs_of(blocks: Sequence[KVBlock]) -> tuple[int, ...]:
    """Seqs of the messages that these blocks have tokens of."""
    return tuple(sorted({seq for block in blocks for seq in block.tile.seqs}))


def cited(reader: PoolReader | None, user: str, seqs: Sequence[int]) -> tuple[Cited, ...]:
    """Messages of these seqs that the log still has; none without a pool."""
    if reader is None:
        return ()
    with reader.read() as connection:
        messages = log.fetch(connection, user, seqs)
    return tuple(
        Cited(seq, m.session, m.time, m.speaker, m.content)
        for seq, m in sorted(messages.items())
        if m.time is not None
    )


class LayeredMemory:
    """A question whose layers choose among a pool's blocks, and the blocks that they have chosen so far."""

    def __init__(self, view: KVView, reader: PoolReader, index: Index, sought: Sought) -> None:
        encoder = view.encoder
        self._view, self._reader, self._index = view, reader, index
        self.ids = question_of(encoder.tokenizer, encoder.form, sought.query, sought.now)
        # Nothing is pinned: the prefix takes room where a layer chooses block 0.
        room = room_for(encoder, self.ids, sought.max_new_tokens) + len(encoder.prefix_ids)
        in_all = sum(block.tokens for block in index.blocks)
        # The same for all layers, so that one mask serves all; a layer's last block gives what is left.
        self.kv_tokens = min(sought.budget_tokens, in_all, room)
        self.recent_tokens = 0
        self._used: dict[int, KVBlock] = {}
        self._raw: dict[int, Raw] = {}  # by block, read once for all layers

    @property
    def blocks(self) -> list[KVBlock]:
        """Blocks that any layer has chosen, in the order of the log."""
        return sorted(self._used.values(), key=lambda block: block.chronological)

    def prefilled(self, encoder: Encoder, answer_tokens: int = 0) -> Prefilled:  # noqa: ARG002
        """The question, read, behind what each layer chose."""
        return behind_layers(encoder, self.ids, self.kv_tokens, self._choose)

    def _choose(self, layer: int, queries: Tensor) -> RawKV:
        """Retrieve(Q, CompK) of Algorithm 1: a layer's blocks for its raw queries (heads, tokens, dim).

        The best by Eqs. 3 and 4, until they have so many tokens; then in the order of the log.
        """
        view, config, boxes = self._view, self._view.config, self._index.boxes[layer]
        scores = box_scores(queries, boxes, view.encoder.tap.shapes[layer].kv_of)
        relevance = aggregate(scores, len(boxes), config.normalization, config.aggregation)
        places = relevance.top(len(boxes))  # more than k: where blocks are short, more of them fit
        taken: list[KVBlock] = []
        left = self.kv_tokens
        for place in places:
            if left <= 0:
                break
            taken.append(self._index.blocks[place])
            left -= taken[-1].tokens
        last = taken[-1]
        taken.sort(key=lambda block: block.chronological)
        new = [block for block in taken if block.number not in self._raw]
        fetched = view.fetcher.fetch(self._reader, new)
        self._raw |= {block.number: raw for block, raw in zip(new, fetched, strict=True)}
        parts = [
            cut((self._raw[block.number][layer],), 0, block.tokens + min(left, 0) if block is last else None)[
                0
            ]
            for block in taken
        ]
        self._used.update({block.number: block for block in taken})
        keys = torch.cat([part.keys for part in parts], dim=-2)
        return RawKV(keys, torch.cat([part.values for part in parts], dim=-2))
