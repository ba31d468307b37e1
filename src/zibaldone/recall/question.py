"""The maker of questions: once for all views, out of what is asked and what memory knows."""

from __future__ import annotations

from dataclasses import replace

from zibaldone import log
from zibaldone.engine.generations import snapshots
from zibaldone.log.filters import Narrowing
from zibaldone.search.question import Question, parse_question
from zibaldone.storage.database import Database
from zibaldone.views.messages import MessagesView


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
