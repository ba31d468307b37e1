"""LoCoMo, a benchmark of long conversations between two people (`locomo10.json`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from zibaldone.core import Message
from zibaldone.importers.base import Branches, Conversation
from zibaldone.importers.document import Labels, Node
from zibaldone.importers.files import read_elements, try_head
from zibaldone.importers.source import ImportSource

_DATE = re.compile(r"\s*(\d{1,2}):(\d\d)\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class LoCoMoImporter:
    """User: the sample's id. Session: its number. A turn's `query`, a hidden annotation, is never read."""

    name = "locomo"
    looks_for = "'conversation' with 'session_1'"
    names_users = True

    def files(self, source: ImportSource) -> list[str]:
        """By the conversation, which no other format keeps under this key."""
        head = try_head(source, source.only) if source.only else None
        if head is None or "conversation" not in head.keys or {"mapping", "messages"} & set(head.keys):
            return []
        return source.names

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation per sample."""
        assert source.only is not None  # it finds nothing in a folder
        ids = Labels()
        for node in read_elements(source, source.only):
            sample = ids.take(node["sample_id"])
            yield Conversation(sample, tuple(_messages(node["conversation"], sample)), user_hint=sample)


def _messages(conversation: Node, sample: str) -> Iterator[Message]:
    fields = conversation.fields()
    numbers = sorted(int(match[1]) for key in fields if (match := re.fullmatch(r"session_(\d{1,9})", key)))
    for number in numbers:
        turns = fields[f"session_{number}"]
        if not turns.value:  # a date without turns
            continue
        time = _date(conversation[f"session_{number}_date_time"])
        for index, turn in enumerate(turns.items(), 1):
            text, caption, own_id = turn["text"].text(), turn.get("blip_caption"), turn.get("dia_id")
            if caption and caption.text().strip():
                text = f"{text} [image: {caption.text()}]".lstrip()
            if text.strip():
                yield turn.message(
                    Message(
                        content=text,
                        name=turn["speaker"].label(),
                        time=time,
                        session=str(number),
                        metadata={"dia_id": own_id.text()} if own_id else {},
                        id=f"locomo:{sample}:{number}:{index}",
                    )
                )


def _date(node: Node) -> datetime:
    expected = "a date such as '1:56 pm on 8 May, 2023'"
    match = _DATE.fullmatch(node.text())
    if not match or match[5][:3].lower() not in _MONTHS:
        raise node.fault(expected)
    hour = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
    month = _MONTHS.index(match[5][:3].lower()) + 1
    try:
        return datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=UTC)
    except ValueError as error:
        raise node.fault(expected) from error
