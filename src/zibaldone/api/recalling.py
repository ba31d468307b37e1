"""Recalling: questions checked, and passages searched for, in an open memory."""

from __future__ import annotations

from datetime import timedelta

from zibaldone.api.config import LONGEST_S
from zibaldone.api.wiring import Wiring
from zibaldone.core import Evidence, Scope
from zibaldone.core.deadline import Deadline
from zibaldone.core.validation import Key, TimeLike, key, number, to_time, words
from zibaldone.log.filters import Narrowing
from zibaldone.recall.recall import search
from zibaldone.search.question import Question
from zibaldone.storage.database import Database
from zibaldone.text.bounds import question_as_read


def to_unread_question(
    wiring: Wiring,
    text: str,
    user: Key,
    session: str | None,
    budget_tokens: int,
    now: TimeLike | None,
    timeout_s: float | None = None,
) -> Question:
    """Check a question, which recall reads; `session` is checked already. Raises InvalidInput."""
    given = None if now is None else to_time(now, "now")
    if timeout_s is not None:
        number("timeout_s", timeout_s, least=0, most=LONGEST_S)
    whole = words("query", text)
    as_read = question_as_read(whole)
    return Question(
        text=as_read,
        whole_text=whole if as_read != whole else "",
        deadline=Deadline.after(timeout_s),
        scope=Scope(key("user", user), session),
        budget_tokens=budget_tokens,
        now=given or wiring.now(),
        before=given and given + timedelta(microseconds=1),
    )


def passages(
    wiring: Wiring,
    database: Database,
    question: Question,
    most: int,
    narrowing: Narrowing,
    decay_days: float | None = None,
) -> tuple[Evidence, ...]:
    """The best passages for a question, `most` at most, of the messages view and the notes."""
    user = question.scope.user
    return search(
        database,
        wiring.variants.serving(user, wiring.messages),
        wiring.variants.serving(user, wiring.notes),
        question,
        most,
        tokenizer=wiring.tokenizer,
        own=wiring.model_tokens,
        narrowing=narrowing,
        decay_days=decay_days,
    )
