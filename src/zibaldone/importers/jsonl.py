"""JSON Lines chat: one message a line in the OpenAI chat shape, or one `{"messages": [...]}` a line.

Also what `Memory.export` writes, which comes back exactly as it was. A JSON list of the same objects
is read too. Beside the fields of a message a line may have `user`; a field nobody knows goes to the metadata.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zibaldone.core import DEFAULT_SESSION, Message
from zibaldone.importers.base import Conversation, Head
from zibaldone.importers.document import Node, describe
from zibaldone.importers.files import read_objects

# other names under which the fields are found in the wild
_ALIASES = {
    "session": ("session", "session_id", "conversation_id", "thread_id"),
    "time": ("time", "timestamp", "created_at"),
}
_CHAT = (
    "role",
    "content",
    "name",
    "id",
    "metadata",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "refusal",
)

_Ids = dict[tuple[str | None, str], tuple[Message, str]]  # (user, id) -> the message and where it stands


class JSONLines:
    """User and session: as the lines say. Messages without an id get one made from all that precedes them."""

    name = "jsonl"
    looks_for = "'content' or 'messages'"

    def recognises(self, head: Head) -> bool:
        """By a message's content, or a list of messages."""
        return "content" in head.keys or "messages" in head.keys

    def read(self, path: Path) -> Iterator[Conversation]:
        """Single messages are one conversation per user; every list of messages is one of its own."""
        loose: dict[str | None, list[Message]] = {}
        ids: _Ids = {}
        naming = _Naming()
        for node in read_objects(path):
            user = _first(node, "user", "user_id")
            own = user.label() if user else None
            if (listed := node.get("messages")) is None:
                loose.setdefault(own, []).append(naming.name(_message(node, _session(node), ids, own), own))
                continue
            session = _session(node) or node.get("id")
            label = session.label() if session else f"chat-{_digest(listed.value)[:12]}"
            named = Node(label, node.at, path)
            messages = [naming.name(_message(item, named, ids, own), own) for item in listed.items()]
            yield Conversation(label, tuple(messages), user_hint=own)
        for own, together in loose.items():
            yield Conversation(own or path.stem, tuple(together), user_hint=own)


@dataclass(slots=True)
class _Naming:
    """Gives ids to messages that have none.

    Each id is a digest of the message and of every one before it in its session, so that a file which has
    grown since it was imported only adds what is new, whatever it is called by now.
    """

    chains: dict[tuple[str | None, str], str] = field(default_factory=dict)

    def name(self, message: Message, user: str | None) -> Message:
        where = (user, message.session)
        time = message.time.isoformat() if message.time else None
        before = self.chains.get(where, "")
        digest = _digest([before, *where, message.role, message.name, message.content, time])
        self.chains[where] = digest
        return message if message.id else replace(message, id=f"jsonl:{digest[:32]}")


def _message(node: Node, session: Node | None, ids: _Ids, user: str | None) -> Message:
    fields = node.fields()
    time = _first(node, *_ALIASES["time"])
    own_id = node.get("id")
    known: dict[str, Any] = {key: fields[key].value for key in _CHAT if key in fields}
    used = {*_CHAT, *_ALIASES["session"], *_ALIASES["time"], "user", "user_id"}
    extra = {key: fields[key].value for key in fields if key not in used and fields[key].value is not None}
    metadata = known.pop("metadata", None)
    if isinstance(metadata, dict) or metadata is None:
        metadata = {**extra, **(metadata or {})}
    message = node.message(
        {
            **known,
            "id": own_id.label() if own_id else None,
            "time": time.time() if time else None,
            "session": session.label() if session else DEFAULT_SESSION,
            "metadata": metadata,
        }
    )
    if own_id:
        first, where = ids.setdefault((user, own_id.label()), (message, node.at))
        if first != message:
            raise own_id.fault(
                "an id of its own", f"{describe(own_id.value)}, which another message at {where} has"
            )
    return message


def _session(node: Node) -> Node | None:
    return _first(node, *_ALIASES["session"])


def _first(node: Node, *keys: str) -> Node | None:
    return next((found for key in keys if (found := node.get(key))), None)


def _digest(value: object) -> str:
    encoded = json.dumps(value, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(encoded.encode()).hexdigest()
