"""What a chat model says that a question needs; see `planning` for what is done with it.

Somebody is waiting, so this is an option, and a short one: in time, in what is sent, and in what it may
change. Whatever is wrong with the answer, the question is read offline.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from zibaldone.models.answer_log import note_parts
from zibaldone.models.asker import OFFLINE, Asker
from zibaldone.models.task import Task, TaskResult
from zibaldone.search.request import Aim, Request, read_request
from zibaldone.text.faithfulness import SourceTexts
from zibaldone.text.periods import Period
from zibaldone.views.base import Query

PLAN_TIMEOUT_S = 2.0  # of a request; a bad answer is asked for once more
_LONGEST = 2000  # characters of a question that are sent


class QuestionRead(TaskResult):
    """What a question needs; days as YYYY-MM-DD, or empty."""

    aim: Aim
    subject: str = ""
    first_day: str = ""
    last_day: str = ""


@dataclass(frozen=True)
class PlanQuestion(Task[QuestionRead]):
    """How this question wants to be answered, what it is about, and of what time."""

    view = "recall"
    prompt = "plan"
    result = QuestionRead
    max_tokens = 256

    question: str
    today: str

    def offline(self) -> QuestionRead:
        """By grammar."""
        request = read_request(self.question)
        return QuestionRead(aim=request.aim, subject=request.subject)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request, and who read it."""

    request: Request
    read_by: str  # "offline", or "<model>/<hash of the prompt>"
    note: str = ""  # why a model that was asked did not read it


def request_of(query: Query, asker: Asker | None) -> ReadRequest:
    """By the model of the `asker`, if there is one; never raises for what a model does."""
    offline = read_request(query.text)
    if asker is None or not asker.has_model or not query.text.strip():
        return ReadRequest(offline, OFFLINE)
    task = PlanQuestion(query.text[:_LONGEST], query.now.date().isoformat())
    answer = asker.ask(task, user=query.scope.user, timeout_s=min(PLAN_TIMEOUT_S, query.deadline.left_s()))
    if answer.made_by == OFFLINE:
        return ReadRequest(offline, OFFLINE, answer.degraded)
    read = answer.result
    subject = " ".join(read.subject.split())
    fault = SourceTexts([query.text]).refusal(subject)
    note_parts(task.name, 1, [f"{subject!r} {fault}"] if fault else [])
    if fault:
        subject = offline.subject
    return ReadRequest(Request(read.aim, subject, _period(read)), answer.made_by)


def _period(read: QuestionRead) -> Period | None:
    """Of the days that are days."""
    try:
        first, last = (date.fromisoformat(day) if day else None for day in (read.first_day, read.last_day))
    except ValueError:
        return None
    if (first is None and last is None) or (first and last and first > last):
        return None
    return Period(first, last)
