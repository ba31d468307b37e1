"""Words of a question that memory does not know, as memory spells them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rapidfuzz import process
from rapidfuzz.distance import OSA

_SHORTEST = 4  # letters of a word that is mended
_LONG = 8  # from here on two letters may be wrong


class Spelling:
    """The words of a memory, by how many letters they have."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._by_length: dict[int, dict[str, None]] = {}
        for word in words:
            self.learn(word)

    def learn(self, word: str) -> None:
        """Note a word."""
        if word.isalpha():
            self._by_length.setdefault(len(word), {})[word] = None

    def unlearn(self, word: str) -> None:
        """Forget a word."""
        self._by_length.get(len(word), {}).pop(word, None)

    def meant(self, word: str, uses: Mapping[str, int]) -> str | None:
        """The word of memory that this one is a slip of: the nearest, of those the most used; None for none.

        One letter may be missing, too many, another or out of place (Damerau's four slips, by optimal string
        alignment), two in a long word. `uses` says how often memory has each of its words.
        """
        if len(word) < _SHORTEST or not word.isalpha():
            return None
        most = 1 if len(word) < _LONG else 2
        lengths = range(len(word) - most, len(word) + most + 1)
        like = [known for length in lengths for known in self._by_length.get(length, ())]
        near = process.extract(word, like, scorer=OSA.distance, score_cutoff=most, limit=None)
        if not near:
            return None
        best, _, _ = min(near, key=lambda match: (match[1], -uses[match[0]], match[0]))
        return str(best)
