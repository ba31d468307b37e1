"""The only sender of requests to a chat model: within ceilings, counted, with checked replies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace

from zibaldone.core.telemetry import model_call
from zibaldone.errors import InvalidInput, ModelFailed, ModelUnavailable
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, Tokenizer, storable, whole_number
from zibaldone.models.breaker import Breaker
from zibaldone.models.meter import Meter

_TOKENS_PER_TURN = 8  # what a server's chat format adds; for the ceilings, before the server has counted
_DEFAULT_ANSWER_TOKENS = 1024
_MOST_REQUESTS = 5  # for one question under a ceiling of calls


class MeteredChat:
    """A chat model, metered. Safe to share among threads."""

    def __init__(
        self,
        chat: ChatModel,
        meter: Meter,
        tokenizer: Tokenizer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chat, self._meter, self._tokenizer = chat, meter, tokenizer
        self._breaker = Breaker(clock)

    @property
    def name(self) -> str:
        """The chat model's."""
        return self._chat.name

    def chat(self, request: ChatRequest, user: str, *, patient: bool = False) -> ChatReply:
        """A reply of the right shape, its tokens counted; metered under the request's task.

        A model that cannot be had again and again is left alone for a while, unless who asks is `patient`.
        Raises ModelFailed, whatever the model raised or gave.
        """
        view, _, task = request.task.partition(".")
        if not patient and (reason := self._breaker.resting()):
            raise ModelUnavailable(f"{self.name!r} is {reason}", requests=0)
        prompt_tokens = self._prompt_tokens(request)
        most_tokens = request.max_tokens or _DEFAULT_ANSWER_TOKENS
        most_requests = request.max_attempts or _MOST_REQUESTS
        with (
            self._meter.reserve(user, prompt_tokens, most_tokens, most_requests) as reserved,
            model_call("chat", self.name, getattr(self._chat, "provider", "custom")) as span,
        ):
            began = time.perf_counter()
            requests = 1
            reply: ChatReply | None = None
            try:
                given = self._chat.chat(replace(request, max_requests=reserved.requests))
                reply = self._checked(given, prompt_tokens)
                requests = reply.attempts
                span.used(reply.prompt_tokens, reply.completion_tokens)
                span.note({"zibaldone.task": request.task, "gen_ai.response.finish_reasons": (reply.finish,)})
                self._breaker.succeeded()
            except InvalidInput:
                requests = 0  # a recording is damaged: no model was asked
                raise
            except ModelFailed as error:
                counted = whole_number(error.requests)  # somebody else's client may say anything
                requests = 1 if counted is None else counted
                if requests and isinstance(error, ModelUnavailable):
                    self._breaker.failed(reason=str(error), times=requests)
                raise
            except Exception as error:  # somebody else's client: whatever it raises, there is no answer
                raise ModelFailed(f"{self.name!r} failed: {error!r}") from error
            finally:
                if requests:
                    self._meter.record(
                        user,
                        view,
                        task,
                        calls=requests,
                        prompt_tokens=(reply.prompt_tokens or 0) if reply else 0,
                        completion_tokens=(reply.completion_tokens or 0) if reply else 0,
                        ms=round((time.perf_counter() - began) * 1000),
                        reserved=reserved,
                    )
        return reply

    def _prompt_tokens(self, request: ChatRequest) -> int:
        texts = [turn.content for turn in request.turns]
        if request.schema is not None:
            texts.append(json.dumps(request.schema))
        return sum(self._tokenizer.count(texts)) + _TOKENS_PER_TURN * len(texts)

    def _checked(self, reply: ChatReply, prompt_tokens: int) -> ChatReply:
        """Repair what can be repaired, and count missing token numbers."""
        text = storable(reply.text)
        counted, completed = whole_number(reply.prompt_tokens), whole_number(reply.completion_tokens)
        return replace(
            reply,
            text=text,
            prompt_tokens=prompt_tokens if counted is None else counted,
            completion_tokens=self._tokenizer.count([text])[0] if completed is None else completed,
            attempts=whole_number(reply.attempts) or 1,
        )
