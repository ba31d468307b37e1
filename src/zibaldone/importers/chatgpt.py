"""ChatGPT's data export: `conversations.json`, a list of conversations, each a tree of messages.

`mapping` holds every node that ever was, edited prompts and regenerated answers included; `current_node`
is the end of the branch that the user sees. That branch, followed upwards by `parent`, is the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from zibaldone.core import Message
from zibaldone.importers.base import Conversation, Head
from zibaldone.importers.document import Labels, Node
from zibaldone.importers.files import read_json

# what the reader of the conversation was not shown, or was shown folded away
_HIDDEN = {"user_editable_context", "model_editable_context", "thoughts", "reasoning_recap"}


class ChatGPT:
    """Session: the conversation's id; its title is in the metadata."""

    name = "chatgpt"
    looks_for = "'mapping'"

    def recognises(self, head: Head) -> bool:
        """By the message tree."""
        return "mapping" in head.keys

    def read(self, path: Path) -> Iterator[Conversation]:
        """One conversation each; those without a visible message have no messages."""
        root = read_json(path)
        ids = Labels()
        for node in root.items() if isinstance(root.value, list) else [root]:
            label = ids.take(node.get("conversation_id") or node["id"])
            named = node.get("title")
            title = named.text() if named else ""
            yield Conversation(title or label, tuple(_messages(node, label, title)))


def _messages(conversation: Node, label: str, title: str) -> Iterator[Message]:
    shown = [(key, node["message"]) for key, node in _branch(conversation) if _visible(node)]
    written = [(key, node, content) for key, node in shown if (content := _content(node)).strip()]
    times = [created.time() if (created := node.get("create_time")) else None for _, node, _ in written]
    started = conversation.get("create_time")
    last = next((time for time in times if time), started.time() if started else None)
    for (key, node, content), time in zip(written, times, strict=True):
        last = time or last  # a message without a time happened when the one before it did
        yield _message(node, f"chatgpt:{label}:{key}", content, last, label, title)


def _message(
    node: Node, own_id: str, content: str, time: datetime | None, session: str, title: str
) -> Message:
    author = node["author"]
    name = author.get("name")
    metadata = {"title": title} if title else {}
    recipient = node.get("recipient")
    if recipient and recipient.text() != "all":
        metadata["recipient"] = recipient.text()
    return node.message(
        Message(
            content=content,
            role=author["role"].label(),
            name=name.text() if name and name.value else None,
            time=time,
            session=session,
            metadata=metadata,
            id=own_id,
        )
    )


def _branch(conversation: Node) -> list[tuple[str, Node]]:
    """The nodes from the root to the current node."""
    mapping = conversation["mapping"].fields()
    current = conversation.get("current_node")
    if current is None:
        if not mapping:
            return []
        key = _newest_leaf(conversation, mapping)
    elif (key := current.text()) not in mapping:
        raise current.fault("a node of the mapping")
    branch: dict[str, Node] = {}
    while key in mapping:  # a parent that is not there: the branch begins here
        if key in branch:
            raise mapping[key].fault("parents that lead to a root", "a parent chain that runs in a circle")
        branch[key] = mapping[key]
        parent = mapping[key].get("parent")
        if parent is None:
            break
        key = parent.text()
    return list(branch.items())[::-1]


def _newest_leaf(conversation: Node, mapping: dict[str, Node]) -> str:
    """Where an export without `current_node` ends: at the last node that is nobody's parent."""
    parents = {parent.text() for node in mapping.values() if (parent := node.get("parent"))}
    leaves = [key for key in mapping if key not in parents]
    if not leaves:
        raise conversation["mapping"].fault("a last message", "parent chains that all run in circles")
    return leaves[-1]


def _visible(node: Node) -> bool:
    message = node.get("message")
    if message is None or (content := message.get("content")) is None:
        return False
    metadata, weight, kind = message.get("metadata"), message.get("weight"), content.get("content_type")
    flag = metadata.get("is_visually_hidden_from_conversation") if metadata else None
    return not (
        message["author"]["role"].value == "system"
        or (flag is not None and flag.value is True)
        or (weight is not None and weight.value == 0)
        or (kind is not None and kind.text() in _HIDDEN)
    )


def _content(message: Node) -> str:
    """Text word for word; what is no text as a described placeholder."""
    content = message["content"]
    parts: list[str] = []
    if listed := content.get("parts"):
        nodes = [node for node in listed.items() if node.value is not None]
        parts = [text for node in nodes if (text := _part(node))]
    else:
        for field in ("title", "url", "text", "result", "content"):
            if (node := content.get(field)) and isinstance(node.value, str) and node.value:
                parts.append(node.value)
    return "\n".join([*parts, *_attachments(message)])


def _part(node: Node) -> str:
    if isinstance(node.value, str):
        return node.value
    if text := node.get("text"):
        return text.text()
    kind = node.get("content_type")
    label = kind.text() if kind else "attachment"
    if "image" in label:
        dalle = (metadata := node.get("metadata")) and metadata.get("dalle")
        prompt = dalle and dalle.get("prompt")
        return f"[image: {prompt.text()}]" if prompt and prompt.value else "[image]"
    if "audio" in label:
        return ""  # what was said stands beside it as a transcription
    return f"[{label.removesuffix('_asset_pointer').replace('_', ' ')}]"


def _attachments(message: Node) -> Iterator[str]:
    metadata = message.get("metadata")
    attachments = metadata and metadata.get("attachments")
    for attachment in attachments.items() if attachments else []:
        kind = attachment.get("mime_type") or attachment.get("mimeType")
        name = attachment.get("name")
        if name and not (kind and str(kind.value).startswith("image/")):  # images are among the parts
            yield f"[file: {name.text()}]"
