"""How likely an answer is under a memory: a sharper measure of a weak model than the words that it says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import torch
from transformers import DynamicCache

from zibaldone.errors import InvalidInput
from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.generate.generation import LayeredMemory, PromptContext, layered_cache
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.model.turns import tokens_of


def answer_ids(encoder: Encoder, answer: str, now: datetime) -> tuple[int, ...]:
    """An answer as tokens, as they follow the head of the model's own turn."""
    head = encoder.form.ask(now)
    ids = tokens_of(encoder.tokenizer, answer if not head or head[-1].isspace() else f" {answer}")
    if not ids:
        raise InvalidInput("the answer has no tokens: give it some words")
    return ids


@torch.no_grad()
def likelihood(encoder: Encoder, context: PromptContext, answer: Sequence[int]) -> float:
    """Log-probability of these tokens in nats, after the question of a context, in one pass."""
    parts = [*([encoder.standing] if encoder.standing else []), *context.raw, *context.recent]
    held = sum(part[0].tokens for part in parts)
    cache = encoder.tap.prefilled(parts, final=held + len(context.ids) + len(answer))
    return _behind(encoder, cache, held, context.ids, answer)


@torch.no_grad()
def layered_likelihood(encoder: Encoder, memory: LayeredMemory, answer: Sequence[int]) -> float:
    """The same where every layer chooses its own memory, for the question's tokens."""
    cache = layered_cache(encoder, *memory)
    held = memory.tokens + len(memory.ids) - 1
    return _behind(encoder, cache, held, memory.ids[-1:], answer)


def _behind(
    encoder: Encoder, cache: DynamicCache, held: int, ids: Sequence[int], answer: Sequence[int]
) -> float:
    tap = encoder.tap
    whole = held + len(ids) + len(answer)
    if whole > encoder.window:
        raise InvalidInput(
            f"memory, question and answer have {whole} tokens, more than the window of {encoder.window}"
        )
    given = torch.tensor([[*ids, *answer]], device=tap.device)
    logits = tap.model(
        input_ids=given,
        attention_mask=torch.ones((1, whole), dtype=torch.long, device=tap.device),
        **cache_argument(tap.model, cache),
        use_cache=True,
        logits_to_keep=len(answer) + 1,
    ).logits[0, :-1]
    wanted = torch.tensor(list(answer), device=logits.device)[:, None]
    return float(logits.float().log_softmax(dim=-1).gather(1, wanted).sum())
