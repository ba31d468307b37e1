"""Telegram's export as machine-readable JSON: `result.json` of one chat, or of a whole account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from zibaldone.core import NOISE, Message
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Head, Importer, each, head_of, read_about, read_elements
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import attached, attachment

_FILES = {"photo": "image", "file": "file"}
_GONE = "Deleted account"
_SHARED = ("poll", "location_information", "contact_information", "place_name", "address", "game_title")


class Telegram(Importer):
    """Session: the chat's id; its name is in the metadata as the title. Who speaks is the name."""

    name = "telegram"
    among_people = True
    looks_for = "'chats', or 'type' with 'messages', in a result.json"
    in_folders = r"(?:\A|/)result\.json\Z"

    def fits(self, head: Head) -> bool:
        """Recognise an export by the keys of its outermost object."""
        keys = set(head.keys)
        return head.text[:1] == "{" and ("chats" in keys or {"type", "id", "messages"} <= keys)

    def owner(self, source: ImportSource) -> str | None:
        """Return the name in the personal information of a whole account's export."""
        for name in self.files(source):
            about = read_about(source, name, "chats") if "chats" in head_of(source, name).keys else None
            if about and (person := about.get("personal_information")):
                return f"{person.text_of('first_name')} {person.text_of('last_name')}".strip() or None
        return None

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the messages of each chat, or of the only one."""
        if "chats" in head_of(source, name).keys:
            chats = read_elements(source, name, "chats", "list")
            return each(chats, lambda chat: _chat(chat, chat["messages"].items()))
        return _chat(read_about(source, name), read_elements(source, name, "messages"))


def _chat(chat: Node, nodes: Iterable[Node]) -> Iterator[Item]:
    name, session, kind = chat.get("name"), f"telegram:{chat['id'].label()}", chat.get("type")
    unnamed = "Saved messages" if kind and kind.value == "saved_messages" else _GONE
    title = name.text() if name else unnamed
    return each(nodes, lambda node: _messages(node, session, title), title)


def _messages(node: Node, session: str, title: str) -> Iterator[Message]:
    text, files = _text(node.get("text")), list(_files(node))
    service = node.get("type") is not None and node["type"].value == "service"
    if service:
        action = node.get("action")
        text = text or (action.text().replace("_", " ") if action else "")
    labels = (*(label for label, _ in files), *_shared(node))
    content = "\n".join(part for part in (text, *labels) if part)
    if not content.strip():
        return
    unix, speaker = node.get("date_unixtime"), node.get("actor" if service else "from")
    time = Node(int(unix.text()), unix.at, unix.path).time() if unix and str(unix.value).isdigit() else None
    metadata: dict[str, Any] = {"title": title, **attached(known for _, known in files)}
    if service:
        metadata[NOISE] = "notice"
    name = speaker.text() if speaker and speaker.value else _GONE if "from" in node.value else None
    own_id = f"{session}:{node['id'].label()}"
    time = time or node.time_of("date")
    yield node.message(Message(content, "user", name, time, session, metadata, own_id))


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
            named, media_type = (name or held).text(), node.get("mime_type")
            if named.startswith("("):  # "(File not included. Change data exporting settings to download.)"
                yield f"[{label}]", attachment(label)
            else:
                known = attachment(label, name=named, media_type=media_type.text() if media_type else None)
                yield f"[{label}: {named}]", known


def _shared(node: Node) -> Iterator[str]:
    """Yield a label of each thing that is sent in a field of its own, such as a poll or a place."""
    for field in _SHARED:
        if (held := node.get(field)) is not None:
            values = _leaves(held.value)
            texts = [value for value in values if isinstance(value, str)] or map(str, values)
            yield f"[{field.removesuffix('_information').replace('_', ' ')}: {', '.join(texts)}]"


def _leaves(value: Any) -> list[str | float]:
    if isinstance(value, dict | list):
        return list(chain.from_iterable(map(_leaves, value.values() if isinstance(value, dict) else value)))
    return [value] if value and value is not True else []
