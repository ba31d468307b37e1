"""Memory-augmented generation (Eq. 1; Algorithm 1, lines 4-6): selected blocks, and the question behind them.

Likelihoods of answers with a memory are measured too: they say more of a weak model than its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache

from zibaldone.errors import InvalidInput
from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.model.attention_hooks import Inject, Raw, RawKV
from zibaldone.views.kvcache.model.encoding import Encoder, cut, joined
from zibaldone.views.kvcache.model.turns import question_of, tokens_of


@dataclass(frozen=True, slots=True)
class Prefilled:
    """A cache, and the tokens of the question that are still to go through the model behind it."""

    cache: DynamicCache
    held: int  # tokens in the cache
    ids: tuple[int, ...]


class Prompt(Protocol):
    """A question with its memory: one for all layers (PromptContext), or one for each (LayeredPrompt)."""

    @property
    def ids(self) -> tuple[int, ...]:
        """Token ids of the question."""

    def prefilled(self, encoder: Encoder, answer_tokens: int = 0, *, raw: bool = False) -> Prefilled:
        """The memory in a cache that is to hold the question and `answer_tokens` more.

        With `raw` the cache goes on keeping keys from before RoPE.
        """


@dataclass(frozen=True, slots=True)
class PromptContext:
    """A question, and the keys and values that stand before it."""

    ids: tuple[int, ...]  # of the question
    raw: tuple[Raw, ...] = ()  # of chosen blocks and newest turns, without the pinned prefix

    @property
    def kv_tokens(self) -> int:
        """Tokens that are not computed again, without the prefix."""
        return sum(raw[0].tokens for raw in self.raw)

    def parts(self, encoder: Encoder) -> list[Raw]:
        """Pinned prefix and memory, in their order."""
        return [*([encoder.standing] if encoder.standing else []), *self.raw]

    def prefilled(self, encoder: Encoder, answer_tokens: int = 0, *, raw: bool = False) -> Prefilled:
        parts = self.parts(encoder)
        held = sum(part[0].tokens for part in parts)
        final = held + len(self.ids) + answer_tokens
        return Prefilled(encoder.tap.cache_of(parts, final=final, raw=raw), held, self.ids)


class LayeredPrompt:
    """A question of which every layer chooses its own memory, in the pass that reads it.

    Algorithm 1, lines 3-6, layer by layer. The last token goes through the model once more, in `generate`.
    """

    def __init__(self, ids: tuple[int, ...], kv_tokens: int, choose: Inject) -> None:
        """`choose` gives exactly `kv_tokens` of memory to each layer."""
        self.ids, self.kv_tokens, self._inject = ids, kv_tokens, choose

    @torch.no_grad()
    def prefilled(self, encoder: Encoder, answer_tokens: int = 0, *, raw: bool = False) -> Prefilled:  # noqa: ARG002
        tap = encoder.tap
        with tap.open(inject=self._inject) as session:
            cache = tap.cache(promised=self.kv_tokens)
            tap.forward(self.ids, cache, self.kv_tokens)
        held = self.kv_tokens + len(self.ids) - 1
        return Prefilled(tap.whole(cache, session, without=1), held, self.ids[-1:])


@dataclass(frozen=True, slots=True)
class Generated:
    """One answer, and the keys that computing it left."""

    ids: tuple[int, ...]  # of the answer, without its end mark
    prefill_tokens: int
    raw: Raw | None  # of question and answer, where they were caught


def room_for(encoder: Encoder, ids: Sequence[int], max_new_tokens: int) -> int:
    """Tokens of memory that fit into the window. Raises InvalidInput if question and answer do not fit."""
    if not ids:
        raise InvalidInput("the question has no tokens: give it some words")
    left = encoder.window - len(encoder.prefix_ids) - len(ids) - max_new_tokens
    if left < 0:
        raise InvalidInput(
            f"the question has {len(ids)} tokens and the answer may have {max_new_tokens}: with the pinned"
            f" {len(encoder.prefix_ids)} that is more than the model's window of {encoder.window}"
        )
    return left


@torch.no_grad()
def generate(encoder: Encoder, prompt: Prompt, *, catch: bool, options: Mapping[str, Any]) -> Generated:
    """Answer by the model's own `generate`; with `catch` the raw keys of the answer are kept."""
    tap = encoder.tap
    start = prompt.prefilled(encoder, raw=catch)
    answer = _run(encoder, start, options, catch=catch)
    raw = tuple(RawKV(kv.keys.cpu(), kv.values.cpu()) for kv in tap.taken(start.cache)) if catch else None
    return Generated(answer, len(prompt.ids), raw)


