"""Discord, as DiscordChatExporter writes it: a JSON file per channel, or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.importers.base import Branches, Conversation
from zibaldone.importers.document import Node
from zibaldone.importers.files import each_file, read_about, read_pieces, with_keys
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import attached, attachment

_SPOKEN = ("Default", "Reply", "0", "19")


class Discord:
    """Session: the channel's id; guild and channel are the title. Who speaks is the name."""

    name = "discord"
    looks_for = "'guild' with 'channel' in the first object"
    names_users = False

    def files(self, source: ImportSource) -> list[str]:
        """By the guild and the channel."""
        names = [name for name in source.names if source.only or name.endswith(".json")]
        return with_keys(source, names, "guild", "channel")

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation a channel, in pieces."""
        return each_file(self.files(source) or source.names, lambda name: _channel(source, name))


def _channel(source: ImportSource, name: str) -> Iterator[Conversation]:
    about = read_about(source, name)
    channel, guild = about["channel"], about.get("guild")
    names = [node.get("name") for node in (guild, channel) if node is not None]
    title = " / ".join(str(node.value) for node in names if node)
    session = f"discord:{channel['id'].label()}"
    yield from read_pieces(source, name, title, lambda node: _messages(node, session, title))


def _messages(node: Node, session: str, title: str) -> Iterator[Message]:
    author, content, sent = node["author"], node.get("content"), node.get("timestamp")
    files = [
        attachment(
            "file",
            file["fileName"].text(),
            size_bytes=size.value if (size := file.get("fileSizeBytes")) else None,
        )
        for file in (node["attachments"].items() if node.get("attachments") else [])
    ]
    parts = [content.text() if content else "", *(f"[file: {file['name']}]" for file in files)]
    text = "\n".join(part for part in parts if part)
    if not text.strip():
        return
    bot, nickname, kind = author.get("isBot"), author.get("nickname"), node.get("type")
    metadata: dict[str, Any] = {"title": title, **attached(files)}
    if kind is not None and str(kind.value) not in _SPOKEN:
        metadata[NOISE] = "notice"
    yield node.message(
        Message(
            text,
            role="assistant" if bot and bot.value is True else "user",
            name=(nickname or author["name"]).text(),
            time=sent.time() if sent else None,
            session=session,
            metadata=metadata,
            id=f"{session}:{node['id'].label()}",
        )
    )
