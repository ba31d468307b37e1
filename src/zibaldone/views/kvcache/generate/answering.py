"""From questions to answers: what stands in sight, what the model says, and how it came about."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import torch
from torch import Tensor

from zibaldone import log
from zibaldone.errors import BlockMissing
from zibaldone.views.kvcache.generate.generation import (
    Generated,
    PromptContext,
    fitting,
    generate,
    generate_layered,
    greedy_at,
    room_for,
)
from zibaldone.views.kvcache.model.encoding import cut, tokens_in
from zibaldone.views.kvcache.model.tap import RawKV
from zibaldone.views.kvcache.model.turns import question_of
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.probe import Choice
from zibaldone.views.kvcache.retrieve.ranking import rank
from zibaldone.views.kvcache.retrieve.scoring import LayerQueries
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.pool_reader import PoolReader, Read
from zibaldone.views.kvcache.storage.tiers import Hits
from zibaldone.views.kvcache.view import Drafts, KVView


@dataclass(frozen=True, slots=True)
class BlockScore:
    """A block, as a question sees it."""

    block: int
    seqs: tuple[int, ...]  # of the messages that it has tokens of
    session: str
    text: str  # of its tokens
    tokens: int
    rank: int  # from 1, by score
    score: float  # I(Q, K) of Eq. 4, natural logarithm; by boxes


@dataclass(frozen=True, slots=True)
class Cited:
    """A message that was in sight."""

    seq: int
    session: str
    time: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class KVTrace:
    """How an answer came about."""

    considered: int  # blocks scored
    rescored: int  # of those, scored again by their own keys
    recent_tokens: int  # of the newest turns, which stand before the question
    dropped: int  # chosen blocks that the window had no room for
    hits: Hits  # where the chosen blocks came from
    probe_ms: float  # reading the question
    score_ms: float
    fetch_ms: float
    prefill_ms: float  # to the first token, from when all blocks were at hand
    ms: float
    by_layer: Mapping[int, tuple[int, ...]]  # with selection="per_layer": blocks by layer


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said."""

    texts: tuple[str, ...]  # more than one with num_return_sequences
    blocks: tuple[int, ...]  # numbers of the blocks in sight, in the order of the log
    citations: tuple[Cited, ...]  # the messages that those are of, in the order of the log
    prefill_tokens: int  # that the model computed before the answer
    kv_tokens: int  # that it reused
    trace: KVTrace

    @property
    def text(self) -> str:
        """The first of the texts."""
        return self.texts[0]


@dataclass(frozen=True, slots=True)
class Sight:
    """What one question has in sight."""

    query: str
    now: datetime
    choice: Choice | None  # None: the user has no blocks
    context: PromptContext
    cited: tuple[Cited, ...]
    remade: Drafts  # what was encoded again, to be put back
    hits: Hits
    fetch_ms: float
    gone: int = 0  # chosen blocks that were forgotten, or unmade, before they were fetched

    @property
    def shown(self) -> tuple[KVBlock, ...]:
        return (*self.context.blocks, *(self.choice.recent.blocks if self.choice else ()))

    @property
    def seqs(self) -> tuple[int, ...]:
        """Of the messages in sight."""
        return tuple(sorted({seq for block in self.shown for seq in block.tile.seqs}))


