"""Transcripts of Codex: `rollout-*.jsonl`, a line per item of the Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Head, Importer, each, read_objects
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import Occurrences
from zibaldone.text.client_text import own_words


class Codex(Importer):
    """Session: its id. Tools, thoughts and what the program tells the model are noise."""

    name = "codex"
    looks_for = "'session_meta' or 'response_item' in the first line"
    in_folders = r"\.jsonl\Z"

    def fits(self, head: Head) -> bool:
        """Recognise a rollout by its first line."""
        kinds = ('"session_meta"', '"response_item"')
        is_item = {"timestamp", "type", "payload"} <= set(head.keys)
        return is_item and any(kind in head.text[:4000] for kind in kinds)

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the messages of a file's lines."""
        return each(read_objects(source, name), _Rollout().messages)


@dataclass(slots=True)
class _Rollout:
    """State while a file is read."""

    session: str = "codex"
    folder: dict[str, Any] = field(default_factory=dict)
    ids: Occurrences = field(default_factory=lambda: Occurrences("codex"))

    def messages(self, node: Node) -> Iterator[Message]:
        """Yield the messages of a line."""
        kind, payload = node.text_of("type"), node.get("payload") or node
        if kind == "session_meta" and (own := payload.get("id")):
            self.session, cwd = own.label(), payload.get("cwd")
            self.folder = {"folder": str(cwd.value)} if cwd else {}
            self.ids = Occurrences(f"codex:{self.session}")
        elif kind == "response_item":
            sent = node.get("timestamp")
            for message in _messages(payload):
                own_id = self.ids.name(sent.value if sent else "", message.role, message.content)
                metadata, time = {**message.metadata, **self.folder}, node.time_of("timestamp")
                made = replace(message, session=self.session, time=time, metadata=metadata, id=own_id)
                yield node.message(made)


def _messages(payload: Node) -> Iterator[Message]:
    kind = payload.get("type")
    value: dict[str, Any] = {key: inner for key, inner in payload.value.items() if key != "encrypted_content"}
    if kind is None or not isinstance(kind.value, str) or kind.value not in _KINDS:
        return
    for message in payload.messages(value):
        thought = message.metadata.get("reasoning")
        content = thought if kind.value == "reasoning" and isinstance(thought, str) else message.content
        if content.strip():
            role = "thinking" if kind.value == "reasoning" else message.role
            noise = _noise(str(kind.value), role, content)
            metadata = {**message.metadata, **({NOISE: noise} if noise else {})}
            yield replace(message, content=content, role=role, metadata=metadata)


_KINDS = {
    "message": None,
    "reasoning": "thinking",
    "function_call": "call",
    "custom_tool_call": "call",
    "local_shell_call": "call",
    "web_search_call": "call",
    "function_call_output": "result",
    "custom_tool_call_output": "result",
}


def _noise(kind: str, role: str, content: str) -> str | None:
    hidden = role in ("system", "developer") or (role == "user" and not own_words(content))
    return _KINDS[kind] or ("hidden" if hidden else None)
