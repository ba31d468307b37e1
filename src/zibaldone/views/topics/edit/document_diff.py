"""What a person changed in a document since it was exported."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from zibaldone.views.topics.markdown.document import Block, Document, Heading, Text
from zibaldone.views.topics.markdown.entry import Entry

ALIKE = 0.6  # share of words in common from which two texts are one that was changed
_MOST_COMPARED = 64  # old texts that one new text is compared with
_ROUNDING = 1e-9  # of a product that is a whole number

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
# From new and old blocks by their numbers: (number of a new one, of an old one, how alike they are) above 0.
Likeness = Callable[[Mapping[int, Block], Mapping[int, Block]], Iterable[tuple[int, int, float]]]


def diff(before: Document, after: Document) -> tuple[Edit, ...]:
    """The edits that lead from one document to the other, in the order of `after`; removals come last.

    An entry is the same if its seq is, or else if most of its words are. Bullets, order, and front matter but
    for the summary make no edits.
    """
    edits = [*_summary(before.summary, after.summary)]
    edits += _edits("heading", _of(before, Heading), _of(after, Heading), (_alike_in_words,))
    edits += _edits("entry", _of(before, Entry), _of(after, Entry), (_of_same_seq, _alike_in_words))
    edits += _edits("text", _paragraphs(before), _paragraphs(after), (_alike_in_words,))
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
    tests: Iterable[Likeness],
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


def _pair(old: Sequence[Placed], new: Sequence[Placed], pairs: dict[int, int], likeness: Likeness) -> None:
    """Adds pairs of those that have none yet, the most alike first, among equals in order."""
    paired = set(pairs.values())
    free_old = {number: block for number, (_, block) in enumerate(old) if number not in paired}
    free_new = {number: block for number, (_, block) in enumerate(new) if number not in pairs}
    ranked = sorted((-score, n, o) for n, o, score in likeness(free_new, free_old))
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


def _of_same_seq(new: Mapping[int, Block], old: Mapping[int, Block]) -> Iterator[tuple[int, int, float]]:
    """Above 1 for what stands under the same seq, more the more words it shares."""
    under: dict[tuple[int, int], list[int]] = {}
    for o, block in old.items():
        assert isinstance(block, Entry)
        if block.first:
            under.setdefault((block.first, block.last), []).append(o)
    for n, block in new.items():
        assert isinstance(block, Entry)
        for o in under.get((block.first, block.last), ()):
            yield n, o, 1.0 + _shared(_counted(block), _counted(old[o]))


def _alike_in_words(new: Mapping[int, Block], old: Mapping[int, Block]) -> Iterator[tuple[int, int, float]]:
    """Pairs that share at least ALIKE of their words.

    Such a pair shares one of the rarest words of each, so only blocks that do are compared (prefix filtering:
    Chaudhuri, Ganti and Kaushik 2006, "A Primitive Operator for Similarity Joins in Data Cleaning").
    In a list whose lines are all alike each is compared with some that share its rarest words, and no more.
    """
    words = {("new", n): _counted(block) for n, block in new.items()}
    words |= {("old", o): _counted(block) for o, block in old.items()}
    blocks_with = Counter(word for counted in words.values() for word in counted)

    def rarest(counted: Counter[str]) -> list[str]:
        """Of two texts with a Dice coefficient of ALIKE, each shares ALIKE / (2 - ALIKE) of its words."""
        total = counted.total()
        room = total - math.ceil(ALIKE / (2 - ALIKE) * total - _ROUNDING) + 1
        first = []
        for word in sorted(counted, key=lambda word: (blocks_with[word], word)):
            if room <= 0:
                break
            first.append(word)
            room -= counted[word]
        return first or [""]

    with_word: dict[str, list[int]] = {}
    for o in old:
        for word in rarest(words["old", o]):
            with_word.setdefault(word, []).append(o)
    for n in new:
        near = (o for word in rarest(words["new", n]) for o in with_word.get(word, ()))
        for o in set(islice(near, _MOST_COMPARED)):
            if (share := _shared(words["new", n], words["old", o])) >= ALIKE:
                yield n, o, share


def _counted(block: Block) -> Counter[str]:
    return Counter(words_of(block).casefold().split())


def _shared(before: Counter[str], after: Counter[str]) -> float:
    """Dice coefficient of the words of two texts, from 0 to 1."""
    total = before.total() + after.total()
    return 2 * (before & after).total() / total if total else 1.0


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
