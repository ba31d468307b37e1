"""Gemini in Google Takeout: `MyActivity.json` among "My Activity", a list of what was asked and answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from zibaldone.core import Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Branches, Conversation
from zibaldone.importers.document import Node
from zibaldone.importers.files import each_file, gathered, read_elements, refusal, try_head
from zibaldone.importers.occurrences import Occurrences
from zibaldone.importers.source import ImportSource

_PROGRAMS = ("Gemini", "Bard")
_ASKED = re.compile(r"^(?:Prompted|Asked|Said)\s+")
_TAG, _BREAK = re.compile(r"<[^>]+>"), re.compile(r"</?(?:p|br|li|h\d|div|tr)\b[^>]*>\n?")


class Gemini:
    """Session: the day, since the file does not say what belongs together."""

    name = "gemini"
    looks_for = "'header' with 'titleUrl' or 'products' in a MyActivity.json of Gemini Apps"
    names_users = False

    def files(self, source: ImportSource) -> list[str]:
        """By the program that the first activity is of."""
        names = [source.only] if source.only else source.named("MyActivity.json")
        return [name for name in names if _is_gemini(source, name)]

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation an activity: newest first, as the file has them."""

        def read_one(name: str) -> Iterator[Conversation]:
            ids = Occurrences("gemini")
            for node in read_elements(source, name):
                try:
                    yield gathered("Gemini", _messages(node, ids))
                except InvalidImport as error:
                    yield Conversation(node.at, (), refused=(refusal(error),))

        return each_file(self.files(source) or source.names, read_one)


def _is_gemini(source: ImportSource, name: str) -> bool:
    head = try_head(source, name)
    keys = set(head.keys) if head else set()
    if head is None or not {"header", "title", "time"} <= keys:
        return False
    return any(program in head.text[:2000] for program in _PROGRAMS)


def _messages(node: Node, ids: Occurrences) -> Iterator[Message]:
    header = node.get("header")
    if header is not None and not str(header.value).startswith(_PROGRAMS):
        return
    time, title = node["time"].time(), node["title"].text()
    session = f"gemini:{time:%Y-%m-%d}"
    question = _ASKED.sub("", title)
    if question == title:  # such as "Used an assistant feature": nobody said it
        return
    own_id = ids.name(node["time"].text(), title)
    if question.strip():
        yield node.message(Message(question, time=time, session=session, id=own_id))
    listed = node.get("safeHtmlItem")
    answers = [item.get("html") for item in listed.items()] if listed else []
    answer = "\n".join(_plain(html.text()) for html in answers if html)
    if answer.strip():
        yield node.message(Message(answer, "assistant", time=time, session=session, id=f"{own_id}/answer"))


def _plain(html: str) -> str:
    return unescape(_TAG.sub("", _BREAK.sub("\n", html))).strip()
