"""Memory-augmented generation (Eq. 1; Algorithm 1, lines 4-6): selected blocks, and the question behind them.

Likelihoods of answers with a memory are measured too: they say more of a weak model than its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from zibaldone.errors import InvalidInput
from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.model.attention_hooks import Inject, Raw
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.model.turns import tokens_of


@dataclass(frozen=True, slots=True)
class Prefilled:
    """A cache, and the tokens of the question that are still to go through the model behind it."""

    cache: DynamicCache
    held: int  # tokens in the cache
    ids: tuple[int, ...]


@torch.no_grad()
def behind(
    encoder: Encoder, memory: Sequence[Raw], ids: tuple[int, ...], answer_tokens: int = 0
) -> Prefilled:
    """A question behind the pinned prefix and `memory`, in a cache that is to hold `answer_tokens` more."""
    parts = [*([encoder.standing] if encoder.standing else []), *memory]
    held = sum(part[0].tokens for part in parts)
    return Prefilled(encoder.tap.cache_of(parts, final=held + len(ids) + answer_tokens), held, ids)


@torch.no_grad()
def behind_layers(encoder: Encoder, ids: tuple[int, ...], kv_tokens: int, choose: Inject) -> Prefilled:
    """A question of which every layer chooses its own memory, in the pass that reads it.

    Algorithm 1, lines 3-6, layer by layer: `choose` gives exactly `kv_tokens` to each. The last token goes
    through the model once more, with the answer.
    """
    tap = encoder.tap
    with tap.open(inject=choose) as session:
        cache = tap.cache(promised=kv_tokens)
        tap.forward(ids, cache, kv_tokens)
    return Prefilled(tap.whole(cache, session, without=1), kv_tokens + len(ids) - 1, ids[-1:])


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
def generate(encoder: Encoder, start: Prefilled, options: Mapping[str, Any]) -> tuple[int, ...]:
    """Token ids of the answer by the model's own `generate`, up to its end mark."""
    tap, ids = encoder.tap, start.ids
    given = {
        "input_ids": torch.tensor([list(ids)], device=tap.device),
        "attention_mask": torch.ones((1, start.held + len(ids)), dtype=torch.long, device=tap.device),
        **cache_argument(tap.model, start.cache),
        **options,
        "use_cache": True,
        "num_beams": 1,  # whatever a configuration says: there is one answer
        "num_return_sequences": 1,
    }
    out = tap.model.generate(**given)
    rows = out if isinstance(out, Tensor) else out.sequences  # with return_dict_in_generate
    end = encoder.tokenizer.eos_token_id
    return tuple(takewhile(lambda token: token != end, rows[0, len(ids) :].tolist()))


def answer_ids(encoder: Encoder, answer: str, now: datetime) -> tuple[int, ...]:
    """Token ids of an answer, as they follow the head of the model's own turn. Raises InvalidInput."""
    head = encoder.form.ask(now)
    ids = tokens_of(encoder.tokenizer, answer if not head or head[-1].isspace() else f" {answer}")
    if not ids:
        raise InvalidInput("the answer has no tokens: give it some words")
    return ids


@torch.no_grad()
def likelihood(encoder: Encoder, start: Prefilled, answer: Sequence[int]) -> float:
    """Log-probability of these tokens in nats, after a question, in one pass."""
    whole = start.held + len(start.ids) + len(answer)
    if whole > encoder.window:
        raise InvalidInput(
            f"memory, question and answer have {whole} tokens, more than the window of {encoder.window}"
        )
    ids = [*start.ids, *answer]
    logits = encoder.tap.forward(ids, start.cache, start.held, logits=len(answer) + 1)[:-1]
    wanted = torch.tensor(list(answer), device=logits.device)[:, None]
    return float(logits.float().log_softmax(dim=-1).gather(1, wanted).sum())
