"""Slack's workspace export: an archive or a folder with users.json and a file per channel and day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Branches, Conversation
from zibaldone.importers.document import Node
from zibaldone.importers.files import Importer, each_file, each_message, gathered, read_elements
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import attached, attachment, with_files

_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_MENTION = re.compile(r"<@([A-Z0-9]+)(?:\|[^>]*)?>")
_SPOKEN = (None, "", "thread_broadcast", "file_share", "me_message", "bot_message")


class Slack(Importer):
    """Session: the channel. Who speaks is the name; bots are assistants."""

    name = "slack"
    among_people = True
    looks_for = "users.json with folders of days, such as general/2024-01-31.json"

    def files(self, source: ImportSource) -> list[str]:
        """List the files of days, channel by channel."""
        days = [name for name in source.names if _DAY.fullmatch(PurePosixPath(name).name) and "/" in name]
        return sorted(days) if days and source.named("users.json", *_LISTS) else []

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """Yield one conversation per channel and day."""
        if source.only is not None:
            raise InvalidImport(f"{source.label}: is a file: give the archive, or its folder")
        people = dict(_people(source))

        def read_day(name: str) -> Iterator[Conversation]:
            channel = PurePosixPath(name).parent.name
            nodes = read_elements(source, name)
            yield gathered(
                channel, each_message(nodes, lambda node: _messages(node, channel, people), channel)
            )

        return each_file(self.files(source), read_day)


def _people(source: ImportSource) -> Iterator[tuple[str, str]]:
    for name in source.named("users.json"):
        for node in read_elements(source, name):
            profile, own = node.get("profile"), node["id"].label()
            shown = [profile.get(field) for field in ("display_name", "real_name")] if profile else []
            names = [
                field.value
                for field in (*shown, node.get("real_name"), node.get("name"))
                if field and field.value
            ]
            yield own, str(names[0]) if names else own


def _messages(node: Node, channel: str, people: dict[str, str]) -> Iterator[Message]:
    text, kind, user, bot = (node.get(name) for name in ("text", "subtype", "user", "bot_id"))
    files = [
        attachment("file", str(label.value), media.text() if (media := file.get("mimetype")) else None)
        for file in node.items_of("files")
        if (label := file.get("name") or file.get("title"))
    ]
    words = _MENTION.sub(lambda found: "@" + people.get(found[1], found[1]), text.text() if text else "")
    content = with_files(words, files)
    if not content.strip():
        return
    own_name = node.get("username")
    name = people.get(user.text(), user.text()) if user else own_name.text() if own_name else None
    metadata: dict[str, Any] = {"title": f"#{channel}", **attached(files)}
    if thread := node.get("thread_ts"):
        metadata["thread"] = thread.label()
    if (kind.value if kind else None) not in _SPOKEN:
        metadata[NOISE] = "notice"
    stamp = node["ts"].label()
    try:
        time = Node(float(stamp), node.at, node.path).time()
    except ValueError as error:
        raise node["ts"].fault("epoch seconds") from error
    yield node.message(
        Message(
            content,
            role="assistant" if bot and not user else "user",
            name=name or None,
            time=time,
            session=f"slack:{channel}",
            metadata=metadata,
            id=f"slack:{channel}:{stamp}",
        )
    )
