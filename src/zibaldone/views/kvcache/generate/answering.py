"""Answers and scores of answers with memory, and traces of both."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zibaldone.views.kvcache.generate.generation import answer_ids, generate, likelihood
from zibaldone.views.kvcache.generate.selection import Cited, Sought, cited, select_memory, seqs_of
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.storage.manifest import PoolReader
from zibaldone.views.kvcache.view import KVView


@dataclass(frozen=True, slots=True)
class KVTrace:
    """Time of an answer, and how much of its memory was the newest turns."""

    ms: float  # from the question to the answer's end
    recent_tokens: int = 0  # of the newest turns, which stand before the question


@dataclass(frozen=True, slots=True)
class KVAnswer:
    """An answer of the model."""

    text: str
    blocks: tuple[int, ...]  # numbers of the selected blocks, in their order
    citations: tuple[Cited, ...]  # the messages that those are of, in the order of the log
    prefill_tokens: int  # that the model computed before the answer
    kv_tokens: int  # that it reused
    trace: KVTrace


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """Log-probability of an answer with a memory."""

    log_probability: float  # of all its tokens, in nats
    tokens: int  # of the answer
    citations: tuple[Cited, ...]  # the selected messages, in the order of the log
    prefill_tokens: int  # that the model computed before the answer
    kv_tokens: int  # that it reused

    @property
    def per_token(self) -> float:
        """Mean log-probability per token of the answer."""
        return self.log_probability / self.tokens


def answer(
    view: KVView,
    reader: PoolReader | None,
    index: Index | None,
    user: str,
    sought: Sought,
    options: Mapping[str, Any],
) -> KVAnswer:
    """Answer a question with its memory."""
    began = time.perf_counter()
    memory = select_memory(view, reader, index, sought)
    ids = generate(view.encoder, memory.prefilled(view.encoder), options)
    ms = (time.perf_counter() - began) * 1000
    return KVAnswer(
        str(view.encoder.tokenizer.decode(list(ids), skip_special_tokens=True)).strip(),
        tuple(block.number for block in memory.blocks),
        cited(reader, user, seqs_of(memory.blocks)),
        len(memory.ids),
        memory.kv_tokens,
        KVTrace(ms, memory.recent_tokens),
    )


def score(
    view: KVView, reader: PoolReader | None, index: Index | None, user: str, sought: Sought, words: str
) -> AnswerScore:
    """Score how likely an answer (`words`) is, with the memory that its question selects."""
    gold = answer_ids(view.encoder, words, sought.now)
    memory = select_memory(view, reader, index, sought)
    logs = likelihood(view.encoder, memory.prefilled(view.encoder, len(gold)), gold)
    seen = cited(reader, user, seqs_of(memory.blocks))
    return AnswerScore(logs, len(gold), seen, len(memory.ids), memory.kv_tokens)
