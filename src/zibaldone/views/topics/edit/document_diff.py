"""What a person changed in a document since it was exported."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zibaldone.views.topics.markdown.document import Block, Document, Heading, Text
from zibaldone.views.topics.markdown.entry import Entry

ALIKE = 0.6  # share of words in common from which two texts are one that was changed

_PARAGRAPH = re.compile(r"\n{2,}")

Kind = Literal["added", "changed", "removed"]
Part = Literal["summary", "heading", "entry", "text"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that a person added, changed or removed; moving it is no edit."""

    kind: Kind
    part: Part
    path: tuple[str, ...]  # titles above it; of a heading also its own
    before: Block | None = None  # a Text for a summary; None when it was added
    after: Block | None = None  # None when it was removed


Placed = tuple[tuple[str, ...], Block]


def diff(before: Document, after: Document) -> tuple[Edit, ...]:
    """The edits that lead from one document to the other, in the order of `after`; removals come last.

    An entry is the same if its seq is, or else if most of its words are. Bullets, order, and front matter but
    for the summary make no edits.
    """
    edits = [*_summary(before.summary, after.summary)]
    edits += _edits("heading", _of(before, Heading), _of(after, Heading), (_words_alike,))
    edits += _edits("entry", _of(before, Entry), _of(after, Entry), (_same_seq, _words_alike))
    edits += _edits("text", _paragraphs(before), _paragraphs(after), (_words_alike,))
    return tuple(edits)


def unified(before: str, after: str, names: tuple[str, str]) -> str:
    """The lines that differ with three around them, as `diff -u` shows them; empty when none does."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    return "\n".join(lines)


def conflict_diff(stored: str, edited: str, exported: str | None = None, name: str = "the document") -> str:
    """For a person: how a document in memory differs from the edited file of an older state of it.

    With the text as it was exported, what happened to either since then; without, the one against the other.
    """
    memory, file = f"{name} in memory now", f"{name} as edited"
    if exported is None:
        return unified(stored, edited, (memory, file))
    origin = f"{name} as exported"
    return "\n\n".join(
        part
        for part in (unified(exported, stored, (origin, memory)), unified(exported, edited, (origin, file)))
        if part
    )


def _summary(before: str, after: str) -> Iterator[Edit]:
    if before != after:
        kind: Kind = "added" if not before else "changed" if after else "removed"
        yield Edit(kind, "summary", (), Text(before) if before else None, Text(after) if after else None)


def _edits(
    part: Part,
    before: Sequence[Placed],
    after: Sequence[Placed],
    tests: Iterable[Callable[[Block, Block], float]],
) -> Iterator[Edit]:
    """Pairs the blocks that are not in both, by each test in turn; yields pairs and what is left."""
    old, new = _without_common(before, after)
    pairs: dict[int, int] = {}  # place in new -> place in old
    for test in tests:
        _pair(old, new, pairs, test)
    for number, (path, block) in enumerate(new):
        if number in pairs:
            yield Edit("changed", part, path, old[pairs[number]][1], block)
        else:
            yield Edit("added", part, path, None, block)
    gone = set(range(len(old))) - set(pairs.values())
    yield from (Edit("removed", part, old[number][0], old[number][1], None) for number in sorted(gone))


def _pair(
    old: Sequence[Placed], new: Sequence[Placed], pairs: dict[int, int], test: Callable[[Block, Block], float]
) -> None:
    """Adds pairs of those that have none yet, the most alike first, among equals in order."""
    free_old = [number for number in range(len(old)) if number not in set(pairs.values())]
    free_new = [number for number in range(len(new)) if number not in pairs]
    ranked = sorted(
        (-score, n, o) for o in free_old for n in free_new if (score := test(old[o][1], new[n][1])) > 0
    )
    taken: set[int] = set()
    for _, n, o in ranked:
        if n not in pairs and o not in taken:
            pairs[n] = o
            taken.add(o)


def _without_common(before: Sequence[Placed], after: Sequence[Placed]) -> tuple[list[Placed], list[Placed]]:
    """Each without the blocks that the other has too, as often as it has them."""
    shared = Counter(_key(block) for _, block in before) & Counter(_key(block) for _, block in after)
    return _reduced(before, shared.copy()), _reduced(after, shared)


def _reduced(placed: Sequence[Placed], shared: Counter[Hashable]) -> list[Placed]:
    rest = []
    for path, block in placed:
        if shared[_key(block)] > 0:
            shared[_key(block)] -= 1
        else:
            rest.append((path, block))
    return rest


def _key(block: Block) -> Hashable:
    return replace(block, marker="-") if isinstance(block, Entry) else block


def _same_seq(before: Block, after: Block) -> float:
    """Above 1 for what stands under the same seq, more the more words it shares."""
    assert isinstance(before, Entry)
    assert isinstance(after, Entry)
    if not before.first or (before.first, before.last) != (after.first, after.last):
        return 0.0
    return 1.0 + _shared(before.text, after.text)


def _words_alike(before: Block, after: Block) -> float:
    share = _shared(words_of(before), words_of(after))
    return share if share >= ALIKE else 0.0


def _shared(before: str, after: str) -> float:
    """Dice coefficient of the words of two texts, from 0 to 1."""
    old, new = Counter(before.casefold().split()), Counter(after.casefold().split())
    total = old.total() + new.total()
    return 2 * (old & new).total() / total if total else 1.0


def words_of(block: Block) -> str:
    return block.title if isinstance(block, Heading) else block.text


def _of(document: Document, kind: type[Heading | Entry]) -> list[Placed]:
    return [(path, block) for path, block in document.placed() if isinstance(block, kind)]


def _paragraphs(document: Document) -> list[Placed]:
    return [
        (path, Text(paragraph))
        for path, block in document.placed()
        if isinstance(block, Text)
        for paragraph in _PARAGRAPH.split(block.text)
    ]
