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

All values are immutable; `parse` reads a document, `render` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from zibaldone.views.topics.markdown.entry import Entry, When, known


@dataclass(frozen=True, slots=True)
class Heading:
    """A topic or subtopic; `level` is 1 to 6."""

    title: str  # one line
    level: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", one_line(self.title))
        object.__setattr__(self, "level", min(max(self.level, 1), 6))


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", known(self.time))


@dataclass(frozen=True, slots=True)
class Document:
    """A topic document."""

    id: str
    summary: str = ""  # "keyword, keyword; a sentence"; one line
    token_count: int = 0  # of what it says, without metadata, by whoever has the tokenizer
    created_time: When | None = None
    update_log: tuple[Event, ...] = ()
    body: tuple[Block, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", one_line(self.id))
        object.__setattr__(self, "summary", one_line(self.summary))
        object.__setattr__(self, "created_time", known(self.created_time))

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


def one_line(text: str) -> str:
    return " ".join(text.split())


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
