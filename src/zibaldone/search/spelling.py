"""Words of a question that memory does not know, as memory spells them."""

from __future__ import annotations

from collections.abc import Mapping

from rapidfuzz import process
from rapidfuzz.distance import OSA

_SHORTEST = 4  # letters of a word that is mended
_LONG = 8  # from here on two letters may be wrong


def as_spelled(word: str, uses: Mapping[str, int]) -> str | None:
    """The word of memory that this one is a slip of: the nearest, of those the most used; None for none.

    One letter may be missing, too many, another or out of place (Damerau's four slips, by optimal string
    alignment), two in a long word. `uses` says how often memory has each of its words.
    """
    if len(word) < _SHORTEST or not word.isalpha():
        return None
    most = 1 if len(word) < _LONG else 2
    like = [known for known in uses if abs(len(known) - len(word)) <= most and known.isalpha()]
    near = process.extract(word, like, scorer=OSA.distance, score_cutoff=most, limit=None)
    if not near:
        return None
    best, _, _ = min(near, key=lambda match: (match[1], -uses[match[0]], match[0]))
    return str(best)
