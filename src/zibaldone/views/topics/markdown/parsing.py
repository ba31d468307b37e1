"""Reads a topic document from Markdown, as printed or as a person left it; none of their words is lost.

A bullet of any kind is an entry, and so is a paragraph; indented lines, and lines that follow without a gap,
belong to the entry above them.
"""

from __future__ import annotations

import re
from datetime import date

import yaml

from zibaldone.errors import InvalidImport
from zibaldone.views.topics.markdown.document import Block, Document, Heading
from zibaldone.views.topics.markdown.entry import read_entry

_FRONT = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_BULLET = re.compile(r"(?:[-*+•]|[0-9]{1,3}[.)])(?:[ \t]+(.*))?", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?", re.DOTALL)
_RULE = re.compile(r"(?:-{3,}|\*{3,}|_{3,})\s*")


def parse(text: str) -> Document:
    """The id, summary and body of a text of any kind; without front matter the id is empty.

    Raises InvalidImport, which names line and fix, for front matter that is no YAML.
    """
    fields, body = read_front_matter(text)
    return Document(fields.get("id", ""), fields.get("summary", ""), body=parse_body(body))


def read_front_matter(text: str) -> tuple[dict[str, str], str]:
    """The texts among the fields between two lines of `---`, and what follows; no fields without these."""
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
    """The blocks of a text without front matter; never fails."""
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
