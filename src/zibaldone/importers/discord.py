"""Discord, as DiscordChatExporter writes it: a JSON file per channel, or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Importer, each, read_about, read_elements
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import attached, attachment, with_files

_SPOKEN = ("Default", "Reply", "0", "19")


class Discord(Importer):
    """Session: the channel's id; guild and channel are the title. Who speaks is the name."""

    name = "discord"
    among_people = True
    looks_for = "'guild' with 'channel' in the first object"
    in_folders = r"\.json\Z"
    first_keys = frozenset({"guild", "channel"})

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield a channel's messages."""
        about = read_about(source, name)
        channel, guild = about["channel"], about.get("guild")
        names = [node.get("name") for node in (guild, channel) if node is not None]
        title = " / ".join(str(node.value) for node in names if node)
        session = f"discord:{channel['id'].label()}"
        nodes = read_elements(source, name, "messages")
        return each(nodes, lambda node: _messages(node, session, title), title)


def _messages(node: Node, session: str, title: str) -> Iterator[Message]:
    author, content = node["author"], node.get("content")
    files = [
        attachment("file", name=file["fileName"].text(), bytes=file.value.get("fileSizeBytes"))
        for file in node.items_of("attachments")
    ]
    text = with_files(content.text() if content else "", files)
    if not text.strip():
        return
    kind = node.get("type")
    metadata: dict[str, Any] = {"title": title, **attached(files)}
    if kind is not None and str(kind.value) not in _SPOKEN:
        metadata[NOISE] = "notice"
    role, name = "assistant" if author.says("isBot") else "user", author.get("nickname") or author["name"]
    time, own_id = node.time_of("timestamp"), f"{session}:{node['id'].label()}"
    yield node.message(Message(text, role, name.text(), time, session, metadata, own_id))
