"""Slack's workspace export: an archive or a folder with users.json and a file per channel and day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import PurePosixPath
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Importer, each, read_elements
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import attached, attachment, with_files

_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_MARKED = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")  # a person, a channel, a command, a link
_SAID_BY_APPS = ("pretext", "title", "text")
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

    def read(self, source: ImportSource) -> Iterator[Item]:
        """Yield the messages of each channel and day."""
        if source.only is not None:
            raise InvalidImport(f"{source.label}: is a file: give the archive, or its folder")
        people = dict(_people(source))
        titles = dict(_titles(source, people))

        def read_day(name: str) -> Iterator[Item]:
            channel = PurePosixPath(name).parent.name
            title = titles.get(channel, f"#{channel}")
            days = read_elements(source, name)
            return each(days, lambda node: _messages(node, channel, title, people), title)

        return each(self.files(source), read_day)


def _people(source: ImportSource) -> Iterator[tuple[str, str]]:
    for name in source.named("users.json"):
        for node in read_elements(source, name):
            profile, own = node.get("profile"), node["id"].label()
            shown = [profile.get(field) for field in ("display_name", "real_name")] if profile else []
            named = (*shown, node.get("real_name"), node.get("name"))
            yield own, next((str(field.value) for field in named if field and field.value), own)


def _titles(source: ImportSource, people: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (folder, who is in it) of direct messages, whose own names say nothing."""
    for name in source.named("dms.json", "mpims.json"):
        for node in read_elements(source, name):
            members = [people.get(member.label(), member.label()) for member in node.items_of("members")]
            yield (node.get("name") or node["id"]).label(), ", ".join(members)


def _messages(node: Node, channel: str, title: str, people: dict[str, str]) -> Iterator[Message]:
    text, kind, user, bot = (node.get(name) for name in ("text", "subtype", "user", "bot_id"))
    files = [
        attachment("file", name=str(label.value), media_type=file.text_of("mimetype") or None)
        for file in node.items_of("files")
        if (label := file.get("name") or file.get("title"))
    ]
    words = _plain(text.text(), people) if text else ""
    if not words.strip():  # an app's words stand beside it
        parts = (part.text_of(field) for part in node.items_of("attachments") for field in _SAID_BY_APPS)
        words = "\n".join(_plain(part, people) for part in parts if part)
    content = with_files(words, files)
    if not content.strip():
        return
    own_name = node.get("username")
    name = people.get(user.text(), user.text()) if user else own_name.text() if own_name else None
    metadata: dict[str, Any] = {"title": title, **attached(files)}
    if thread := node.get("thread_ts"):
        metadata["thread"] = thread.label()
    if (kind.value if kind else None) not in _SPOKEN:
        metadata[NOISE] = "notice"
    stamp = node["ts"].label()
    try:
        time = Node(float(stamp), node.at, node.path).time()
    except ValueError as error:
        raise node["ts"].fault("epoch seconds") from error
    role, session = "assistant" if bot and not user else "user", f"slack:{channel}"
    yield node.message(Message(content, role, name or None, time, session, metadata, f"{session}:{stamp}"))


def _plain(text: str, people: dict[str, str]) -> str:
    """A text as Slack shows it: people by name, links with their words."""

    def shown(link: re.Match[str]) -> str:
        mark, target, label = link.groups()
        if mark:
            return f"{'#' if mark == '#' else '@'}{label or people.get(target, target)}"
        target = target.removeprefix("mailto:")
        return target if label in (None, target) else f"{label} ({target})"

    return unescape(_MARKED.sub(shown, text))
