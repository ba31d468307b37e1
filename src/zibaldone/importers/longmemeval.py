"""LongMemEval, a benchmark of questions about long histories of chats with an assistant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from zibaldone.core import Message
from zibaldone.importers.base import Conversation
from zibaldone.importers.document import Labels, Node
from zibaldone.importers.files import Head, Importer, each_conversation, gathered, read_elements
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import date_of

_DATE = re.compile(
    r"\s*(?P<year>\d{4})/(?P<month>\d\d?)/(?P<day>\d\d?)(?:\s*\(\w+\))?"
    r"(?:\s+(?P<hour>\d\d?):(?P<minute>\d\d))?\s*"
)
_EXPECTED = "a date such as '2023/07/12 (Wed) 10:14'"


class LongMemEvalImporter(Importer):
    """User: the question's id. Session: the haystack session's id."""

    name = "longmemeval"
    looks_for = "'haystack_sessions'"
    names_users = True

    def fits(self, head: Head) -> bool:
        """By the haystack."""
        return any(key.startswith("haystack_") for key in head.keys)

    def read_one(self, source: ImportSource, name: str) -> Iterator[Conversation]:
        """One conversation per haystack."""
        ids = Labels()

        def conversation(node: Node) -> Conversation:
            question = ids.take(node["question_id"])
            return gathered(question, _messages(node, question), question)

        return each_conversation(read_elements(source, name), conversation, "question_id")


def _messages(haystack: Node, question: str) -> Iterator[Message]:
    sessions = haystack["haystack_sessions"].items()
    dates = _as_many(haystack["haystack_dates"], len(sessions))
    labels = _as_many(haystack["haystack_session_ids"], len(sessions))
    met: Counter[str] = Counter()
    for turns, date, node in zip(sessions, dates, labels, strict=True):
        session, time = node.label(), date_of(date, _DATE, _EXPECTED)
        met[session] += 1
        again = f"#{met[session]}" if met[session] > 1 else ""  # some haystacks hold a session twice
        for index, turn in enumerate(turns.items(), 1):
            content, answer = turn["content"].text(), turn.get("has_answer")
            if content.strip():
                yield turn.message(
                    Message(
                        content=content,
                        role=turn["role"].label(),
                        time=time,
                        session=session,
                        metadata={"has_answer": answer.value} if answer else {},
                        id=f"longmemeval:{question}:{session}{again}:{index}",
                    )
                )


def _as_many(node: Node, expected: int) -> list[Node]:
    items = node.items()
    if len(items) != expected:
        raise node.fault(f"a list of {expected}, one for each of the haystack_sessions")
    return items