class Answering:
    """Questions to one model. Not for several threads at once."""

    def __init__(self, view: KVView) -> None:
        self._view, self._encoder, self._config = view, view.encoder, view.config

    def look(
        self,
        reader: PoolReader | None,
        index: Index | None,
        user: str,
        query: str,
        session: str | None,
        k: int,
        now: datetime,
        max_new_tokens: int,
    ) -> Sight:
        """Choose and fetch blocks. Raises InvalidInput when the question does not fit the window."""
        question = question_of(self._encoder.tokenizer, self._encoder.form, query, now)
        room = room_for(self._encoder, question.ids, max_new_tokens)
        if reader is None or index is None:
            return Sight(query, now, None, PromptContext((), (), (), question.ids), (), (), Hits(), 0.0)
        choice = self._view.choose(reader, index, query, now, k=k, standing=session, room=room)
        blocks, dropped = fitting(choice, room)
        began = time.perf_counter()
        fetched = self._view.fetcher.fetch(reader, blocks)
        ms = (time.perf_counter() - began) * 1000
        context = PromptContext(fetched.blocks, fetched.raw, choice.recent.raw, question.ids, dropped)
        gone = len(blocks) - len(fetched.blocks)
        sight = Sight(query, now, choice, context, (), fetched.drafts, fetched.hits, ms, gone)
        return replace(sight, cited=cited(reader.read, user, sight.seqs))

    def answer(
        self, sights: Sequence[Sight], options: Mapping[str, Any], *, catch: bool
    ) -> list[tuple[Answer, Generated]]:
        """Let the model answer, all questions side by side."""
        began = time.perf_counter()
        if self._config.positions == "coupled":
            made = [self._coupled(sight, int(options["max_new_tokens"])) for sight in sights]
        else:
            made = generate(self._encoder, [sight.context for sight in sights], catch=catch, options=options)
        ms = (time.perf_counter() - began) * 1000
        return [(self._described(sight, done, ms), done) for sight, done in zip(sights, made, strict=True)]

    def layered(
        self,
        reader: PoolReader | None,
        index: Index | None,
        user: str,
        query: str,
        k: int,
        now: datetime,
        options: Mapping[str, Any],
    ) -> Answer:
        """One pass in which every layer chooses k blocks' worth of tokens for itself."""
        question = question_of(self._encoder.tokenizer, self._encoder.form, query, now)
        room = room_for(self._encoder, question.ids, int(options["max_new_tokens"]))
        in_all = sum(block.tokens for block in index.blocks) if index is not None else 0
        tokens = min(k * self._config.block_tokens, in_all, room + tokens_in(self._encoder.prefix))
        if reader is None or index is None or tokens <= 0:
            sight = self.look(None, None, user, query, None, k, now, int(options["max_new_tokens"]))
            return self.answer([sight], options, catch=False)[0][0]
        by_layer: dict[int, tuple[int, ...]] = {}
        used: dict[int, KVBlock] = {}
        hits = Hits()

        def choose(layer: int, queries: Tensor) -> RawKV:
            nonlocal hits
            per_layer = [LayerQueries(layer, self._view.probe.scaled(layer, queries))]
            config = replace(self._config, rescore=0)
            order = rank(index, per_layer, config, len(index.blocks), frozenset(), _no_keys)
            taken, left = [], tokens
            for place in order.places:
                if left <= 0:
                    break
                taken.append(index.blocks[place])
                left -= index.blocks[place].tokens
            last = taken[-1]  # which gives no more than what is left for it
            taken.sort(key=lambda block: block.chronological)
            fetched = self._view.fetcher.fetch(reader, taken)
            if len(fetched.blocks) < len(taken):
                raise BlockMissing("a KV block was forgotten while a layer asked for it")
            hits += fetched.hits
            parts = [
                cut((raw[layer],), 0, block.tokens + min(left, 0) if block is last else None)[0]
                for block, raw in zip(taken, fetched.raw, strict=True)
            ]
            by_layer[layer] = tuple(block.number for block in taken)
            used.update({block.number: block for block in taken})
            keys = torch.cat([part.keys for part in parts], dim=-2)
            return RawKV(keys, torch.cat([part.values for part in parts], dim=-2))

        done = generate_layered(self._encoder, question.ids, tokens, choose, options)
        blocks = sorted(used.values(), key=lambda block: block.chronological)
        self._view.note_use(reader.pool.generation, blocks)
        trace = KVTrace(len(index.blocks), 0, 0, 0, hits, 0.0, 0.0, 0.0, done.prefill_ms, done.ms, by_layer)
        return Answer(
            texts=self._texts(done),
            blocks=tuple(block.number for block in blocks),
            citations=cited(reader.read, user, sorted({seq for b in blocks for seq in b.tile.seqs})),
            prefill_tokens=done.prefill_tokens,
            kv_tokens=tokens,
            trace=trace,
        )

    def _coupled(self, sight: Sight, max_new_tokens: int) -> Generated:
        """Figure 7: every key at the position that it had in the whole history."""
        began = time.perf_counter()
        prefix = self._encoder.standing
        parts = [(prefix, 0)] if prefix is not None else []
        at, starts = tokens_in(prefix), {}
        choice = sight.choice
        for block in sorted(choice.index.blocks if choice else (), key=lambda one: one.chronological):
            starts[block.number] = at
            at += block.tokens
        raw = (*sight.context.raw, *sight.context.recent)
        parts += [(one, starts[block.number]) for block, one in zip(sight.shown, raw, strict=True)]
        ids = greedy_at(self._encoder, parts, sight.context.ids, at, max_new_tokens)
        ms = (time.perf_counter() - began) * 1000
        return Generated((tuple(ids),), len(sight.context.ids), None, ms, ms)

    def _described(self, sight: Sight, done: Generated, ms: float) -> Answer:
        choice = sight.choice
        before = (choice.probe_ms + choice.score_ms if choice else 0.0) + sight.fetch_ms
        trace = KVTrace(
            considered=len(choice.index.blocks) if choice else 0,
            rescored=choice.ranked.rescored if choice else 0,
            recent_tokens=choice.recent.tokens if choice else 0,
            dropped=sight.context.dropped,
            hits=sight.hits,
            probe_ms=choice.probe_ms if choice else 0.0,
            score_ms=choice.score_ms if choice else 0.0,
            fetch_ms=sight.fetch_ms,
            prefill_ms=done.prefill_ms,
            ms=before + ms,
            by_layer={},
        )
        return Answer(
            texts=self._texts(done),
            blocks=tuple(block.number for block in sight.shown),
            citations=sight.cited,
            prefill_tokens=done.prefill_tokens,
            kv_tokens=sight.context.kv_tokens,
            trace=trace,
        )

    def _texts(self, done: Generated) -> tuple[str, ...]:
        decode = self._encoder.tokenizer.decode
        return tuple(str(decode(list(ids), skip_special_tokens=True)).strip() for ids in done.sequences)


def cited(read: Read, user: str, seqs: Sequence[int]) -> tuple[Cited, ...]:
    """These messages, as far as the log still has them."""
    with read() as connection:
        messages = log.fetch(connection, user, seqs)
    return tuple(
        Cited(seq, m.session, m.time, m.speaker, m.content)
        for seq, m in sorted(messages.items())
        if m.time is not None
    )


def scored(choice: Choice, tokenizer: Any) -> list[BlockScore]:
    """Every block that was not left out, the best first."""
    best = choice.ranked.scores
    order = [int(i) for i in np.lexsort((np.arange(len(best)), -best)) if best[i] > -np.inf]
    blocks = [choice.index.blocks[i] for i in order]
    return [
        BlockScore(
            block.number,
            block.tile.seqs,
            block.session,
            tokenizer.decode(list(block.tile.ids)),
            block.tokens,
            place,
            float(best[i]),
        )
        for place, (i, block) in enumerate(zip(order, blocks, strict=True), 1)
    ]


def _no_keys(blocks: Sequence[KVBlock], layer: int) -> list[Tensor | None]:
    del layer
    return [None] * len(blocks)
