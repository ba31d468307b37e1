"""Transcripts of Claude Code: JSON Lines, a file per session, in folders per project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Head, Importer, each, read_objects
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import titled
from zibaldone.text.client_text import own_words


class ClaudeCode(Importer):
    """Session: its id; the folder that was worked in is in the metadata. Tools and thoughts are noise."""

    name = "claude_code"
    looks_for = "'sessionId' with 'uuid' or 'leafUuid' in a line"
    in_folders = r"\.jsonl\Z"

    def fits(self, head: Head) -> bool:
        """Recognise a transcript by the session's id."""
        lines = head.text.split("\n", 20)[:20]
        return head.text[:1] == "{" and any('"sessionId"' in line and '"uuid"' in line for line in lines)

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield a file's messages; side chains of subagents are noise."""
        title = ""

        def messages(node: Node) -> Iterator[Message]:
            nonlocal title
            if summary := node.get("summary"):
                title = summary.text()
            return _messages(node, title)

        return each(read_objects(source, name), messages)


def _messages(node: Node, title: str) -> Iterator[Message]:
    kind, message = node.get("type"), node.get("message")
    if kind is None or kind.value not in ("user", "assistant") or message is None:
        return
    own_id = f"claude_code:{node['sessionId'].label()}:{node['uuid'].label()}"
    folder = node.get("cwd")
    hidden = node.says("isMeta") or node.says("isSidechain")
    content = message["content"].value
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    thoughts = [thought for thought in map(_thought, blocks) if thought]
    made = [Message(thought, "thinking", metadata={NOISE: "thinking"}) for thought in thoughts]
    if words := _words(content):
        made += node.messages({"role": message["role"].value, "content": words})
    for number, part in enumerate(made):
        if part.content.strip():
            metadata = {**part.metadata, **titled(title), **({"folder": folder.text()} if folder else {})}
            if noise := _noise(part, hidden=hidden):
                metadata[NOISE] = noise
            part_id = f"{own_id}/{number}" if number else own_id
            time, session = node.time_of("timestamp"), node["sessionId"].label()
            yield node.message(Message(part.content, part.role, None, time, session, metadata, part_id))


def _noise(message: Message, *, hidden: bool) -> str | None:
    if message.is_noise:
        return str(message.metadata[NOISE])
    if message.role == "tool":
        return "result"
    if message.content.startswith("[tool call:"):
        return "call"
    is_client_s = message.role == "user" and not own_words(message.content)
    return "hidden" if hidden or is_client_s else None


def _thought(block: dict[str, Any]) -> str:
    thought = block.get("thinking")
    return thought if block.get("type") == "thinking" and isinstance(thought, str) else ""


def _words(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    thinking = ("thinking", "redacted_thinking")
    return [block for block in content if not (isinstance(block, dict) and block.get("type") in thinking)]
