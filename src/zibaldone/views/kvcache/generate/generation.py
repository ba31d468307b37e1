"""Memory-augmented generation (Algorithm 1, Eq. 6): chosen blocks first, the question after them.

How likely an answer is under a memory is measured too: that says more of a weak model than its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from zibaldone.errors import InvalidInput
from zibaldone.models.cache_argument import cache_argument
from zibaldone.views.kvcache.model.attention_hooks import Inject, Raw, RawKV, Tap
from zibaldone.views.kvcache.model.encoding import Encoder, cut, joined
from zibaldone.views.kvcache.model.turns import question_of, tokens_of


@dataclass(frozen=True, slots=True)
class PromptContext:
    """A question, and the keys of what stands before it."""

    ids: tuple[int, ...]  # of the question
    raw: tuple[Raw, ...] = ()  # of chosen blocks and newest turns, without the pinned prefix

    @property
    def kv_tokens(self) -> int:
        """Tokens that are not computed again, without the prefix."""
        return sum(raw[0].tokens for raw in self.raw)

    def parts(self, encoder: Encoder) -> list[Raw]:
        """All that stands before the question."""
        return [*([encoder.standing] if encoder.standing else []), *self.raw]


@dataclass(frozen=True, slots=True)
class Generated:
    """One answer, and the keys that its making left."""

    sequences: tuple[tuple[int, ...], ...]  # token ids of each returned answer
    prefill_tokens: int
    raw: Raw | None  # of question and answer, where they were caught


def room_for(encoder: Encoder, ids: Sequence[int], max_new_tokens: int) -> int:
    """Tokens of memory that the window has room for. Raises InvalidInput when it has none."""
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
def generate(
    encoder: Encoder, context: PromptContext, *, catch: bool, options: Mapping[str, Any]
) -> Generated:
    """An answer, by the model's own `generate`; with `catch` the raw keys of a lone one are kept."""
    tap, parts = encoder.tap, context.parts(encoder)
    held = sum(part[0].tokens for part in parts)
    catch = catch and _repeats(tap, options) == 1
    cache = tap.prefilled(parts, final=held + len(context.ids), raw=catch)
    sequences = _run(encoder, cache, held, context.ids, options, catch=catch)
    raw = tuple(RawKV(kv.keys.cpu(), kv.values.cpu()) for kv in tap.taken(cache)) if catch else None
    return Generated(sequences, len(context.ids), raw)


def _repeats(tap: Tap, options: Mapping[str, Any]) -> int:
    """Rows that a question gets."""
    return max(_option(tap, options, "num_beams"), _option(tap, options, "num_return_sequences"))


def _option(tap: Tap, options: Mapping[str, Any], name: str) -> int:
    """As `generate` will read it: from the call, from a configuration given with it, from the model's own."""
    for source in (options.get("generation_config"), tap.model.generation_config):
        if options.get(name) is not None:
            return int(options[name])
        if source is not None and getattr(source, name, None) is not None:
            return int(getattr(source, name))
    return 1


def _run(
    encoder: Encoder,
    cache: DynamicCache,
    held: int,
    ids: Sequence[int],
    options: Mapping[str, Any],
    *,
    catch: bool = False,
) -> tuple[tuple[int, ...], ...]:
    """Token ids of each returned answer to a question behind the `held` tokens of a cache."""
    tap, repeats = encoder.tap, _repeats(encoder.tap, options)
    if repeats > 1:
        cache.batch_repeat_interleave(repeats)  # `generate` repeats ids and mask itself
    given = {
        "input_ids": torch.tensor([list(ids)], device=tap.device),
        "attention_mask": torch.ones((1, held + len(ids)), dtype=torch.long, device=tap.device),
        **cache_argument(tap.model, cache),
        **options,
        "use_cache": True,
    }
    with tap.open() if catch else nullcontext():
        out = tap.model.generate(**given)
    rows = out if isinstance(out, Tensor) else out.sequences  # with return_dict_in_generate
    end = encoder.tokenizer.eos_token_id
    pad = end or 0 if encoder.tokenizer.pad_token_id is None else encoder.tokenizer.pad_token_id
    return tuple(tuple(_until_pad(row.tolist(), int(pad), end)) for row in rows[:, len(ids) :])


