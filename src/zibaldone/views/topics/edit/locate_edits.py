"""Where an edit belongs: how its entry, section, heading or paragraph is found in the library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from zibaldone.core import Message
from zibaldone.views.topics.edit.edit_messages import RequestedEdit, mark_of
from zibaldone.views.topics.library import Library, key_of
from zibaldone.views.topics.markdown.document import Block, Document, Heading, Text
from zibaldone.views.topics.markdown.entry import Entry

_PARAGRAPH = re.compile(r"(\n{2,})")
Home = tuple[str, int]  # id of a document, and a place in its body


@dataclass(slots=True)
class Desk:
    library: Library
    message: Message
    request: RequestedEdit
    changed: dict[str, Document] = field(default_factory=dict)
    noted: Entry | None = None  # in CURRENT, since there is no better place
    gone: Entry | None = None  # that another entry stands for now, or none

    def documents(self) -> Iterator[Document]:
        """As they are now, the one that the edit names first."""
        now = [self.changed.get(document.id, document) for document in self.library.everything()]
        yield from sorted(now, key=lambda document: document.id != self.request.document)

    def put(self, doc_id: str, at: int, blocks: Iterable[Block], instead: int = 0) -> None:
        """Blocks before the one at that place, in place of so many."""
        document = self.changed.get(doc_id) or self.library.document(doc_id)
        assert document
        self.changed[doc_id] = document.with_body(
            (*document.body[:at], *blocks, *document.body[at + instead :])
        )


def entry_home(desk: Desk) -> tuple[Home, Entry] | None:
    """The entry that is meant: of those that fit equally well, in the named document or else the first."""
    best: tuple[int, Home, Entry] | None = None
    for document in desk.documents():
        for at, block in enumerate(document.body):
            if isinstance(block, Entry) and (fit := _fit(block, desk)) > (best[0] if best else 0):
                best = fit, (document.id, at), block
    return best and best[1:]


def _fit(entry: Entry, desk: Desk) -> int:
    """3 for the same words and sources, 2 for some of the sources, 1 where it was merged into this one."""
    request = desk.request
    if mark_of(entry.text) == request.before:
        if entry.sources == request.sources:
            return 3
        if not request.sources or not entry.sources or not set(request.sources).isdisjoint(entry.sources):
            return 2
    parts = desk.library.parts.get(key_of(entry), ())
    return int(
        any(mark_of(one.text) == request.before and set(one.sources) & set(request.sources) for one in parts)
    )


def section_home(desk: Desk) -> Home | None:
    """The end of the section with the edit's path: in its document, else where there is just one such."""
    path = desk.request.path
    target = desk.library.documents.get(desk.request.document)
    if target is not None:
        at = _end(target, lambda ends: _marks(ends) == path)
        if at is None and path:
            at = _end(target, lambda ends: _marks(ends)[-1:] == path[-1:])
        if at is not None or not path:
            return target.id, at or 0
    if not path:
        return None
    ends = [
        (document.id, _end(document, lambda ends: _marks(ends) == path))
        for document in desk.library.documents.values()
        if any(mark_of(heading.title) == path[-1] for heading in document.headings)
    ]
    homes = [(doc_id, at) for doc_id, at in ends if at is not None]
    return homes[0] if len(homes) == 1 else None


def _end(document: Document, wanted: Callable[[tuple[str, ...]], bool]) -> int | None:
    at = 0
    for section in document.partitions():
        at += len(section.body)
        if wanted(section.path):
            return at
    return None


def heading_home(desk: Desk) -> Home | None:
    """Of the headings with the old title, the one below the same headings, or else the first."""
    nearest: Home | None = None
    for document in desk.documents():
        for at, (path, block) in enumerate(document.placed()):
            if isinstance(block, Heading) and mark_of(block.title) == desk.request.before:
                if _marks(path)[:-1] == desk.request.path[:-1]:
                    return document.id, at
                nearest = nearest or (document.id, at)
        if nearest is not None:
            return nearest
    return None


def rewritten(text: Text, before: str, after: str) -> Text | None:
    """With other words for the first paragraph of that mark; None when it has none."""
    pieces = _PARAGRAPH.split(text.text)
    for at in range(0, len(pieces), 2):
        if mark_of(Text(pieces[at]).text) == before:
            kept = [pieces[:at], [after], pieces[at + 1 :]] if after else [pieces[:at], pieces[at + 2 :]]
            return Text("".join(piece for some in kept for piece in some).rstrip("\n"))
    return None


def _marks(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(mark_of(title) for title in path)
