"""Gemini in Google Takeout: `MyActivity.json` among "My Activity", a list of what was asked and answered."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zibaldone.core import Message
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Head, Importer, each, read_elements
from zibaldone.importers.source import ImportSource
from zibaldone.importers.texts import Occurrences, plain_text

_PROGRAMS = ("Gemini", "Bard")
_ASKED = re.compile(r"^(?:Prompted|Asked|Said)\s+")


class Gemini(Importer):
    """Session: the day, since the file does not say what belongs together."""

    name = "gemini"
    looks_for = "'header' with 'titleUrl' or 'products' in a MyActivity.json of Gemini Apps"
    in_folders = r"(?:\A|/)MyActivity\.json\Z"

    def fits(self, head: Head) -> bool:
        """Recognise an export by the program of the first activity."""
        activity = {"header", "title", "time"} <= set(head.keys)
        return activity and any(program in head.text[:2000] for program in _PROGRAMS)

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the messages of each activity, newest first as in the file."""
        ids = Occurrences("gemini")
        return each(read_elements(source, name), lambda node: _messages(node, ids))


def _messages(node: Node, ids: Occurrences) -> Iterator[Message]:
    header = node.get("header")
    if header is not None and not str(header.value).startswith(_PROGRAMS):
        return
    time, title = node["time"].time(), node["title"].text()
    session = f"gemini:{time:%Y-%m-%d}"
    question = _ASKED.sub("", title)
    answers = [item.get("html") for item in node.items_of("safeHtmlItem")]
    if question == title and not answers:  # such as "Used an assistant feature": nobody said it
        return
    own_id = ids.name(node["time"].text(), title)
    if question.strip():
        yield node.message(Message(question, time=time, session=session, id=own_id))
    answer = "\n".join(plain_text(html.text()) for html in answers if html)
    if answer.strip():
        yield node.message(Message(answer, "assistant", time=time, session=session, id=f"{own_id}/answer"))
