"""Claude's data export: the archive, its folder, or one of its `conversations.json` files.

A file is a list of conversations with their `chat_messages`. Messages that name a parent are a tree:
what was edited or retried since is a branch of its own, and the conversation is the branch of the newest
message. `projects.json` and `memories.json` beside it say what is known of the user; a project's documents
are messages of a session of the project, with the role `document`: nobody said them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from zibaldone.core import NOISE, Message
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
from zibaldone.log.message_input import output_text

_ROLES = {"human": "user", "assistant": "assistant", "system": "system"}
_MEMORIES, _INSTRUCTIONS = "Claude memories", "Claude project instructions"
_PASSING = ("token_budget", "flag")
_TEXTS = ("text", "transcript", "transcription", "title", "content")  # of a block of a kind that nobody knows


class Claude(Importer):
    """Session: the conversation's uuid; its name is in the metadata as the title."""

    name = "claude"
    looks_for = "'chat_messages' in the first object of a conversations.json"
    in_folders = r"conversations[^/]*\.json\Z"
    first_keys = frozenset({"chat_messages"})

    def files(self, source: ImportSource) -> list[str]:
        """List the files of conversations, and those of memories and projects beside them."""
        chats = super().files(source)
        beside = chats and source.only is None
        return [*chats, *source.named("memories.json", "projects.json")] if beside else chats

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the messages of each conversation, or what a file beside them says."""
        file = name.rpartition("/")[2] if source.only is None else ""
        known = {"memories.json": _memories, "projects.json": _project}.get(file)
        return each(read_elements(source, name), known or self._conversation)

    def _conversation(self, node: Node) -> Iterator[Item]:
        named = node.get("name")
        title, uuid = named.text() if named else "", node["uuid"].label()
        return each((node,), lambda node: _messages(node, uuid, title, self.branches), title or uuid)


def _messages(conversation: Node, session: str, title: str, branches: Branches) -> Iterator[Item]:
    time = conversation.time_of("created_at")
    nodes = conversation["chat_messages"].items()
    shown = _branch(conversation, nodes)

    def messages(node: Node) -> Iterator[Message]:
        nonlocal time
        uuid, sender = node["uuid"].label(), node["sender"]
        time = node.time_of("created_at") or time
        if sender.value not in tuple(_ROLES):
            raise sender.fault("'human', 'assistant' or 'system'")
        turn = _Turn(node, f"claude:{session}:{uuid}", _ROLES[sender.text()], time, session)
        return turn.messages(titled(title) | ({} if uuid in shown else {"branch": "other"}))

    def is_read(node: Node) -> bool:
        return branches == "all" or not isinstance(node.value, dict) or node.value.get("uuid") in shown

    return each(filter(is_read, nodes), messages, title or session)


def _branch(conversation: Node, nodes: list[Node]) -> Collection[str]:
    """The uuids on the branch that the user sees; all if none names its parent."""
    values = [node.value for node in nodes if isinstance(node.value, dict)]
    parents = {str(value.get("uuid")): str(value.get("parent_message_uuid")) for value in values}
    leaf = conversation.text_of("current_leaf_message_uuid")
    if leaf not in parents:
        if parents.keys().isdisjoint(parents.values()):
            return parents.keys()
        newest = max(reversed(values), key=lambda value: str(value.get("created_at") or ""))
        leaf = str(newest.get("uuid"))
    return branch_of(parents, leaf)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One entry of `chat_messages`; its tool traffic and thoughts become messages of their own."""

    node: Node
    own_id: str
    role: str
    time: datetime | None
    session: str

    def messages(self, metadata: dict[str, Any]) -> Iterator[Message]:
        """Yield the entry's messages in order; noise before the first words comes first."""
        texts: list[str] = []
        attachments: list[dict[str, Any]] = []
        before: list[Message] = []
        after: list[Message] = []
        for number, block in enumerate(self.node.items_of("content")):
            noise = self._noise(block, number, metadata)
            if noise is not None:
                (after if texts else before).append(noise)
            elif text := _words(block, attachments):
                texts.append(text)
        whole = self.node.get("text")
        if not texts and whole and not before:
            texts = [whole.text()]
        for name in ("attachments", "files"):
            texts += [_file(node, attachments) for node in self.node.items_of(name)]
        content, markers = without_markers("\n".join(part for part in texts if part))
        yield from before
        if content.strip():
            further = {**metadata, **markers, **attached(attachments)}
            yield self._message(content, self.role, further, self.own_id)
        yield from after

    def _noise(self, block: Node, number: int, metadata: dict[str, Any]) -> Message | None:
        """Return a block of tool traffic or thoughts as a message; None for other blocks."""
        kind = block["type"].text()
        own_id = f"{self.own_id}/{number}"
        name = block.text_of("name")
        if "thinking" in kind:
            thought = block.text_of("thinking") or block.text_of("text")
            further = {**metadata, NOISE: "thinking"}
            return self._message(thought, "thinking", further, own_id) if thought.strip() else None
        if kind == "tool_use":
            given = block.get("input")
            made = {
                "type": kind,
                "id": block.text_of("id"),
                "name": name,
                "input": given.value if given else {},
            }
            (call,) = block.messages({"role": "assistant", "content": [made]})
            further = {**call.metadata, **metadata, NOISE: "call"}
            return self._message(call.content, "assistant", further, own_id)
        if kind == "tool_result":
            output = block.get("content")
            text = output_text(output.value) if output else ""
            further = {**metadata, NOISE: "result"}
            if tool := block.text_of("tool_use_id"):
                further["tool_call_id"] = tool
            return self._message(text or "[tool result]", "tool", further, own_id, name or None)
        return None

    def _message(
        self, content: str, role: str, metadata: dict[str, Any], own_id: str, name: str | None = None
    ) -> Message:
        return self.node.message(Message(content, role, name, self.time, self.session, metadata, own_id))


