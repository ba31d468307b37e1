"""JOINTCOMPACT: Algorithm 1, lines 8 and 9. What a new chunk does to itself and to earlier memory.

Nothing here touches the log. Out of place: an update is a new version of a chunk, and what was taken out of
it goes to the history with the messages that took its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from zibaldone.text.sentences import sentences
from zibaldone.text.statements import PlainStatement, statements, supersedes
from zibaldone.text.words import terms
from zibaldone.views.chunks.chunk import Item

SUPERSEDED, DUPLICATE = "superseded", "duplicate"
_SAME = 0.85  # of the terms of two texts, taken together, that both have
_LEAST_TERMS = 3  # of a text that can be another's duplicate


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


def joint_compact(items: Sequence[Item], related: Mapping[int, Sequence[Item]]) -> Compaction:
    """Drop what the new chunk says again from earlier chunks, and mark values that it supersedes.

    The newer of two near duplicates stays. A value is superseded only by a statement of the same subject and
    relation (see text/statements.py); all else is left alone.
    """
    newer = [_ComparedItem(item) for item in items]
    updates = []
    for chunk, earlier in related.items():
        for old in earlier:
            compared = _ComparedItem(old)
            same = next((new for new in newer if new.same(compared)), None)
            if same:
                updates.append(ItemUpdate(chunk, old.id, None, DUPLICATE, same.item.sources))
                continue
            left, because = _less_superseded(compared, newer)
            if because:
                updates.append(ItemUpdate(chunk, old.id, left or None, SUPERSEDED, because))
    return Compaction(tuple(items), tuple(updates))


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


class _ComparedItem:
    """An item with what is compared of it, worked out once."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.terms = frozenset(terms(item.text))
        speaker = item.speaker or ""
        spans = sentences(item.text)
        self.sentences = [
            (item.text[start:end], statements(item.text[start:end], speaker)) for start, end in spans
        ]
        self.states = [claim for _, claims in self.sentences for claim in claims]

    def same(self, old: _ComparedItem) -> bool:
        """Whether both say the same in nearly the same words."""
        if self.item.speaker != old.item.speaker:
            return False
        if min(len(self.terms), len(old.terms)) < _LEAST_TERMS:
            return self.item.text == old.item.text
        return len(self.terms & old.terms) >= _SAME * len(self.terms | old.terms)


def _less_superseded(old: _ComparedItem, newer: Sequence[_ComparedItem]) -> tuple[str, tuple[int, ...]]:
    """The item without the sentences whose values no longer hold, and the seqs that say so."""
    if not old.states:
        return old.item.text, ()
    kept, because = [], set()
    for sentence, claims in old.sentences:
        by = {seq for new in newer for seq in _superseding(new, claims)}
        because |= by
        if not by:
            kept.append(sentence)
    return " ".join(kept), tuple(sorted(because))


def _superseding(new: _ComparedItem, claims: Sequence[PlainStatement]) -> tuple[int, ...]:
    return new.item.sources if any(supersedes(a, b) for a in new.states for b in claims) else ()
