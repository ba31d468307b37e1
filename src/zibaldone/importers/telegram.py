"""Telegram's export as machine-readable JSON: `result.json` of one chat, or of a whole account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Branches, Conversation, NotImported
from zibaldone.importers.document import Node
from zibaldone.importers.files import gathered, read_about, read_elements, read_pieces, refusal, try_head
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import attached, attachment

_FILES = {"photo": "image", "file": "file"}


class Telegram:
    """Session: the chat's id; its name is in the metadata as the title. Who speaks is the name."""

    name = "telegram"
    looks_for = "'chats', or 'type' with 'messages', in a result.json"
    names_users = False

    def files(self, source: ImportSource) -> list[str]:
        """By the keys of the outermost object."""
        return [
            name
            for name in ([source.only] if source.only else source.named("result.json"))
            if _kind(source, name)
        ]

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation a chat; a single chat in pieces."""
        name = (self.files(source) or source.names)[0]
        if _kind(source, name) == "account":
            for chat in read_elements(source, name, "chats", "list"):
                yield _chat(chat)
            return
        session, title = _named(read_about(source, name))
        yield from read_pieces(source, name, title, lambda node: _messages(node, session, title))


def _kind(source: ImportSource, name: str) -> str:
    head = try_head(source, name)
    keys = set(head.keys) if head and head.text[:1] == "{" else set()
    if "chats" in keys:
        return "account"
    return "chat" if {"type", "id", "messages"} <= keys else ""


def _named(chat: Node) -> tuple[str, str]:
    title = chat.get("name")
    return f"telegram:{chat['id'].label()}", title.text() if title else "Saved messages"


def _chat(chat: Node) -> Conversation:
    try:
        session, title = _named(chat)
    except InvalidImport as error:
        return Conversation(chat.at, (), refused=(refusal(error),))

    def made() -> Iterator[Message | NotImported]:
        for node in chat["messages"].items():
            try:
                yield from _messages(node, session, title)
            except InvalidImport as error:
                yield refusal(error, title)

    return gathered(title, made())


def _messages(node: Node, session: str, title: str) -> Iterator[Message]:
    text, files = _text(node.get("text")), list(_files(node))
    service = node.get("type") is not None and node["type"].value == "service"
    if service:
        action = node.get("action")
        text = text or (action.text().replace("_", " ") if action else "")
    content = "\n".join(part for part in (text, *(label for label, _ in files)) if part)
    if not content.strip():
        return
    unix, date, speaker = (
        node.get("date_unixtime"),
        node.get("date"),
        node.get("actor" if service else "from"),
    )
    time = Node(int(unix.text()), unix.at, unix.path).time() if unix and str(unix.value).isdigit() else None
    metadata: dict[str, Any] = {"title": title, **attached(known for _, known in files)}
    if service:
        metadata[NOISE] = "notice"
    yield node.message(
        Message(
            content,
            name=speaker.text() if speaker and speaker.value else None,
            time=time or (date.time() if date else None),
            session=session,
            metadata=metadata,
            id=f"{session}:{node['id'].label()}",
        )
    )


def _text(node: Node | None) -> str:
    """A text, or a list of texts and of objects with one."""
    if node is None:
        return ""
    if isinstance(node.value, list):
        return "".join(
            part.value if isinstance(part.value, str) else part["text"].text() for part in node.items()
        )
    return node.text()


def _files(node: Node) -> Iterator[tuple[str, dict[str, Any]]]:
    for field, kind in _FILES.items():
        held, name, media = node.get(field), node.get("file_name"), node.get("media_type")
        if held is not None:
            label = media.text().replace("_", " ") if media else kind
            named = name.text() if name else held.text()
            media_type = node.get("mime_type")
            known = attachment(label, named, media_type.text() if media_type else None)
            yield f"[{label}: {named}]", known
