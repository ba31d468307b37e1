"""ChatGPT's data export: the archive, its folder, or one of its `conversations.json` files.

A file is a list of conversations, each a tree of messages. `mapping` holds every node that ever was, edited
prompts and regenerated answers included; `current_node` is the end of the branch that the user sees. That
branch, followed upwards by `parent`, is the conversation. Custom instructions and what the assistant
remembers stand among the messages, and are known of the user.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.core.validation import to_time
from zibaldone.importers.base import Branches, Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Importer, each, read_elements
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import (
    attached,
    attachment,
    branch_of,
    known_of_user,
    remembered_lines,
    titled,
    without_markers,
)

_THOUGHTS = ("thoughts", "reasoning_recap")
_KNOWN = ("user_editable_context", "model_editable_context")
_INSTRUCTIONS, _MEMORIES = "ChatGPT custom instructions", "ChatGPT memories"
_FENCE = "```"


class ChatGPT(Importer):
    """Session: the conversation's id; its title is in the metadata."""

    name = "chatgpt"
    looks_for = "'mapping' in the first object of a conversations.json"
    in_folders = r"conversations[^/]*\.json\Z"
    first_keys = frozenset({"mapping"})

    def read(self, source: ImportSource) -> Iterator[Item]:
        """Yield the messages of all files; what is known of the user once."""
        self.known = set[str]()
        return super().read(source)

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the messages of each conversation."""
        return each(read_elements(source, name), self._conversation)

    def _conversation(self, node: Node) -> Iterator[Item]:
        title, own = node.get("title"), node.get("conversation_id") or node.get("id")
        label = (own or node["id"]).label()
        chat = _Chat(node, label, title.text() if title else "", self.known)
        return each((self.branches,), chat.messages, chat.title or label)


@dataclass(slots=True)
class _Chat:
    """State while a conversation is read."""

    node: Node
    label: str
    title: str
    known: set[str]  # ids of what is known of the user, which every conversation repeats
    last: datetime | None = None

    def messages(self, branches: Branches) -> Iterator[Item]:
        """Yield the messages in the order of the conversation."""
        mapping = self.node["mapping"].fields()
        parents = {
            key: str(node.value.get("parent")) if isinstance(node.value, dict) else ""
            for key, node in mapping.items()
        }
        leaf = self.node.text_of("current_node")
        current = branch_of(parents, leaf if leaf in parents else next(reversed(parents), ""))
        shown = set(current)
        self.last = self.node.time_of("create_time")

        def read(key: str) -> Iterator[Message]:
            message = mapping[key].get("message")
            if message is not None:
                yield from self._of_node(key, message, {} if key in shown else {"branch": "other"})

        every: dict[str, None] = {}  # parents before children
        for key in parents if branches == "all" else ():
            every |= dict.fromkeys(branch_of(parents, key, every))
        return each(every or current, read, self.title or self.label)

    def _of_node(self, key: str, message: Node, branch: dict[str, Any]) -> Iterator[Message]:
        content = message.get("content")
        if content is None:
            return
        self.last = message.time_of("create_time") or self.last  # without a time: that of the one before
        kind = content.get("content_type")
        if kind is not None and kind.value in _KNOWN:
            yield from self._known_of_user(message, content)
            return
        text, attachments = _content(message, content)
        text, markers = without_markers(text)
        if not text.strip():
            return
        author, recipient = message["author"], message.get("recipient")
        role, name = author["role"].label(), author.get("name")
        metadata = titled(self.title)
        if recipient and recipient.text() != "all":
            metadata["recipient"] = recipient.text()
        if recipient and recipient.text() == "bio":
            metadata |= known_of_user(text, "fact", _MEMORIES, "chatgpt:memories", None).metadata
        elif noise := _noise(message, role, str(kind.value) if kind else "", metadata.get("recipient")):
            metadata[NOISE] = noise
        yield message.message(
            Message(
                content=text,
                role="thinking" if metadata.get(NOISE) == "thinking" else role,
                name=name.text() if name and name.value else None,
                time=self.last,
                session=self.label,
                metadata={**metadata, **markers, **attached(attachments), **branch},
                id=f"chatgpt:{self.label}:{key}",
            )
        )

    def _known_of_user(self, message: Node, content: Node) -> Iterator[Message]:
        """Yield custom instructions and memories, once even if many conversations repeat them."""
        for line, day in remembered_lines(content.text_of("model_set_context")):
            time = to_time(day) if day else self.last
            made = known_of_user(line, "fact", _MEMORIES, "chatgpt:memories", time, role="assistant")
            yield from self._once(message, made)
        data = (metadata := message.get("metadata")) and metadata.get("user_context_message_data")
        for field_, raw, kind in (
            ("user_profile", "about_user_message", "fact"),
            ("user_instructions", "about_model_message", "instruction"),
        ):
            text = (data.text_of(raw) if data else "") or _fenced(content.text_of(field_))
            if text.strip():
                made = known_of_user(text.strip(), kind, _INSTRUCTIONS, "chatgpt:instructions", self.last)
                yield from self._once(message, made)

    def _once(self, node: Node, message: Message) -> Iterator[Message]:
        assert message.id is not None
        if message.id not in self.known:
            self.known.add(message.id)
            yield node.message(message)


def _noise(message: Node, role: str, kind: str, recipient: str | None) -> str | None:
    """Return the kind of noise of a message that ChatGPT does not show; None for others."""
    metadata, weight = message.get("metadata"), message.get("weight")
    hidden = metadata is not None and metadata.says("is_visually_hidden_from_conversation")
    if kind in _THOUGHTS:
        return "thinking"
    if role == "tool":
        return "result"
    if recipient and recipient != "all":
        return "call"
    if hidden or (weight and weight.value == 0) or role == "system":
        return "hidden"
    return None


def _content(message: Node, content: Node) -> tuple[str, list[dict[str, Any]]]:
    """Text word for word; what is no text as a described placeholder, and as attachments."""
    parts: list[str] = []
    attachments: list[dict[str, Any]] = []
    if listed := content.get("parts"):
        for node in listed.items():
            if node.value is not None:
                text, known = _part(node)
                parts += [text] if text else []
                attachments += known
    elif thoughts := content.get("thoughts"):
        for thought in thoughts.items():
            parts += [text for name in ("summary", "content") if (text := thought.text_of(name))]
    else:
        names = ("title", "url", "text", "result", "content")
        parts = [text for name in names if (text := content.text_of(name))]
    for described, file in _files(message):
        parts.append(described)
        attachments.append(file)
    return "\n".join(parts), attachments


def _part(node: Node) -> tuple[str, list[dict[str, Any]]]:
    if isinstance(node.value, str):
        return node.value, []
    if text := node.get("text"):
        return text.text(), []
    kind = node.get("content_type")
    label = kind.text() if kind else "attachment"
    pointer, size = node.text_of("asset_pointer") or None, node.value.get("size_bytes")
    if "image" in label:
        dalle = (metadata := node.get("metadata")) and metadata.get("dalle")
        prompt = (dalle.text_of("prompt") if dalle else "") or None
        file = attachment("image", name=pointer, bytes=size, caption=prompt)
        return f"[image: {prompt}]" if prompt else "[image]", [file]
    if "audio" in label:  # what was said stands beside it as a transcription
        return "", [attachment("audio", name=pointer, bytes=size)]
    label = label.removesuffix("_asset_pointer").replace("_", " ")
    return f"[{label}]", [attachment(label, name=pointer, bytes=size)]


def _files(message: Node) -> Iterator[tuple[str, dict[str, Any]]]:
    metadata = message.get("metadata")
    for node in metadata.items_of("attachments") if metadata else []:
        kind = node.text_of("mime_type") or node.text_of("mimeType") or None
        name, own_id = node.text_of("name"), node.text_of("id") or None
        if name and not (kind and kind.startswith("image/")):  # images are among the parts
            size = node.value.get("size")
            yield f"[file: {name}]", attachment("file", name=name, media_type=kind, bytes=size, id=own_id)


def _fenced(text: str) -> str:
    """Return the contents of a text's fenced block, or the text if it has none."""
    before, fence, rest = text.partition(_FENCE)
    inside, closed, _ = rest.rpartition(_FENCE)
    return inside if fence and closed else before
