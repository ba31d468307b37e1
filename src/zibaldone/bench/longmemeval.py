"""LongMemEval: a question is asked of a haystack of chat sessions in which a few hold the answer.

Get `longmemeval_s.json` from the LongMemEval repository (MIT). A file in which one haystack carries several
questions (`questions`, `answers` and a list of `answer_session_ids` each) is read too. Judged by the sessions
that hold the answer, by the turns marked `has_answer` in them, and by the words of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zibaldone.bench.base import Example
from zibaldone.bench.conversations import read_benchmark
from zibaldone.core import Message
from zibaldone.errors import InvalidImport

ADDED = "added"  # a question beside the one that the haystack was made for
CATEGORIES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "knowledge-update",
    "temporal-reasoning",
)


class LongMemEvalQuestions:
    """Every haystack is a user of its own. Questions whose id ends in `_abs` have no answer to find."""

    name = "longmemeval"
    has_faults = False

    def __init__(self, path: Path) -> None:
        haystacks, self._messages = read_benchmark(path, "longmemeval")
        self.examples: list[Example] = []
        for haystack in haystacks:
            self.examples += _examples(haystack, str(haystack["question_id"]))
        present = {example.category for example in self.examples}
        self.categories = tuple(name for name in (*CATEGORIES, ADDED) if name in present)

    def messages(self, user: str) -> tuple[Message, ...]:
        return self._messages[user]


def _examples(entry: Mapping[str, Any], user: str) -> list[Example]:
    several = "questions" in entry
    columns: list[Any] = [
        entry.get(many) if several else [entry.get(single)]
        for many, single in (
            ("questions", "question"),
            ("answers", "answer"),
            ("answer_session_ids", "answer_session_ids"),
        )
    ]
    if not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        raise InvalidImport(
            f"haystack {user!r}: 'questions', 'answers' and 'answer_session_ids' must be lists of one length"
        )
    examples = []
    for i, (question, answer, sessions) in enumerate(zip(*columns, strict=True)):
        if not isinstance(question, str) or not isinstance(sessions, list):
            raise InvalidImport(f"haystack {user!r}: question {i} has no text or no list of answer sessions")
        evidence = _marked_turns(entry, frozenset(sessions))
        # The haystack's type is that of the question it was made for, the one with marked turns.
        own = not several or bool(evidence)
        examples.append(
            Example(
                id=f"{user}_q{i}" if several else user,
                user=user,
                question=question,
                answer=None if answer is None else str(answer),
                category=str(entry.get("question_type", ADDED)) if own else ADDED,
                evidence=evidence,
                evidence_sessions=tuple(sessions),
                unknown=user.endswith("_abs"),
                answerable=not user.endswith("_abs"),
                now=_asked(entry, user),
            )
        )
    return examples


def _marked_turns(entry: Mapping[str, Any], sessions: frozenset[str]) -> tuple[str, ...]:
    return tuple(
        turn["content"]
        for session, turns in zip(entry["haystack_session_ids"], entry["haystack_sessions"], strict=False)
        if session in sessions
        for turn in turns
        if isinstance(turn, dict) and turn.get("has_answer") and turn.get("content")
    )


def _asked(entry: Mapping[str, Any], user: str) -> datetime | None:
    date = entry.get("question_date")
    if date is None:
        return None
    try:
        return datetime.strptime(str(date), "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidImport(
            f"haystack {user!r}: question_date {date!r} is not of the form '2023/12/18 (Mon) 04:17'"
        ) from error
