"""The maker of questions: once for all views, out of what is asked and what memory knows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from zibaldone import log
from zibaldone.core import Scope
from zibaldone.core.deadline import NO_DEADLINE, Deadline
from zibaldone.core.validation import words
from zibaldone.engine.generations import snapshots
from zibaldone.log.filters import Narrowing
from zibaldone.search.question import Question, parse_question
from zibaldone.storage.database import Database
from zibaldone.text.bounds import question_as_read
from zibaldone.views.messages import MessagesView


def to_unread_question(
    text: object,
    scope: Scope,
    budget_tokens: int,
    now: datetime,
    *,
    before: datetime | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> Question:
    """Check a question's text, and cut it to what is read of it. Raises InvalidInput."""
    given = words("query", text)
    as_read = question_as_read(given)
    return Question(
        text=as_read,
        scope=scope,
        budget_tokens=budget_tokens,
        now=now,
        before=before,
        whole_text=given if as_read != given else "",
        deadline=deadline,
    )


def read_question(
    database: Database, messages: MessagesView, question: Question, narrowing: Narrowing
) -> Question:
    """The question as every view gets it: narrowed, read against the user's messages, and embedded.

    What an item said before is never recalled, whatever the narrowing says. The embedder is asked with no
    snapshot open and no lock held.
    """
    user, before, until = question.scope.user, question.before, narrowing.until
    if until is not None:
        before = until if before is None else min(until, before)
    with snapshots(database, user, messages, question.deadline)() as now:
        within, without = question.within, log.overwritten(now.connection, user)
        if narrowing:
            within = log.seqs_within(now.connection, user, narrowing)
            without |= log.seqs_without(now.connection, user, narrowing)
        question = replace(question, before=before, within=within, without=without)
        with messages.index(now, user) as index:
            question = parse_question(question, index)
    return question.embedded(messages.embedder)
