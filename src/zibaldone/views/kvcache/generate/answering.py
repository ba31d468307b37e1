"""From questions to answers: what stands in sight, what the model says, and how it came about."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zibaldone.views.kvcache.generate.generation import (
    Generated,
    answer_ids,
    generate,
    generate_layered,
    layered_likelihood,
    likelihood,
)
from zibaldone.views.kvcache.generate.selection import Cited, Sight, Sought, cited, layered, look, seqs_of
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.probe import Choice
from zibaldone.views.kvcache.storage.manifest import KVBlock, PoolReader
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
    hits: Hits  # where the chosen blocks came from
    ms: float  # from the question to the answer's end
    recent_tokens: int = 0  # of the newest turns, which stand before the question


@dataclass(frozen=True, slots=True)
class KVAnswer:
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


@dataclass(frozen=True, slots=True)
class AnswerMade:
    """An answer, and what it was made of."""

    answer: KVAnswer
    sight: Sight | None  # None where each layer had its own
    generated: Generated


def answer(
    view: KVView,
    reader: PoolReader | None,
    index: Index | None,
    user: str,
    sought: Sought,
    options: Mapping[str, Any],
    *,
    catch: bool = False,
) -> AnswerMade:
    """Let the model answer, with one selection or one for each layer."""
    if view.config.select == "per_layer" and sought.given is None:
        return _layered_answer(view, reader, index, user, sought, options)
    began = time.perf_counter()
    sight = look(view, reader, index, user, sought)
    done = generate(view.encoder, sight.context, catch=catch, options=options)
    selection, ms = sight.selection, (time.perf_counter() - began) * 1000
    recent = sum(block.tokens for block in selection.newest)
    trace = KVTrace(selection.considered, sight.hits, ms, recent)
    made = _answer(view, done, selection.shown, sight.cited, sight.context.kv_tokens, trace)
    return AnswerMade(made, sight, done)


def _layered_answer(
    view: KVView,
    reader: PoolReader | None,
    index: Index | None,
    user: str,
    sought: Sought,
    options: Mapping[str, Any],
) -> AnswerMade:
    began = time.perf_counter()
    memory = layered(view, reader, index, sought)
    if memory is None or reader is None:
        return answer(view, None, None, user, replace(sought, given=()), options)
    done = generate_layered(view.encoder, memory.ids, memory.tokens, memory.choose, options)
    trace = KVTrace(len(memory.index.blocks), memory.hits, (time.perf_counter() - began) * 1000)
    seen = cited(reader.read, user, seqs_of(memory.blocks))
    return AnswerMade(_answer(view, done, memory.blocks, seen, memory.tokens, trace), None, done)


def score(
    view: KVView, reader: PoolReader | None, index: Index | None, user: str, sought: Sought, words: str
) -> AnswerScore:
    """How likely an answer is, with what is in sight for its question."""
    gold = answer_ids(view.encoder, words, sought.now)
    per_layer = view.config.select == "per_layer" and sought.given is None
    memory = layered(view, reader, index, sought) if per_layer else None
    if memory is not None and reader is not None:
        logs = layered_likelihood(view.encoder, memory.ids, memory.tokens, memory.choose, gold)
        seen = cited(reader.read, user, seqs_of(memory.blocks))
        return AnswerScore(logs, len(gold), seen, len(memory.ids), memory.tokens)
    sight = look(view, None if per_layer else reader, index, user, sought)
    logs = likelihood(view.encoder, sight.context, gold)
    return AnswerScore(logs, len(gold), sight.cited, len(sight.context.ids), sight.context.kv_tokens)


def _answer(
    view: KVView,
    done: Generated,
    blocks: Sequence[KVBlock],
    seen: tuple[Cited, ...],
    kv_tokens: int,
    trace: KVTrace,
) -> KVAnswer:
    decode = view.encoder.tokenizer.decode
    texts = tuple(str(decode(list(ids), skip_special_tokens=True)).strip() for ids in done.sequences)
    numbers = tuple(block.number for block in blocks)
    return KVAnswer(texts, numbers, seen, done.prefill_tokens, kv_tokens, trace)


def scored(choice: Choice, tokenizer: Any) -> list[BlockScore]:
    """Every block that was not left out, the best first."""
    best = choice.scores
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
