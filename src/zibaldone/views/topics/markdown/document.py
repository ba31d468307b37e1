"""Topic documents (§3.2): front matter, headings and entries.

    ---
    id: cats-3f2a
    summary: cats, Moss; Ann has a cat named Moss.
    token_count: 120
    created_time: 2023-05-08T13:56Z
    update_log:
    - time: 2023-05-08T13:56Z
      event: created
    ---

    # Cats

    - <seq=12,time=2023-05-08> Ann has a cat named Moss.

All values are immutable. `render` writes a document; `parse` reads its body, as printed or as a person left
it, and no word is lost: a bullet of any kind is an entry, and so is a paragraph; indented lines, and lines
that follow without a gap, belong to the entry above them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import yaml

from zibaldone.views.topics.markdown.entry import Entry, When, read_entry

_FRONT = re.compile(r"---[ \t]*\n\w+:.*\n(?:(?:\w+:|[ -]).*\n)*?---[ \t]*(?:\n|\Z)")
_BULLET = re.compile(r"(?:[-*+•]|[0-9]{1,3}[.)])(?:[ \t]+(.*))?", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?", re.DOTALL)
_RULE = re.compile(r"(?:-{3,}|\*{3,}|_{3,})\s*")


@dataclass(frozen=True, slots=True)
class Heading:
    """A topic or subtopic; `level` is 1 to 6."""

    title: str  # one line
    level: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", " ".join(self.title.split()))


Block = Heading | Entry


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the blocks below it, up to the next heading."""

    path: tuple[str, ...]  # titles from the topmost heading down to its own; () before the first heading
    heading: Heading | None
    entries: tuple[Entry, ...]

    @property
    def title(self) -> str:
        """Title of its heading; "" before the first heading."""
        return self.path[-1] if self.path else ""

    @property
    def body(self) -> tuple[Block, ...]:
        """Entries with the heading in front."""
        return (self.heading, *self.entries) if self.heading else self.entries


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the update log: created, updated, split, merged ..."""

    event: str
    time: When | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A topic document."""

    id: str
    summary: str = ""  # "keyword, keyword; a sentence"; one line
    token_count: int = 0  # of what it says, without metadata, by whoever has the tokenizer
    created_time: When | None = None
    update_log: tuple[Event, ...] = ()
    body: tuple[Block, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Entries in the order of the document, superseded ones included."""
        return tuple(block for block in self.body if isinstance(block, Entry))

    @property
    def headings(self) -> tuple[Heading, ...]:
        return tuple(block for block in self.body if isinstance(block, Heading))

    @property
    def title(self) -> str:
        """Title of the first heading that has one; else the id."""
        return next((heading.title for heading in self.headings if heading.title), self.id)

    def partitions(self) -> tuple[Section, ...]:
        """The body cut at every heading; in order, and together the whole body."""
        cuts: list[tuple[tuple[Heading, ...], list[Entry]]] = []
        for block in self.body:
            if isinstance(block, Heading):
                above = cuts[-1][0] if cuts else ()
                cuts.append(((*(h for h in above if h.level < block.level), block), []))
            else:
                if not cuts:
                    cuts.append(((), []))
                cuts[-1][1].append(block)
        return tuple(
            Section(tuple(h.title for h in path), path[-1] if path else None, tuple(blocks))
            for path, blocks in cuts
        )

    def placed(self) -> Iterator[tuple[tuple[str, ...], Entry]]:
        """Every entry with the titles above it."""
        for section in self.partitions():
            for entry in section.entries:
                yield section.path, entry

    def with_body(self, body: Iterable[Block]) -> Document:
        return replace(self, body=tuple(body))

    def map_entries(self, change: Callable[[Entry], Iterable[Entry]]) -> Document:
        """Replace every entry by none, one or several; headings left without entries go."""
        body: list[Block] = []
        for block in self.body:
            body.extend(change(block) if isinstance(block, Entry) else (block,))
        return self.with_body(_without_empty(body))


def _without_empty(body: list[Block]) -> list[Block]:
    """The body without headings that have no entry below them, subheadings included."""
    kept: list[Block] = []
    below = 0  # level of what was kept last; of an entry one below all headings
    for block in reversed(body):
        level = block.level if isinstance(block, Heading) else 7
        if level == 7 or below > level:
            kept.append(block)
            below = level
    return kept[::-1]


def parse(text: str) -> tuple[Block, ...]:
    """Blocks of a document's text; its front matter, which no edit changes, is passed over."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return parse_body(_FRONT.sub("", text, count=1) if _FRONT.match(text) else text)


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
