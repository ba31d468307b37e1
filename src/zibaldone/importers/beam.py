"""BEAM, a benchmark of long chats of one user with an assistant: a `chat.json`, or the folder that holds it.

A chat of ten million tokens is a folder of plans, `plan-0/chat.json`, `plan-1/chat.json` and so on, which
follow each other. A `chat.json` is a list of batches; their `turns` are lists of messages, or the messages.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath

from zibaldone.core import Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Branches, Conversation
from zibaldone.importers.document import Labels, Node
from zibaldone.importers.files import Importer, read_value, with_keys
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import date_of

_DATE = re.compile(r"\s*(?P<month>[A-Za-z]{3,9})[\s.-]+(?P<day>\d{1,2})[\s,-]+(?P<year>\d{4})\s*")
_GENERATOR_INDEX = re.compile(r"\s*->->[\d\s,/NA)]*\Z")  # such as " ->-> 2,14"
_PLAN = re.compile(r"plan-(\d{1,9})/chat\.json")


class BEAM(Importer):
    """Session: chat, plan and batch. The `id` by which questions name a message is in its metadata.

    A `time_anchor` is the day of all messages up to the next one, and the first is also that of all before
    it. Messages of a chat without any have no time.
    """

    name = "beam"
    looks_for = "'batch_number' in the first batch of a chat.json, or of plan-0/chat.json"

    def files(self, source: ImportSource) -> list[str]:
        """The chats of its plans, or its one chat."""
        if source.only is not None:
            return with_keys(source, source.names, "batch_number")
        plans = {int(plan[1]): name for name in source.names if (plan := _PLAN.fullmatch(name))}
        chats = [plans[number] for number in sorted(plans)] or [n for n in source.names if n == "chat.json"]
        return chats if with_keys(source, chats[:1], "batch_number") else []

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation, all plans together."""
        files = [source.only] if source.only else self.files(source)
        if not files:
            raise InvalidImport(
                f"{source.label}: is a directory with neither chat.json nor plan-0/chat.json inside"
            )
        turns = [
            turn
            for name in files
            for turn in _turns(
                read_value(source, name), name.rpartition("/")[0] if len(files) > 1 or "/" in name else ""
            )
        ]
        path = PurePath(source.label)
        yield Conversation(path.stem if source.only else path.name, tuple(_messages(turns)))


@dataclass(frozen=True, slots=True)
class _Turn:
    """A message and its place in the chat."""

    node: Node
    plan: str  # "" in a chat without plans
    batch: str
    number: int  # from 1, in its batch
    anchor: datetime | None


def _turns(root: Node, plan: str) -> Iterator[_Turn]:
    ids = Labels()
    for batch in root.items():
        label, anchor = ids.take(batch["batch_number"]), _date(batch.get("time_anchor"))
        groups = [turn.items() if isinstance(turn.value, list) else [turn] for turn in batch["turns"].items()]
        for number, node in enumerate((node for group in groups for node in group), 1):
            yield _Turn(node, plan, label, number, _date(node.get("time_anchor")) or anchor)
            anchor = None


def _messages(turns: list[_Turn]) -> Iterator[Message]:
    if not turns:
        return
    # chats number their batches alike, so that two of one user are told apart by how they begin
    opening = turns[0].node["content"].text()
    chat = hashlib.sha256(opening.encode()).hexdigest()[:8]
    time = next((turn.anchor for turn in turns if turn.anchor), None)
    for turn in turns:
        time = turn.anchor or time
        role, own_id = turn.node["role"].label(), turn.node.get("id")
        content = turn.node["content"].text()
        if role == "user":
            content = _GENERATOR_INDEX.sub("", content)
        if content.strip():
            place = [part for part in (chat, turn.plan, turn.batch) if part]
            yield turn.node.message(
                Message(
                    content=content,
                    role=role,
                    time=time,
                    session="/".join(place),
                    metadata={"chat_id": own_id.value} if own_id else {},
                    id=":".join(["beam", *place, str(turn.number)]),
                )
            )


def _date(node: Node | None) -> datetime | None:
    if node is None or not node.text().strip():
        return None
    return date_of(node, _DATE, "a date such as 'March-15-2024'")