def _run(encoder: Encoder, start: Prefilled, options: Mapping[str, Any], *, catch: bool) -> tuple[int, ...]:
    """Token ids of the answer, up to its end mark."""
    tap, cache, ids = encoder.tap, start.cache, start.ids
    given = {
        "input_ids": torch.tensor([list(ids)], device=tap.device),
        "attention_mask": torch.ones((1, start.held + len(ids)), dtype=torch.long, device=tap.device),
        **cache_argument(tap.model, cache),
        **options,
        "use_cache": True,
        "num_beams": 1,  # whatever a configuration says: there is one answer, and its keys are kept
        "num_return_sequences": 1,
    }
    with tap.open() if catch else nullcontext():
        out = tap.model.generate(**given)
    rows = out if isinstance(out, Tensor) else out.sequences  # with return_dict_in_generate
    end = encoder.tokenizer.eos_token_id
    return tuple(takewhile(lambda token: token != end, rows[0, len(ids) :].tolist()))


def computed_kv(
    encoder: Encoder, parts: Sequence[Raw], raw: Raw, answer: Sequence[int], query: str, now: datetime
) -> list[tuple[Raw, Sequence[int]]]:
    """Keys and values, with token ids, of a question and of its answer (Algorithm 1, lines 7-8).

    `raw` is what a generation behind `parts` has computed.
    """
    question = question_of(encoder.tokenizer, encoder.form, query, now)
    ids = (*question.ids, *answer, *tokens_of(encoder.tokenizer, encoder.form.answer_end))
    middle = len(question.turn)
    whole = complete_kv(encoder, parts, raw, ids, len(question.ids) + len(answer))
    return [(cut(whole, 0, middle), ids[:middle]), (cut(whole, middle), ids[middle:])]


@torch.no_grad()
def complete_kv(encoder: Encoder, parts: Sequence[Raw], raw: Raw, ids: Sequence[int], tokens: int) -> Raw:
    """Keys and values of all of `ids`, of whose first `tokens` a generation has computed `raw`.

    Computes the others: the last token of the answer never went through the model, and neither did what
    closes the turn.
    """
    raw = cut(raw, 0, min(raw[0].tokens, tokens))
    left = list(ids[raw[0].tokens :])
    return joined([raw, encoder.run(left, [*parts, raw])]) if left else raw


def answer_ids(encoder: Encoder, answer: str, now: datetime) -> tuple[int, ...]:
    """Token ids of an answer, as they follow the head of the model's own turn. Raises InvalidInput."""
    head = encoder.form.ask(now)
    ids = tokens_of(encoder.tokenizer, answer if not head or head[-1].isspace() else f" {answer}")
    if not ids:
        raise InvalidInput("the answer has no tokens: give it some words")
    return ids


@torch.no_grad()
def likelihood(encoder: Encoder, prompt: Prompt, answer: Sequence[int]) -> float:
    """Log-probability of these tokens in nats, after a prompt, in one pass."""
    start = prompt.prefilled(encoder, len(answer))
    whole = start.held + len(start.ids) + len(answer)
    if whole > encoder.window:
        raise InvalidInput(
            f"memory, question and answer have {whole} tokens, more than the window of {encoder.window}"
        )
    ids = [*start.ids, *answer]
    logits = encoder.tap.forward(ids, start.cache, start.held, logits=len(answer) + 1)[:-1]
    wanted = torch.tensor(list(answer), device=logits.device)[:, None]
    return float(logits.float().log_softmax(dim=-1).gather(1, wanted).sum())
