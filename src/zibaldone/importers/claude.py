"""Claude's data export: `conversations.json`, a list of conversations with their `chat_messages`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from zibaldone.core import Message
from zibaldone.importers.base import Conversation, Head
from zibaldone.importers.document import Labels, Node
from zibaldone.importers.files import read_json

_ROLES = {"human": "user", "assistant": "assistant"}


class Claude:
    """Session: the conversation's uuid; its name is in the metadata as the title."""

    name = "claude"
    looks_for = "'chat_messages'"

    def recognises(self, head: Head) -> bool:
        """By the list of messages."""
        return "chat_messages" in head.keys

    def read(self, path: Path) -> Iterator[Conversation]:
        """One conversation each; those that were never begun have no messages."""
        root = read_json(path)
        ids = Labels()
        for node in root.items() if isinstance(root.value, list) else [root]:
            uuid = ids.take(node["uuid"])
            named = node.get("name")
            title = named.text() if named else ""
            yield Conversation(title or uuid, tuple(_messages(node, uuid, title)))


def _messages(conversation: Node, session: str, title: str) -> Iterator[Message]:
    started = conversation.get("created_at")
    time = started.time() if started else None
    ids = Labels()
    for node in conversation["chat_messages"].items():
        uuid, created, sender = ids.take(node["uuid"]), node.get("created_at"), node["sender"]
        if sender.value not in tuple(_ROLES):
            raise sender.fault("'human' or 'assistant'")
        time = created.time() if created else time
        content = _content(node)
        if content.strip():
            yield node.message(
                Message(
                    content=content,
                    role=_ROLES[sender.text()],
                    time=time,
                    session=session,
                    metadata={"title": title} if title else {},
                    id=f"claude:{session}:{uuid}",
                )
            )


def _content(message: Node) -> str:
    """The blocks (or, in older exports, the text), then what was attached."""
    blocks = message.get("content")
    parts = [_block(block) for block in blocks.items()] if blocks else []
    text = message.get("text")
    if not any(parts) and text:
        parts = [text.text()]
    for field in ("attachments", "files"):
        attached = message.get(field)
        parts += [_file(node) for node in attached.items()] if attached else []
    return "\n".join(part for part in parts if part)


def _block(block: Node) -> str:
    kind = block["type"].text()
    if kind == "text":
        return block["text"].text()
    if kind == "tool_use":
        name, given = block.get("name"), block.get("input")
        arguments = json.dumps(given.value, ensure_ascii=False) if given else ""
        return f"[tool call: {name.text() if name else ''}({arguments})]"
    if kind == "tool_result":
        name = block.get("name")
        return f"[tool result: {name.text()}]" if name else "[tool result]"
    # reasoning is not part of the conversation
    return "" if "thinking" in kind or kind == "token_budget" else f"[{kind.replace('_', ' ')}]"


def _file(node: Node) -> str:
    name, extracted = node.get("file_name"), node.get("extracted_content")
    label = f"[file: {name.text()}]" if name and name.value else "[file]"
    # a long paste is turned into an attachment: its text is what the user said
    return f"{label}\n{extracted.text()}" if extracted and extracted.value else label
