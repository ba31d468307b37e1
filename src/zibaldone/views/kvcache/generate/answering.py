"""From questions to answers: what stands in sight, what the model says, and how it came about."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zibaldone.views.kvcache.generate.generation import Generated, generate, generate_layered
from zibaldone.views.kvcache.generate.layered import layered
from zibaldone.views.kvcache.generate.likelihood import answer_ids, layered_likelihood, likelihood
from zibaldone.views.kvcache.generate.sight import Cited, Looking, Sight, Sought, cited
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.probe import Choice
from zibaldone.views.kvcache.storage.pool_reader import PoolReader
from zibaldone.views.kvcache.storage.tiers import Hits
from zibaldone.views.kvcache.view import KVView


@dataclass(frozen=True, slots=True)
class BlockScore:
    """A block, as a question sees it."""

    block: int
    seqs: tuple[int, ...]  # of the messages that it has tokens of
    session: str
    text: str  # of its tokens
    tokens: int
    rank: int  # from 1, by score
    score: float  # I(Q, K) of Eq. 4, natural logarithm; by boxes, unless there are few blocks


@dataclass(frozen=True, slots=True)
class KVTrace:
    """How an answer came about."""

    considered: int  # blocks scored
    rescored: int  # of those, scored again by their own keys
    recent_tokens: int  # of the newest turns, which stand before the question
    dropped: int  # chosen blocks that the window, or turns that the budget, had no room for
    hits: Hits  # where the chosen blocks came from
    probe_ms: float  # reading the question
    score_ms: float
    fetch_ms: float  # with what was computed again of the turns
    prefill_ms: float  # to the first token, from when all blocks were at hand
    ms: float
    by_layer: Mapping[int, tuple[int, ...]]  # with select="per_layer": blocks by layer


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said."""

    texts: tuple[str, ...]  # more than one with num_return_sequences
    blocks: tuple[int, ...]  # numbers of the blocks in sight, in their order there
    citations: tuple[Cited, ...]  # the messages that those are of, in the order of the log
    prefill_tokens: int  # that the model computed before the answer
    kv_tokens: int  # that it reused
    trace: KVTrace

    @property
    def text(self) -> str:
        """The first of the texts."""
        return self.texts[0]


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """How likely an answer is under a memory."""

    log_probability: float  # of all its tokens, in nats
    tokens: int  # of the answer
    citations: tuple[Cited, ...]  # the messages in sight, in the order of the log
    prefill_tokens: int  # that the model computed before the answer
    kv_tokens: int  # that it reused

    @property
    def per_token(self) -> float:
        """Mean log-probability of a token of the answer."""
        return self.log_probability / self.tokens


class Answering:
    """Questions to one model. Not for several threads at once."""

    def __init__(self, view: KVView) -> None:
        self._view, self._encoder, self._config = view, view.encoder, view.config
        self.looking = Looking(view)

    def answer(
        self, sights: Sequence[Sight], options: Mapping[str, Any], *, catch: bool
    ) -> list[tuple[Answer, Generated]]:
        """Let the model answer, all questions side by side."""
        began = time.perf_counter()
        made = generate(self._encoder, [sight.context for sight in sights], catch=catch, options=options)
        ms = (time.perf_counter() - began) * 1000
        return [(self._described(sight, done, ms), done) for sight, done in zip(sights, made, strict=True)]

    def layered(
        self,
        reader: PoolReader | None,
        index: Index | None,
        user: str,
        sought: Sought,
        options: Mapping[str, Any],
    ) -> Answer:
        """One pass in which every layer chooses k blocks' worth of tokens for itself."""
        chosen = layered(self._view, reader, index, sought)
        if chosen is None or reader is None or index is None:
            return self.answer([self.looking.look(None, None, user, sought)], options, catch=False)[0][0]
        memory, choices = chosen
        done = generate_layered(self._encoder, *memory, options)
        return Answer(
            texts=self._texts(done),
            blocks=tuple(block.number for block in choices.blocks),
            citations=cited(reader.read, user, choices.seqs),
            prefill_tokens=done.prefill_tokens,
            kv_tokens=memory.tokens,
            trace=KVTrace(
                considered=len(index.blocks),
                rescored=0,
                recent_tokens=0,
                dropped=0,
                hits=choices.hits,
                probe_ms=0.0,
                score_ms=0.0,
                fetch_ms=0.0,
                prefill_ms=done.prefill_ms,
                ms=done.ms,
                by_layer=choices.by_layer,
            ),
        )

    def score(
        self, reader: PoolReader | None, index: Index | None, user: str, sought: Sought, answer: str
    ) -> tuple[AnswerScore, Sight | None]:
        """How likely an answer is, with what is in sight for its question; None where layers chose it."""
        ids = answer_ids(self._encoder, answer, sought.now)
        per_layer = self._config.select == "per_layer" and sought.given is None
        chosen = layered(self._view, reader, index, sought) if per_layer else None
        if chosen is not None and reader is not None:
            memory, choices = chosen
            logs = layered_likelihood(self._encoder, memory, ids)
            seen = cited(reader.read, user, choices.seqs)
            return AnswerScore(logs, len(ids), seen, len(memory.ids), memory.tokens), None
        sight = self.looking.look(reader, index, user, sought)
        logs = likelihood(self._encoder, sight.context, ids)
        context = sight.context
        return AnswerScore(logs, len(ids), sight.cited, context.prefill_tokens, context.kv_tokens), sight

    def _described(self, sight: Sight, done: Generated, ms: float) -> Answer:
        choice = sight.choice
        before = (choice.probe_ms + choice.score_ms if choice else 0.0) + sight.fetch_ms
        trace = KVTrace(
            considered=len(choice.index.blocks) if choice else 0,
            rescored=choice.ranked.rescored if choice else 0,
            recent_tokens=sight.recent.tokens,
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
