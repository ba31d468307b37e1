"""The only place that talks to a chat model: ask, validate, repair once, fall back."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from zibaldone.errors import InvalidInput, ModelFailed, ModelUnavailable, QuestionOpen
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, Tokenizer, Turn
from zibaldone.models.meter import Meter, Reservation
from zibaldone.models.task import Task

R = TypeVar("R", bound=BaseModel)
OFFLINE = "offline"
_TOKENS_PER_TURN = 8  # what a server's chat format adds; for the ceilings, before the server has counted
_DEFAULT_ANSWER_TOKENS = 1024
_SHOWN_ERROR = 1000  # characters of an error that a model is shown


@dataclass(frozen=True, slots=True)
class Answer(Generic[R]):
    """What came of a question."""

    result: R
    degraded: str  # why the offline answer stands in for the model's, in a sentence; "" when none does
    made_by: str  # "<model>/<hash of the prompt>", or "offline"
    calls: int = 0  # questions put to the model, a repair counted
    prompt_tokens: int = 0
    completion_tokens: int = 0


class BadAnswer(ModelFailed):
    """The model answered, and the answer cannot be used."""


class Asker:
    """Asks tasks of one chat model, or of none. Safe to share among threads."""

    def __init__(self, chat: ChatModel | None, meter: Meter, tokenizer: Tokenizer) -> None:
        self._chat, self._meter, self._tokenizer = chat, meter, tokenizer

    @property
    def has_model(self) -> bool:
        """Whether there is a model to ask."""
        return self._chat is not None

    def ask(
        self, task: Task[R], *, user: str, patient: bool = False, timeout_s: float | None = None
    ) -> Answer[R]:
        """The task's answer, from the model or from its `offline`.

        A bad answer (not JSON, not of the schema, refused by `task.check`, cut off) is shown to the model
        once, with what is wrong with it; then the offline answer stands in, and so it does when the model
        refuses, fails, cannot be had, or a ceiling is reached. With `patient`, a model that cannot be had
        raises ModelUnavailable instead. QuestionOpen is always raised: somebody is going to answer. With a
        `timeout_s` somebody is waiting: a request that fails is not tried again.
        """
        if self._chat is None:
            return Answer(task.offline(), "", OFFLINE)
        asked = _Asked()
        try:
            result = self._ask(self._chat, task, user, timeout_s, asked)
        except QuestionOpen:
            raise
        except ModelFailed as error:
            if patient and isinstance(error, ModelUnavailable):
                raise
            self._meter.record(user, task.view, task.prompt, degraded=1)
            reason = f"{task.prompt}: {error}"
            return Answer(
                task.offline(), reason, OFFLINE, asked.calls, asked.prompt_tokens, asked.completion_tokens
            )
        made_by = f"{self._chat.name}/{task.prompt_hash}"
        return Answer(result, "", made_by, asked.calls, asked.prompt_tokens, asked.completion_tokens)

    def ask_text(
        self,
        turns: Sequence[Turn],
        *,
        user: str,
        view: str,
        task: str,
        max_tokens: int | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """Free text, metered. Raises ModelFailed, also when there is no model or the answer is cut off."""
        if self._chat is None:
            raise ModelFailed("no chat model is configured: give chat= or set ZIBALDONE_CHAT_MODEL")
        request = ChatRequest(f"{view}.{task}", tuple(turns), max_tokens=max_tokens, timeout_s=timeout_s)
        reply = self._call(self._chat, request, user, view, task, _Asked())
        if reply.finish == "refusal":
            raise BadAnswer(f"the model refused: {_short(reply.text)}")
        return reply.text

    def _ask(self, chat: ChatModel, task: Task[R], user: str, timeout_s: float | None, asked: _Asked) -> R:
        request = ChatRequest(
            task.name,
            task.turns(),
            task.schema(),
            max_tokens=task.max_tokens,
            timeout_s=timeout_s,
            max_attempts=None if timeout_s is None else 1,
        )
        reply = self._call(chat, request, user, task.view, task.prompt, asked)
        try:
            return _judged(task, reply)
        except BadAnswer as error:
            if reply.finish == "refusal":
                raise
            complaint = (
                f"This answer cannot be used: {error}. Give the corrected answer: one JSON object that fits"
                " the schema, and nothing else."
            )
            again = replace(
                request,
                turns=(*request.turns, Turn("assistant", reply.text), Turn("user", complaint)),
            )
            return _judged(task, self._call(chat, again, user, task.view, task.prompt, asked))

    def _call(
        self, chat: ChatModel, request: ChatRequest, user: str, view: str, task: str, asked: _Asked
    ) -> ChatReply:
        """One request; metered, whatever becomes of it."""
        texts = [turn.content for turn in request.turns]
        if request.schema is not None:
            texts.append(json.dumps(request.schema))
        estimate = sum(self._tokenizer.count(texts)) + _TOKENS_PER_TURN * len(texts)
        most = request.max_tokens or _DEFAULT_ANSWER_TOKENS
        reply: ChatReply | None = None
        with self._meter.reserve(user, estimate, most) as reserved:
            began = time.perf_counter()
            asked.calls += 1
            sent = True
            try:
                reply = chat.chat(request)
            except (QuestionOpen, InvalidInput):
                sent = False  # a recording was looked into, and may be damaged: no model was asked
                raise
            except ModelFailed:
                raise
            except Exception as error:  # somebody else's client: whatever it raises, there is no answer
                raise ModelFailed(f"{chat.name!r} failed: {error!r}") from error
            finally:
                if sent:
                    self._record(user, view, task, reply, estimate, began, asked, reserved)
        return reply

    def _record(
        self,
        user: str,
        view: str,
        task: str,
        reply: ChatReply | None,
        estimate: int,
        began: float,
        asked: _Asked,
        reserved: Reservation,
    ) -> None:
        prompt_tokens = completion_tokens = 0
        attempts = 1
        if reply is not None:
            attempts = reply.attempts
            prompt_tokens = estimate if reply.prompt_tokens is None else reply.prompt_tokens
            completion_tokens = reply.completion_tokens or 0
            if reply.completion_tokens is None:
                completion_tokens = self._tokenizer.count([reply.text])[0]
        asked.prompt_tokens += prompt_tokens
        asked.completion_tokens += completion_tokens
        self._meter.record(
            user,
            view,
            task,
            calls=attempts,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            ms=round((time.perf_counter() - began) * 1000),
            reserved=reserved,
        )


@dataclass(slots=True)
class _Asked:
    """What one question has cost so far."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def _judged(task: Task[R], reply: ChatReply) -> R:
    """The answer as the task's type. Raises BadAnswer in words that a model can act on."""
    if reply.finish == "refusal":
        raise BadAnswer(f"the model refused: {_short(reply.text)}")
    if reply.finish == "length":
        raise BadAnswer("it was cut off at the limit of tokens: be shorter")
    try:
        result: R = task.result.model_validate(_json_object(reply.text), strict=False)  # type: ignore[assignment] # R is the task's result
        task.check(result)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'the object'}: {one['msg']}" for one in error.errors()[:5]
        )
        raise BadAnswer(_short(faults)) from error
    except ValueError as error:
        raise BadAnswer(_short(str(error))) from error
    return result


def _json_object(text: str) -> Any:
    """The first JSON object of a text, whatever is said before and after it. Raises ValueError.

    What a model says to itself in front, between <think> and </think>, is no part of its answer.
    """
    text = text.rpartition("</think>")[2]
    start = text.find("{")
    if start < 0:
        raise ValueError("it holds no JSON object")
    if text[:start].rstrip().endswith("["):
        raise ValueError("it is a list, and one JSON object is wanted")
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"its JSON cannot be read: {error}") from error
    return found


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_ERROR else text[: _SHOWN_ERROR - 1] + "…"
