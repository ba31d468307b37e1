"""Writes a topic document as Markdown, so that `parsing.parse` reads the same document again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from zibaldone.views.topics.markdown.document import Block, Document, Heading, Section, Text
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.markdown.front_matter import front_matter
from zibaldone.views.topics.markdown.lines import Fences, escaped, is_structure
from zibaldone.views.topics.markdown.parsing import is_entry


@dataclass(frozen=True, slots=True)
class Region:
    """A section and its lines in the document's rendered body, counted from 1, both ends included."""

    section: Section
    start: int
    end: int


def render(document: Document) -> str:
    """The whole document, ending in a line break."""
    body = render_body(document.body)
    return front_matter(document) + (f"\n{body}\n" if body else "")


def render_body(blocks: Iterable[Block]) -> str:
    """Blocks without front matter: what a reader is shown."""
    pieces: list[str] = []
    before: Block | None = None
    for block in blocks:
        if before is not None:
            pieces.append("\n" if isinstance(block, Entry) and isinstance(before, Entry) else "\n\n")
        pieces.append("\n".join(_lines(block, before)))
        before = block
    return "".join(pieces)


def render_section(section: Section) -> str:
    return render_body(section.body)


def regions(document: Document, level: int = 6) -> tuple[Region, ...]:
    """The partitions of a document, cut at this level, and where they stand in its rendered body."""
    placed: list[Region] = []
    start = 1
    for section in document.partitions(level):
        end = start + render_section(section).count("\n")
        placed.append(Region(section, start, end))
        start = end + 2  # after an empty line
    return tuple(placed)


def _lines(block: Block, before: Block | None) -> Iterator[str]:
    """The lines of a block, not empty."""
    if isinstance(block, Heading):
        yield f"{'#' * block.level} {block.title}".rstrip()
    elif isinstance(block, Text):
        yield from _text(block.text.split("\n"), after_entry=isinstance(before, Entry))
    else:
        first, *more = block.line.split("\n")
        yield f"{block.marker} {first}" if first else block.marker
        for line in more:
            yield f"  {escaped(line, is_entry)}" if line else ""


def _text(lines: list[str], *, after_entry: bool) -> Iterator[str]:
    fences = Fences(lines, is_entry)
    at = 0
    while at < len(lines):
        if end := fences.end(at):
            yield from lines[at:end]
            at = end
            continue
        line = escaped(lines[at], is_structure)
        if at == 0 and (line.lstrip("\\")[:1] in {" ", "\t"}) and (after_entry or line[0] == "\\"):
            line = f"\\{line}"
        yield line
        at += 1