def _until_pad(ids: Sequence[int], pad: int, end: int | None) -> list[int]:
    """What was generated, without what fills up a batch and without the end mark."""
    answer: list[int] = []
    for token in ids:
        if token == end:
            break
        answer.append(token)
    while answer and answer[-1] == pad:
        answer.pop()
    return answer


@torch.no_grad()
def finish(
    encoder: Encoder, context: PromptContext, generated: Raw, ids: Sequence[int], fed_tokens: int
) -> Raw:
    """Keys of all of `ids`: of its first `fed_tokens`, question and answer, a generation left the keys.

    But for the last token of the answer, which never went through the model, as what closes the turn did not.
    """
    generated = cut(generated, 0, min(generated[0].tokens, fed_tokens))
    left = list(ids[generated[0].tokens :])
    if not left:
        return generated
    return joined([generated, encoder.run(left, [*context.parts(encoder), generated])])


def keys_of(
    encoder: Encoder, context: PromptContext, raw: Raw, answer: Sequence[int], query: str, now: datetime
) -> list[tuple[Raw, Sequence[int]]]:
    """(keys, token ids) of a question and of its answer, from what a generation left (lines 7-8)."""
    question = question_of(encoder.tokenizer, encoder.form, query, now)
    ids = (*question.ids, *answer, *tokens_of(encoder.tokenizer, encoder.form.answer_end))
    middle = len(question.turn)
    whole = finish(encoder, context, raw, ids, len(question.ids) + len(answer))
    return [(cut(whole, 0, middle), ids[:middle]), (cut(whole, middle), ids[middle:])]


@torch.no_grad()
def layered_cache(encoder: Encoder, ids: Sequence[int], tokens: int, choose: Inject) -> DynamicCache:
    """What stands before a question's last token when every layer has attended to its own blocks."""
    tap = encoder.tap
    with tap.open(inject=choose) as session:
        pass_over = tap.cache(promised=tokens)
        tap.forward(ids, pass_over, tokens)
    return tap.whole(pass_over, session, without=1)


@torch.no_grad()
def generate_layered(
    encoder: Encoder, ids: Sequence[int], tokens: int, choose: Inject, options: Mapping[str, Any]
) -> Generated:
    """An answer in which every layer attends to blocks of its own choice: the paper's literal reading.

    `choose` gives exactly `tokens` of memory to each layer. The last token of the question goes through the
    model once more, in `generate`.
    """
    cache = layered_cache(encoder, ids, tokens, choose)
    return Generated(_run(encoder, cache, tokens + len(ids) - 1, ids[-1:], options), len(ids), None)


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
    parts = context.parts(encoder)
    held = sum(part[0].tokens for part in parts)
    cache = encoder.tap.prefilled(parts, final=held + len(context.ids) + len(answer))
    return _behind(encoder, cache, held, context.ids, answer)


@torch.no_grad()
def layered_likelihood(
    encoder: Encoder, ids: Sequence[int], tokens: int, choose: Inject, answer: Sequence[int]
) -> float:
    """The same where every layer chooses its own memory, for the question's tokens."""
    cache = layered_cache(encoder, ids, tokens, choose)
    return _behind(encoder, cache, tokens + len(ids) - 1, ids[-1:], answer)


def _behind(
    encoder: Encoder, cache: DynamicCache, held: int, ids: Sequence[int], answer: Sequence[int]
) -> float:
    whole = held + len(ids) + len(answer)
    if whole > encoder.window:
        raise InvalidInput(
            f"memory, question and answer have {whole} tokens, more than the window of {encoder.window}"
        )
    logits = encoder.tap.forward([*ids, *answer], cache, held, logits=len(answer) + 1)[:-1]
    wanted = torch.tensor(list(answer), device=logits.device)[:, None]
    return float(logits.float().log_softmax(dim=-1).gather(1, wanted).sum())
