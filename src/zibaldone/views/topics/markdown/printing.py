"""Writes a topic document as Markdown, so that `parsing.parse` reads the same document again."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from zibaldone.views.topics.markdown.document import Block, Document, Event, Heading, Section
from zibaldone.views.topics.markdown.entry import Entry


@dataclass(frozen=True, slots=True)
class Region:
    """A section and its lines in the document's rendered body, counted from 1, both ends included."""

    section: Section
    start: int
    end: int


def render(document: Document, **more: str) -> str:
    """The whole document, ending in a line break; with more fields of front matter behind its own."""
    fields = {
        "id": document.id,
        "summary": document.summary,
        "token_count": document.token_count,
        "created_time": str(document.created_time or ""),
        "update_log": [_event(event) for event in document.update_log],
    }
    body = render_body(document.body)
    return front_matter(fields | more) + (f"\n{body}\n" if body else "")


def front_matter(fields: dict[str, Any]) -> str:
    """JSON values as YAML between two lines of `---`, in their order."""
    dumped = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=math.inf)
    return f"---\n{dumped}---\n"


def render_body(blocks: Iterable[Block]) -> str:
    """Blocks without front matter: what a reader is shown."""
    pieces: list[str] = []
    before: Block | None = None
    for block in blocks:
        if before is not None:
            pieces.append("\n" if isinstance(block, Entry) and isinstance(before, Entry) else "\n\n")
        pieces.append(_printed(block))
        before = block
    return "".join(pieces)


def regions(document: Document, level: int = 6) -> tuple[Region, ...]:
    """The partitions of a document, cut at this level, and where they stand in its rendered body."""
    placed: list[Region] = []
    start = 1
    for section in document.partitions(level):
        end = start + render_body(section.body).count("\n")
        placed.append(Region(section, start, end))
        start = end + 2  # after an empty line
    return tuple(placed)


def _printed(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.title}".rstrip()
    first, *more = block.line.split("\n")
    return "\n".join([f"- {first}" if first else "-", *(f"  {line}" if line else "" for line in more)])


def _event(event: Event) -> dict[str, Any]:
    return {"time": str(event.time or ""), "event": event.event}
