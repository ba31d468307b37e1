"""Leave out of a turn the sentences that say nothing, so that the budget goes further.

What stays is verbatim; "…" stands where something was left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set

from commonplace.rendering import OMISSION
from commonplace.text.sentences import sentences
from commonplace.text.words import terms

_NOTHING = 1.5  # a sentence of less mass than one and a half words that occur only once
_KEPT = 0.8  # share of a turn's distinct terms that must stay


def trimmed(text: str, asked: Set[str], mass: Callable[[str], float]) -> str:
    """`text` without its empty sentences: those of little mass, with no digit and no term that was asked.

    `mass` says how much a term tells: 1 for one that occurs in a single unit, 0 for one that is everywhere.
    """
    spans = sentences(text)
    if len(spans) < 2:
        return text
    inside = [set(terms(text[start:end])) for start, end in spans]
    everything = set().union(*inside)
    weights = [sum(mass(term) for term in sorted(some)) for some in inside]
    kept = set(range(len(spans)))
    for sentence in sorted(kept, key=lambda s: (weights[s], s)):
        start, end = spans[sentence]
        if weights[sentence] >= _NOTHING:
            break
        if inside[sentence] & asked or any(c.isdigit() for c in text[start:end]):
            continue
        rest = set().union(*(inside[s] for s in kept if s != sentence))
        if len(kept) > 1 and len(rest) >= _KEPT * len(everything):
            kept.remove(sentence)
    return _joined(text, spans, kept)


def mass_of(df: Callable[[str], int], n: int) -> Callable[[str], float]:
    """The mass of a term among n units: its inverse document frequency over the largest possible one."""
    most = math.log((1 + n) / 2) if n > 1 else 1.0

    def mass(term: str) -> float:
        return math.log((1 + n) / (1 + df(term))) / most

    return mass


def _joined(text: str, spans: list[tuple[int, int]], kept: Set[int]) -> str:
    pieces = []
    for sentence, (start, end) in enumerate(spans):
        if sentence in kept:
            following = sentence + 1 in kept
            pieces.append(text[start : spans[sentence + 1][0] if following else end])
            if not following and sentence + 1 < len(spans):
                pieces.append(f" {OMISSION} ")
        elif not pieces:
            pieces.append(f"{OMISSION} ")
    return "".join(pieces).strip()
