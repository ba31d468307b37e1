"""How sure a model is of what it answers: a short greedy draft and its tokens' log-probabilities."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from zibaldone.errors import InvalidInput, ModelFailed, QuestionOpen
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, Tokenizer, TokenLogprob
from zibaldone.models.meter import Meter

_TOKENS_PER_TURN = 8  # what a server's chat format adds


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft answer, metered."""

    text: str
    nll: float  # mean negative log-probability of its tokens, in nats
    entropy: float | None  # mean over its tokens, among the alternatives offered; None: none were
    prompt_tokens: int  # as the server counted, all of them
    draft_tokens: int


class Drafter(Protocol):
    """Drafts answers. Safe to share among threads."""

    @property
    def name(self) -> str:
        """Identifies the model."""

    def draft(self, request: ChatRequest, user: str) -> Draft:
        """Raises ModelFailed when there is no draft with log-probabilities to be had, whatever the reason."""


class ChatDrafter:
    """Drafts by a chat model, within the meter's ceilings. One without log-probabilities is asked once."""

    def __init__(self, chat: ChatModel, meter: Meter, tokenizer: Tokenizer) -> None:
        self._chat, self._meter, self._tokenizer = chat, meter, tokenizer
        self._has_none = False

    @property
    def name(self) -> str:
        """The chat model's."""
        return self._chat.name

    def draft(self, request: ChatRequest, user: str) -> Draft:
        """One request, not repaired: a draft that cannot be used raises ModelFailed."""
        if self._has_none:
            raise ModelFailed(f"{self.name!r} gives no log-probabilities")
        try:
            return self._judged(self._call(request, user), request)
        except ModelFailed:
            view, _, task = request.task.partition(".")
            self._meter.record(user, view, task, degraded=1)
            raise

    def _judged(self, reply: ChatReply, request: ChatRequest) -> Draft:
        if reply.finish == "refusal":
            raise ModelFailed(f"{self.name!r} refused to draft an answer")
        if reply.logprobs is None:
            self._has_none = True
            raise ModelFailed(f"{self.name!r} gives no log-probabilities")
        nll, entropy = uncertainty(reply.logprobs)
        prompt_tokens = reply.prompt_tokens or self._prompt_tokens(request)
        return Draft(reply.text, nll, entropy, prompt_tokens, len(reply.logprobs))

    def _prompt_tokens(self, request: ChatRequest) -> int:
        texts = [turn.content for turn in request.turns]
        return sum(self._tokenizer.count(texts)) + _TOKENS_PER_TURN * len(texts)

    def _call(self, request: ChatRequest, user: str) -> ChatReply:
        view, _, task = request.task.partition(".")
        estimate = self._prompt_tokens(request)
        reply: ChatReply | None = None
        with self._meter.reserve(user, estimate, request.max_tokens or 0) as reserved:
            began = time.perf_counter()
            sent = True
            try:
                reply = self._chat.chat(request)
            except Exception as error:  # somebody else's client: whatever it raises, there is no draft
                sent = not isinstance(error, (QuestionOpen, InvalidInput))  # a recording was looked into
                if isinstance(error, ModelFailed):
                    raise
                raise ModelFailed(f"{self.name!r} failed: {error!r}") from error
            finally:
                if sent:
                    self._meter.record(
                        user,
                        view,
                        task,
                        calls=reply.attempts if reply else 1,
                        prompt_tokens=(reply.prompt_tokens or estimate) if reply else 0,
                        completion_tokens=(reply.completion_tokens or 0) if reply else 0,
                        ms=round((time.perf_counter() - began) * 1000),
                        reserved=reserved,
                    )
        return reply


def uncertainty(tokens: Sequence[TokenLogprob]) -> tuple[float, float | None]:
    """Mean negative log-likelihood, and mean entropy over the alternatives (renormalised), both in nats.

    Raises ModelFailed when nothing was drafted, or when a log-probability is none.
    """
    if not tokens:
        raise ModelFailed("the draft answer is empty")
    if any(not math.isfinite(one.logprob) or one.logprob > 1e-3 for one in tokens):
        raise ModelFailed("a log-probability of the draft is not one: it must be finite and at most 0")
    nll = -sum(one.logprob for one in tokens) / len(tokens)
    entropies = [_entropy(one) for one in tokens if len(one.alternatives) > 1]
    return max(nll, 0.0), sum(entropies) / len(entropies) if entropies else None


def _entropy(token: TokenLogprob) -> float:
    weights = [math.exp(min(logprob, 0.0)) for _, logprob in token.alternatives]
    whole = sum(weights)
    if not whole > 0:
        return 0.0
    return -sum(w / whole * math.log(w / whole) for w in weights if w > 0)
