"""A model's certainty: the log-probabilities of a short greedy draft."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zibaldone.errors import InvalidInput, ModelFailed
from zibaldone.models.base import ChatModel, ChatRequest, Tokenizer, TokenLogprob
from zibaldone.models.meter import Meter
from zibaldone.models.metered import MeteredChat


class Drafter:
    """Measures the uncertainty of a chat model's own draft answers, within ceilings. Safe for threads.

    A model without log-probabilities is asked once.
    """

    def __init__(self, chat: ChatModel, meter: Meter, tokenizer: Tokenizer) -> None:
        self.name = chat.name
        self._chat, self._meter = MeteredChat(chat, meter, tokenizer), meter
        self._has_none = False

    def doubt(self, request: ChatRequest, user: str) -> float:
        """Mean negative log-probability of a draft's tokens, in nats, by one request.

        Raises ModelFailed when there is no draft with log-probabilities to be had, whatever the reason.
        """
        if self._has_none:
            raise ModelFailed(f"{self.name!r} gives no log-probabilities", requests=0)
        try:
            try:
                reply = self._chat.chat(request, user)
            except InvalidInput as error:  # a damaged recording
                raise ModelFailed(f"{self.name!r} failed: {error!r}", requests=0) from error
            if reply.finish == "refusal":
                raise ModelFailed(f"{self.name!r} refused to draft an answer")
            if reply.logprobs is None:
                self._has_none = True
                raise ModelFailed(f"{self.name!r} gives no log-probabilities")
            return uncertainty(reply.logprobs)
        except ModelFailed:
            view, _, task = request.task.partition(".")
            self._meter.record(user, view, task, degraded=1)
            raise


def uncertainty(tokens: Sequence[TokenLogprob]) -> float:
    """Mean negative log-likelihood, in nats.

    Raises ModelFailed when nothing was drafted, or when a log-probability is none.
    """
    if not tokens:
        raise ModelFailed("the draft answer is empty")
    if any(not math.isfinite(token.logprob) or token.logprob > 1e-3 for token in tokens):
        raise ModelFailed("a log-probability of the draft is not one: it must be finite and at most 0")
    return max(-sum(one.logprob for one in tokens) / len(tokens), 0.0)
