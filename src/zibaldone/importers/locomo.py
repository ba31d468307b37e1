"""LoCoMo, a benchmark of long conversations between two people (`locomo10.json`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zibaldone.core import Message
from zibaldone.importers.base import Conversation
from zibaldone.importers.document import Labels, Node
from zibaldone.importers.files import Head, Importer, each_conversation, gathered, read_elements
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import date_of

_DATE = re.compile(
    r"\s*(?P<hour>\d{1,2}):(?P<minute>\d\d)\s*(?P<half>[ap])m\s+on"
    r"\s+(?P<day>\d{1,2})\s+(?P<month>[a-z]+),?\s+(?P<year>\d{4})\s*",
    re.IGNORECASE,
)
_EXPECTED = "a date such as '1:56 pm on 8 May, 2023'"


class LoCoMoImporter(Importer):
    """User: the sample's id. Session: its number. A turn's `query`, a hidden annotation, is never read."""

    name = "locomo"
    looks_for = "'conversation' with 'session_1'"
    names_users = True

    def fits(self, head: Head) -> bool:
        """By the conversation, which no other format keeps under this key."""
        return "conversation" in head.keys and not {"mapping", "messages"} & set(head.keys)

    def read_one(self, source: ImportSource, name: str) -> Iterator[Conversation]:
        """One conversation per sample."""
        ids = Labels()

        def conversation(node: Node) -> Conversation:
            sample = ids.take(node["sample_id"])
            return gathered(sample, _messages(node["conversation"], sample), sample)

        return each_conversation(read_elements(source, name), conversation, "sample_id")


def _messages(conversation: Node, sample: str) -> Iterator[Message]:
    fields = conversation.fields()
    numbers = sorted(int(match[1]) for key in fields if (match := re.fullmatch(r"session_(\d{1,9})", key)))
    for number in numbers:
        turns = fields[f"session_{number}"]
        if not turns.value:  # a date without turns
            continue
        time = date_of(conversation[f"session_{number}_date_time"], _DATE, _EXPECTED)
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