def _words(block: Node, attachments: list[dict[str, Any]]) -> str:
    """Return a block's text; of an unknown kind, all of its text under the kind's name."""
    kind = block["type"].text()
    if kind == "text":
        return block["text"].text()
    if kind in _PASSING:
        return ""
    label = kind.replace("_", " ")
    text = "\n".join(
        text for name in _TEXTS if (node := block.get(name)) and (text := output_text(node.value))
    )
    if kind in ("image", "document", "file", "audio"):
        attachments.append(
            attachment(kind, name=block.text_of("file_name") or block.text_of("title") or None)
        )
    return f"[{label}]\n{text}" if text else f"[{label}]"


def _file(node: Node, attachments: list[dict[str, Any]]) -> str:
    name, size = node.text_of("file_name"), node.get("file_size")
    extracted = node.text_of("extracted_content")
    own_id = node.text_of("file_uuid") or node.text_of("id") or None
    kind = node.text_of("file_type") or None
    known = {"media_type": kind, "bytes": size.value if size else None, "id": own_id}
    attachments.append(attachment("file", name=name or None, **known))
    label = f"[file: {name}]" if name else "[file]"
    # a long paste is turned into an attachment: its text is what the user said
    return f"{label}\n{extracted}" if extracted else label


def _memories(node: Node) -> Iterator[Message]:
    """Yield Claude's memories of the user and of each project, as profile entries."""
    projects = node.get("project_memories")
    texts = [node.text_of("conversations_memory")]
    texts += [projects.text_of(key) for key in projects.fields()] if projects else []
    made = (
        known_of_user(line, "fact", _MEMORIES, "claude:memories", None, role="assistant")
        for text in texts
        for line, _ in remembered_lines(text)
    )
    return map(node.message, made)


def _project(node: Node) -> Iterator[Item]:
    """Yield a project's instructions and documents."""
    if node.says("is_starter_project"):  # an example that comes with the account
        return
    title, session = node.text_of("name"), f"claude:project:{node['uuid'].label()}"
    time, about = node.time_of("created_at"), titled(title)

    if prompt := node.text_of("prompt_template").strip():
        instruction = known_of_user(prompt, "instruction", _INSTRUCTIONS, session, time)
        yield node.message(replace(instruction, metadata={**instruction.metadata, **about}))
    if described := node.text_of("description").strip():
        yield node.message(Message(described, "document", None, time, session, about, f"{session}/about"))
    yield from each(
        node.items_of("docs"),
        lambda document: _document(document, session, about, time),
        title or session,
    )


def _document(node: Node, session: str, about: dict[str, Any], time: datetime | None) -> Iterator[Message]:
    name, content = " ".join(node.text_of("filename").split()), node.text_of("content")
    own_id = f"{session}/{node['uuid'].label()}"
    if content.strip():
        metadata = {**about, **({"file": name} if name else {})}
        added = node.time_of("created_at") or time
        yield node.message(Message(content, "document", name or None, added, session, metadata, own_id))
