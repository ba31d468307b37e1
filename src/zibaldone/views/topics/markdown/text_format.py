"""Reads and writes topic documents as Markdown, as printed or as a person left them; no word is lost.

A bullet of any kind is an entry, and so is a paragraph; indented lines, and lines that follow without a gap,
belong to the entry above them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

import yaml

from zibaldone.errors import InvalidImport
from zibaldone.views.topics.markdown.document import Block, Document, Heading, Section
from zibaldone.views.topics.markdown.entry import Entry, read_entry

_FRONT = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_BULLET = re.compile(r"(?:[-*+•]|[0-9]{1,3}[.)])(?:[ \t]+(.*))?", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?", re.DOTALL)
_RULE = re.compile(r"(?:-{3,}|\*{3,}|_{3,})\s*")


def parse(text: str) -> Document:
    """Parse id, summary and body of any text; without front matter the id is "".

    Raises InvalidImport, which names line and fix, for front matter that is no YAML.
    """
    fields, body = read_front_matter(text)
    return Document(fields.get("id", ""), fields.get("summary", ""), body=parse_body(body))


def read_front_matter(text: str) -> tuple[dict[str, str], str]:
    """(text fields between two lines of `---`, the rest); no fields if there is no front matter."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT.match(text)
    if front is None:
        return {}, text
    try:
        fields = yaml.safe_load(front[1])
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = 2 + (min(mark.line, front[1].count("\n") - 1) if mark else 0)
        why = getattr(error, "problem", None) or type(error).__name__
        raise InvalidImport(
            f"line {line}: the front matter cannot be read: {why}; put texts in quotes, or delete it"
        ) from error
    if not isinstance(fields, dict):
        return {}, text
    texts = {str(name): str(value) for name, value in fields.items() if isinstance(value, str | int | date)}
    return texts, text[front.end() :]


def parse_body(text: str) -> tuple[Block, ...]:
    """Blocks of a text without front matter; never fails."""
    blocks: list[Block] = []
    entry: list[str] = []  # lines of the open one
    blanks = 0  # lines since the last that was not blank

    def close() -> None:
        if entry:
            blocks.append(read_entry("\n".join(entry)))
            entry.clear()

    for line in text.split("\n"):
        if not line or line.isspace():
            blanks += 1
            continue
        if entry and line.startswith(("  ", "\t")):
            entry += [""] * blanks + [line[1:] if line[0] == "\t" else line[2:]]
        elif heading := _HEADING.fullmatch(line):
            close()
            blocks.append(Heading(heading[2] or "", len(heading[1])))
        elif bullet := _BULLET.fullmatch(line):
            close()
            entry.append(bullet[1] or "")
        elif _RULE.fullmatch(line):
            close()
        elif entry and not blanks:
            entry.append(line.strip())
        else:
            close()
            entry.append(line.strip())
        blanks = 0
    close()
    return tuple(blocks)


@dataclass(frozen=True, slots=True)
class Region:
    """A section and its lines in the document's rendered body, counted from 1, both ends included."""

    section: Section
    start: int
    end: int


def render(document: Document) -> str:
    """The whole document, ending in a line break."""
    fields = {
        "id": document.id,
        "summary": document.summary,
        "token_count": document.token_count,
        "created_time": str(document.created_time or ""),
        "update_log": [{"time": str(one.time or ""), "event": one.event} for one in document.update_log],
    }
    body = render_body(document.body)
    return front_matter(fields) + (f"\n{body}\n" if body else "")


def front_matter(fields: dict[str, Any]) -> str:
    """JSON values as YAML between two lines of `---`, in their order."""
    dumped = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=math.inf)
    return f"---\n{dumped}---\n"


def render_body(blocks: Iterable[Block]) -> str:
    """Blocks as Markdown, without front matter, as a reader is shown them."""
    pieces: list[str] = []
    before: Block | None = None
    for block in blocks:
        if before is not None:
            pieces.append("\n" if isinstance(block, Entry) and isinstance(before, Entry) else "\n\n")
        pieces.append(_printed(block))
        before = block
    return "".join(pieces)


def regions(document: Document) -> tuple[Region, ...]:
    """Sections of a document with their lines in the rendered body."""
    placed: list[Region] = []
    start = 1
    for section in document.partitions():
        end = start + render_body(section.body).count("\n")
        placed.append(Region(section, start, end))
        start = end + 2  # after an empty line
    return tuple(placed)


def _printed(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.title}".rstrip()
    first, *more = block.line.split("\n")
    return "\n".join([f"- {first}" if first else "-", *(f"  {line}" if line else "" for line in more)])
