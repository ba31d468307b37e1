"""What a person changed in a document: its summary, headings and entries, compared one by one."""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from zibaldone.views.topics.markdown.document import Block, Document, Heading
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.markdown.printing import render_body

Kind = Literal["added", "changed", "removed"]
Part = Literal["summary", "heading", "entry"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that a person added, changed or removed; moving it is no edit."""

    kind: Kind
    part: Part
    path: tuple[str, ...]  # titles above it; of a heading also its own
    before: Block | None = None  # an Entry for a summary; None when it was added
    after: Block | None = None  # None when it was removed


Placed = tuple[tuple[str, ...], Block]


def diff(before: Document, after: Document) -> tuple[Edit, ...]:
    """The edits that lead from one document to the other, those of one part together, removals last.

    An entry is the same if its seq and part are, a heading if its title or else its level is. Order makes no
    edits, nor does an entry's signature that was taken off.
    """
    edits = [*_summary(before.summary, after.summary)]
    edits += _edits("heading", before, after, Heading)
    edits += _edits("entry", before, after, Entry)
    return tuple(edits)


def fingerprint(document: Document) -> str:
    """The same for documents of the same summary and body, whatever their update log and other fields."""
    content = f"{document.summary}\n\n{render_body(document.body)}"
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def conflict_diff(stored: str, edited: str, exported: str | None = None, name: str = "the document") -> str:
    """For a person: how a document in memory differs from the edited file of an older state of it.

    With the text as it was exported, what happened to either since then; without, the one against the other.
    """
    memory, file, origin = (f"{name} {what}" for what in ("in memory now", "as edited", "as exported"))
    if exported is None:
        return _unified(stored, edited, (memory, file))
    sides = _unified(exported, stored, (origin, memory)), _unified(exported, edited, (origin, file))
    return "\n\n".join(filter(None, sides))


def words_of(block: Block) -> str:
    return block.title if isinstance(block, Heading) else block.text


def _unified(before: str, after: str, names: tuple[str, str]) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    return "\n".join(lines)


def _summary(before: str, after: str) -> Iterator[Edit]:
    if before != after:
        kind: Kind = "added" if not before else "changed" if after else "removed"
        yield Edit(kind, "summary", (), Entry(before) if before else None, Entry(after) if after else None)


def _edits(part: Part, before: Document, after: Document, kind: type[Heading | Entry]) -> Iterator[Edit]:
    """Pairs of what is not in both, and what is left of either."""
    had = [placed for placed in before.placed() if isinstance(placed[1], kind)]
    has = [placed for placed in after.placed() if isinstance(placed[1], kind)]
    shared = Counter(block for _, block in had) & Counter(block for _, block in has)
    gone, come = _without(had, shared.copy()), _without(has, shared)
    pairs: dict[int, int] = {}  # of places in `come` and `gone`
    for alike in (_same_words, _same_place):
        free: dict[object, list[int]] = {}
        for at, (_, block) in enumerate(gone):
            if at not in pairs.values() and (key := alike(block)):
                free.setdefault(key, []).append(at)
        for at, (_, block) in enumerate(come):
            if at not in pairs and (places := free.get(alike(block))):
                pairs[at] = places.pop(0)
    for at, (path, block) in enumerate(come):
        old = gone[pairs[at]][1] if at in pairs else None
        if not (isinstance(block, Entry) and old and block == Entry(words_of(old))):
            yield Edit("changed" if old else "added", part, path, old, block)
    lost = [placed for at, placed in enumerate(gone) if at not in pairs.values()]
    yield from (Edit("removed", part, path, block, None) for path, block in lost)


def _same_words(block: Block) -> object:
    return words_of(block)


def _same_place(block: Block) -> object:
    if isinstance(block, Heading):
        return block.level
    return (block.first, block.last, block.part) if block.first else None


def _without(placed: Sequence[Placed], shared: Counter[Block]) -> list[Placed]:
    """Those that are not shared, each as often as it is."""
    rest = []
    for path, block in placed:
        if shared[block] > 0:
            shared[block] -= 1
        else:
            rest.append((path, block))
    return rest
