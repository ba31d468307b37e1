"""Tasks for a chat model: answers are checked, repaired once, or else replaced by offline ones."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from zibaldone.errors import ModelFailed, ModelUnavailable, QuestionOpen
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, Tokenizer, Turn
from zibaldone.models.breaker import Breaker
from zibaldone.models.meter import Meter
from zibaldone.models.metered import MeteredChat

if TYPE_CHECKING:  # pydantic takes an eighth of the time in which a process opens a memory and answers
    from pydantic import BaseModel

    from zibaldone.models.task import Task

R = TypeVar("R", bound="BaseModel")
OFFLINE = "offline"
_SHOWN_ERROR = 1000  # characters of an error that a model is shown


@dataclass(frozen=True, slots=True)
class TaskAnswer(Generic[R]):
    """The answer to a task."""

    result: R
    degraded: str  # why the offline answer stands in for the model's, in a sentence; "" when none does
    made_by: str  # "<model>/<hash of the prompt>", or "offline"
    calls: int = 0  # questions put to the model, a repair counted
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unusable: bool = False  # the model answered, and no answer of its could be used


class BadAnswer(ModelFailed):
    """The model answered, and the answer cannot be used."""


class Asker:
    """Asks tasks of one chat model, or of none. Safe to share among threads."""

    def __init__(
        self,
        chat: ChatModel | None,
        meter: Meter,
        tokenizer: Tokenizer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = None if chat is None else MeteredChat(chat, meter, tokenizer, clock)
        self._meter = meter
        self._breaker = Breaker(clock)  # by user and task: what one user says breaks nobody else's

    @property
    def has_model(self) -> bool:
        """True if there is a model to ask."""
        return self.model is not None

    def ask(
        self,
        task: Task[R],
        *,
        user: str,
        patient: bool = False,
        timeout_s: float | None = None,
        repair: bool = True,
    ) -> TaskAnswer[R]:
        """Answer the task by the model, or else by its `offline`.

        A bad answer (not JSON, not of the schema, refused by `task.check`, cut off) is shown to the model
        once, with what is wrong with it, but for a divisible task's that was cut off: its parts are asked
        next. Then the offline answer stands in, and so it does when the model
        refuses, fails, cannot be had, is left alone for a while because it failed again and again, or a
        ceiling is reached. With `patient`, a model that cannot be had is asked all the same, and raises
        ModelUnavailable. QuestionOpen is always raised: somebody is going to answer. With a `timeout_s`
        somebody is waiting: a request that fails is not tried again. Without `repair` it is one request.
        """
        if self.model is None:
            return TaskAnswer(task.offline(), "", OFFLINE)
        model, replies, failed = self.model, list[ChatReply](), 0

        def call(request: ChatRequest) -> ChatReply:
            nonlocal failed
            try:
                replies.append(model.chat(request, user, patient=patient))
            except ModelFailed as error:
                failed += bool(error.requests)
                raise
            return replies[-1]

        try:
            if reason := self._breaker.resting(user, task.name):
                raise BadAnswer(f"the model is {reason}", requests=0)
            result = _repaired(task, call, timeout_s, repair=repair)
        except QuestionOpen:
            raise
        except ModelFailed as error:
            unavailable = isinstance(error, ModelUnavailable)
            if patient and unavailable:
                raise
            unusable = isinstance(error, BadAnswer) and bool(error.requests)
            if error.requests and not unavailable:
                self._breaker.failed(user, task.name, reason=str(error), times=task.failures)
            self._meter.record(user, task.view, task.prompt, degraded=1)
            made, degraded, made_by = task.offline(), f"{task.prompt}: {error}", OFFLINE
        else:
            self._breaker.succeeded(user, task.name)
            made, degraded, made_by = result, "", f"{model.name}/{task.prompt_hash}"
            unusable = False
        prompt_tokens = sum(reply.prompt_tokens or 0 for reply in replies)
        completion_tokens = sum(reply.completion_tokens or 0 for reply in replies)
        calls = len(replies) + failed
        return TaskAnswer(made, degraded, made_by, calls, prompt_tokens, completion_tokens, unusable)


def _repaired(
    task: Task[R], call: Callable[[ChatRequest], ChatReply], timeout_s: float | None, *, repair: bool
) -> R:
    """Ask the model, and once more if the first answer cannot be used. Raises ModelFailed."""
    request = ChatRequest(
        task.name,
        task.turns(),
        task.schema(),
        max_tokens=task.max_tokens,
        timeout_s=timeout_s,
        max_attempts=None if timeout_s is None else 1,
    )
    reply = call(request)
    try:
        return _judged(task, reply)
    except BadAnswer as error:
        if not repair or reply.finish == "refusal" or (reply.finish == "length" and task.divisible):
            raise  # parts of it have shorter answers
        complaint = (
            f"This answer cannot be used: {error}. Give the corrected answer: one JSON object that fits"
            " the schema, and nothing else."
        )
        turns = (*request.turns, Turn("assistant", reply.text), Turn("user", complaint))
        return _judged(task, call(replace(request, turns=turns)))


def _judged(task: Task[R], reply: ChatReply) -> R:
    """Parse and check a reply. Raises BadAnswer in words that a model can act on."""
    if reply.finish == "refusal":
        raise BadAnswer(f"the model refused: {_short(reply.text)}")
    if reply.finish == "length":
        raise BadAnswer("it was cut off at the limit of tokens: be shorter")
    from pydantic import ValidationError

    try:
        result: R = task.result.model_validate(_json_object(reply.text), strict=False)  # type: ignore[assignment] # R is the task's result
        task.check(result)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'the object'}: {fault['msg']}"
            for fault in error.errors()[:5]
        )
        raise BadAnswer(_short(faults)) from error
    except ValueError as error:
        raise BadAnswer(_short(str(error))) from error
    return result


def _json_object(text: str) -> Any:
    """Parse the first JSON object of a text, ignoring text around it. Raises ValueError.

    What a model says to itself in front, between <think> and </think>, is no part of its answer.
    """
    text = text.rpartition("</think>")[2]
    start = text.find("{")
    if start < 0:
        raise ValueError("it holds no JSON object")
    if text[:start].rstrip().endswith("["):
        raise ValueError("it is a list, and one JSON object is wanted")
    try:
        parsed, _ = json.JSONDecoder().raw_decode(text, start)
        json.dumps(parsed, ensure_ascii=False).encode()  # an escape may stand for half a character
    except UnicodeEncodeError as error:
        raise ValueError("a text in it holds half a character: a lone surrogate") from error
    except RecursionError as error:
        raise ValueError("its JSON is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"its JSON cannot be read: {error}") from error
    return parsed


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_ERROR else text[: _SHOWN_ERROR - 1] + "…"
