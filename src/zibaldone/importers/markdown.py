"""Markdown notes, one or a folder or archive of them, as of Obsidian: a message and a session each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any

import yaml

from zibaldone.core import Message
from zibaldone.core.validation import to_time
from zibaldone.errors import InvalidImport, InvalidInput
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Importer
from zibaldone.importers.source import ImportSource
from zibaldone.importers.streaming import lines

_SUFFIXES = (".md", ".markdown")
_FRONT = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_DAY = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d)(?!\d)")
_TIMES = ("created", "date", "created_at", "day")
_MOST_BYTES = 16 * 2**20  # of one note


class Markdown(Importer):
    """Session: the note's path; its title is that of the front matter, or the file's name.

    Its time is the one that the front matter says, or the day in its name. A note that was changed is another
    message: what it said before stays.
    """

    name = "markdown"
    looks_for = "file that ends in .md, alone or in a folder of which these are the most"

    def files(self, source: ImportSource) -> list[str]:
        """List the notes, if they are most of the source's text files."""
        notes = [name for name in source.names if name.lower().endswith(_SUFFIXES)]
        others = [name for name in source.names if name.lower().endswith((".json", ".jsonl", ".txt", ".csv"))]
        return notes if len(notes) > len(others) else []

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield a note."""
        return _note(source, name)


def _note(source: ImportSource, name: str) -> Iterator[Message]:
    where = source.where(name)
    if source.entries[name].size_bytes > _MOST_BYTES:
        raise InvalidImport(f"{where}: has more than 16 MiB: no note does", where=where, why="is too large")
    with source.open(name) as stream:
        text = "\n".join(line for _, line in lines(stream, where))
    front = _FRONT.match(text)
    fields = _fields(front[1]) if front else {}
    body = text[front.end() :] if front else text
    path = PurePosixPath(name)
    title = str(fields.get("title") or path.stem)
    if not body.strip():
        return
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    metadata: dict[str, Any] = {"title": title, "file": name}
    if tags := fields.get("tags"):
        metadata["tags"] = [str(tag) for tag in tags] if isinstance(tags, list) else str(tags).split()
    time, session = _time(fields, path.stem), f"note:{name}"
    message = Message(body.strip(), "user", None, time, session, metadata, f"{session}:{digest}")
    yield Node(None, "$", where).message(message)


def _fields(front: str) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(front)
    except (yaml.YAMLError, ValueError):  # ValueError: a date that is none
        return {}
    return fields if isinstance(fields, dict) else {}


def _time(fields: dict[str, Any], stem: str) -> datetime | None:
    given = next((fields[name] for name in _TIMES if fields.get(name)), None)
    day = _DAY.search(stem)
    for value in (given, day[1] if day else None):
        try:
            if isinstance(value, date) and not isinstance(value, datetime):
                return to_time(value.isoformat())
            if isinstance(value, datetime | str):
                return to_time(value)
        except InvalidInput:
            continue
    return None
