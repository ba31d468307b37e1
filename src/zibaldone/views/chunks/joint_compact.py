"""JOINTCOMPACT: Algorithm 1, lines 8 and 9. What a new chunk does to itself and to earlier memory.

Nothing here touches the log. Out of place: an update is a new version of a chunk, and what was taken out of
it goes to the history with the messages that took its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from zibaldone.text.sentences import sentences
from zibaldone.views.chunks.chunk import Item

SUPERSEDED, DUPLICATE = "superseded", "duplicate"


@dataclass(frozen=True, slots=True)
class ItemUpdate:
    """An item of an earlier chunk changes, or goes."""

    chunk: int
    item: int
    text: str | None  # None: it goes
    reason: str
    because: tuple[int, ...]  # seqs of the messages that say so


@dataclass(frozen=True, slots=True)
class Compaction:
    """`(m', U, D)`: the new chunk's items and what becomes of earlier ones."""

    items: tuple[Item, ...]
    updates: tuple[ItemUpdate, ...]


def apply(update: ItemUpdate, items: Sequence[Item]) -> tuple[list[Item], Item | None]:
    """The chunk's items afterwards, and the item as it was; None when it is not there any more."""
    old = next((item for item in items if item.id == update.item), None)
    if old is None:
        return list(items), None
    if update.text is None:
        return [item for item in items if item.id != old.id], old
    # A shortened item is still its own message's; what a model wrote anew stands on both.
    sources = old.sources
    if update.reason != SUPERSEDED or not _is_extract(update.text, old.text):
        sources = tuple(sorted({*old.sources, *update.because}))
    changed = replace(old, text=update.text, sources=sources)
    return [changed if item.id == old.id else item for item in items], old


def _is_extract(text: str, of: str) -> bool:
    return all(text[start:end] in of for start, end in sentences(text))
