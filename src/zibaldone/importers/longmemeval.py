"""LongMemEval, a benchmark of questions about long histories of chats with an assistant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from zibaldone.core import Message
from zibaldone.importers.base import Branches, Conversation
from zibaldone.importers.document import Labels, Node
from zibaldone.importers.files import read_elements, try_head
from zibaldone.importers.source import ImportSource

_DATE = re.compile(r"\s*(\d{4})/(\d\d?)/(\d\d?)(?:\s*\(\w+\))?(?:\s+(\d\d?):(\d\d))?\s*")


class LongMemEvalImporter:
    """User: the question's id. Session: the haystack session's id."""

    name = "longmemeval"
    looks_for = "'haystack_sessions'"
    names_users = True

    def files(self, source: ImportSource) -> list[str]:
        """By the haystack."""
        head = try_head(source, source.only) if source.only else None
        return source.names if head and any(key.startswith("haystack_") for key in head.keys) else []

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation per haystack."""
        assert source.only is not None  # it finds nothing in a folder
        ids = Labels()
        for node in read_elements(source, source.only):
            question = ids.take(node["question_id"])
            yield Conversation(question, tuple(_messages(node, question)), user_hint=question)


def _messages(haystack: Node, question: str) -> Iterator[Message]:
    sessions = haystack["haystack_sessions"].items()
    dates = _as_many(haystack["haystack_dates"], len(sessions))
    labels = _as_many(haystack["haystack_session_ids"], len(sessions))
    met: Counter[str] = Counter()
    for turns, date, node in zip(sessions, dates, labels, strict=True):
        session, time = node.label(), _date(date)
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


def _date(node: Node) -> datetime:
    expected = "a date such as '2023/07/12 (Wed) 10:14'"
    match = _DATE.fullmatch(node.text())
    if not match:
        raise node.fault(expected)
    year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError as error:
        raise node.fault(expected) from error
