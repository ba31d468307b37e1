"""Chats as JSON: one message a line, a list of them, or conversations with lists of messages.

Messages are those of OpenAI's chat and Responses API, of Anthropic's, and of LangChain (objects that were
dumped in any of its ways, the state of a LangGraph graph): see `message_input`. Also what `User.export`
writes, which comes back exactly as it was. Beside the fields of a message a line may have `user`; a field
nobody knows goes to the metadata.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from zibaldone.core import DEFAULT_SESSION, Message
from zibaldone.importers.base import Item, OfUser
from zibaldone.importers.document import Node
from zibaldone.importers.export import MESSAGES
from zibaldone.importers.files import Head, Importer, each, read_objects
from zibaldone.importers.source import ImportSource

# other names under which the fields are found in the wild
_ALIASES = {
    "session": ("session", "session_id", "conversation_id", "thread_id"),
    "time": ("time", "timestamp", "created_at"),
}
_BESIDE = {name for names in _ALIASES.values() for name in names} | {"user", "user_id"}
_CHAT = tuple(
    "role content name id metadata tool_calls tool_call_id function_call refusal reasoning_content".split()
)
_STATES = ("values", "channel_values", "checkpoint")  # around the state of a graph
_RATED = {"rating", "evaluation_name"}  # of what is said about messages, and is none


class JSONLines(Importer):
    """User and session: as the lines say. Messages without an id get one made from all that precedes them."""

    name = "jsonl"
    looks_for = "'content' with 'role' or 'type', nor 'messages', 'kwargs', 'values' or 'output'"
    names_users = True

    in_folders = rf"(?:\A|/){re.escape(MESSAGES)}\Z"  # our own export

    def fits(self, head: Head) -> bool:
        """Recognise a message's content, or a list of messages."""
        keys = set(head.keys)
        message = "content" in keys or {"type", "data"} <= keys or {"lc", "kwargs"} <= keys
        held = keys & {"messages", *_STATES} or {"object", "output"} <= keys or {"type", "call_id"} <= keys
        return bool(message or held or {"type", "summary"} <= keys) and not _RATED & keys

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the messages of each object."""
        return each(read_objects(source, name), _Reader().messages)


@dataclass(slots=True)
class _Reader:
    """State while a file is read."""

    chains: dict[tuple[str | None, str], str] = field(default_factory=dict)

    def messages(self, node: Node) -> Iterator[Item]:
        """Yield the messages of an object: its own, or those of its list."""
        user = _first(node, "user", "user_id")
        own = user.label() if user else None
        listed = _listed(node)
        if listed is None:
            yield from self._said(node, _session(node), own)
            return
        items = listed.items()
        session = _session(node) or node.get("id")
        label = session.label() if session else f"chat-{_digest(listed.value)[:12]}"
        at = Node(label, node.at, node.path)
        yield from each(items, lambda item: self._said(item, at, own), label)

    def _said(self, node: Node, session: Node | None, user: str | None) -> list[Item]:
        made = self._messages(node, session, user)
        return [*made] if user is None else [OfUser(user, message) for message in made]

    def _messages(self, node: Node, session: Node | None, user: str | None) -> list[Message]:
        """Return the messages of one object, with ids."""
        return [self._named(message, user) for message in _made(node, session)]

    def _named(self, message: Message, user: str | None) -> Message:
        """Return the message with an id, made if it has none.

        Each id is a digest of the message and of every one before it in its session, so that a file which has
        grown since it was imported only adds what is new, whatever it is called by now.
        """
        where = (user, message.session)
        time = message.time.isoformat() if message.time else None
        before = self.chains.get(where, "")
        digest = _digest([before, *where, message.role, message.name, message.content, time])
        self.chains[where] = digest
        return message if message.id else replace(message, id=f"jsonl:{digest[:32]}")


def _listed(node: Node) -> Node | None:
    """The list of messages that an object holds, a state in a state too; None for a message."""
    for name in _STATES:
        inner = node.get(name)
        if inner is not None and isinstance(inner.value, dict) and "content" not in node.value:
            return _listed(inner)
    if isinstance(output := node.value.get("output"), list) and node.value.get("object") == "response":
        return Node(output, f"{node.at}.output", node.path)
    return node.get("messages")


def _is_library_s(node: Node) -> bool:
    """True if it is an object of another library, known by its type, and not by a role."""
    return isinstance(node.value, dict) and (
        {"lc", "kwargs"} <= node.value.keys()
        or (isinstance(node.value.get("type"), str) and "role" not in node.value)
        or node.value.get("type") == "message"
    )


def _made(node: Node, session: Node | None) -> list[Message]:
    """Return the messages of one object; results of tools come after it."""
    time = _first(node, *_ALIASES["time"])
    value = {name: inner.value for name, inner in node.fields().items() if name not in _BESIDE}
    if not _is_library_s(node):
        extra = {name: value.pop(name) for name in [*value] if name not in _CHAT}
        metadata = value.get("metadata")
        if isinstance(metadata, dict) or metadata is None:
            known = {name: inner for name, inner in extra.items() if inner is not None}
            value["metadata"] = {**known, **(metadata or {})}
        if own_id := node.get("id"):
            value["id"] = own_id.label()
    label = session.label() if session else DEFAULT_SESSION
    made = node.messages(value)
    return [replace(message, session=label, time=time.time() if time else message.time) for message in made]


def _session(node: Node) -> Node | None:
    return _first(node, *_ALIASES["session"])


def _first(node: Node, *keys: str) -> Node | None:
    return next((found for key in keys if (found := node.get(key))), None)


def _digest(value: object) -> str:
    encoded = json.dumps(value, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(encoded.encode()).hexdigest()
