"""Transcripts of Codex: `rollout-*.jsonl`, a line per item of the Responses API, wrapped or as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Branches, Conversation, NotImported
from zibaldone.importers.document import Node
from zibaldone.importers.files import each_file, read_objects, refusal, try_head
from zibaldone.importers.occurrences import Occurrences
from zibaldone.importers.source import ImportSource
from zibaldone.text.client_text import own_words


class Codex:
    """Session: its id. Tools, thoughts and what the program tells the model are noise."""

    name = "codex"
    looks_for = "'session_meta', or 'id' with 'instructions' and 'timestamp', in the first line"
    names_users = False

    def files(self, source: ImportSource) -> list[str]:
        """By the first line."""
        names = [name for name in source.names if source.only or name.endswith(".jsonl")]
        return [name for name in names if (head := try_head(source, name)) and _begins(head.keys, head.text)]

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation a file."""
        return each_file(self.files(source) or source.names, lambda name: _rollout(source, name))


def _begins(keys: tuple[str, ...], text: str) -> bool:
    if {"timestamp", "type", "payload"} <= set(keys):
        return '"session_meta"' in text[:4000] or '"response_item"' in text[:4000]
    return {"id", "timestamp", "instructions"} <= set(keys)


def _rollout(source: ImportSource, name: str) -> Iterator[Conversation]:
    messages: list[Message] = []
    refused: list[NotImported] = []
    session, folder = "", ""
    ids = Occurrences("codex")
    for node in read_objects(source, name):
        try:
            if isinstance(node, NotImported):
                refused.append(node)
                continue
            kind, payload = node.get("type"), node.get("payload") or node
            if (kind is None or kind.value == "session_meta") and (own := payload.get("id")):
                session = own.label()
                folder = str(cwd.value) if (cwd := payload.get("cwd")) else ""
                ids = Occurrences(f"codex:{session}")
            elif kind is not None and (kind.value == "response_item" or payload is node):
                sent = node.get("timestamp")
                for message in _messages(payload):
                    metadata = {**message.metadata, **({"folder": folder} if folder else {})}
                    own_id = ids.name(sent.value if sent else "", message.role, message.content)
                    time = sent.time() if sent else None
                    given = replace(
                        message, session=session or "codex", time=time, metadata=metadata, id=own_id
                    )
                    messages.append(node.message(given))
        except InvalidImport as error:
            refused.append(refusal(error))
    yield Conversation(session or name, tuple(messages), refused=tuple(refused))


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
