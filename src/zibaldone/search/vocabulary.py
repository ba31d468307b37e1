"""The words of a memory, how often it has each, and which of them a misspelt word means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from zibaldone.search.saved import PackedTexts, SavedIndex, in_byte_order

_WORD_BYTES = 190  # its letters, its count, and its place in a table
_SHORTEST = 4  # letters of a word that is mended
_LONG = 8  # from here on two letters may be wrong


def _slips(word: str, like: Sequence[str], most: int) -> npt.NDArray[np.int16]:
    """(n,) slips between a word and each of some words of one length, exact up to `most`.

    Optimal string alignment, for all words at once, and no farther from the diagonal than `most`.
    """
    letters = np.frombuffer("".join(like).encode("utf-32-le"), "<u4").reshape(len(like), -1).T
    far = np.full(len(like), most + 1, dtype=np.int16)
    rows = [[np.minimum(far, place) for place in range(len(letters) + 1)]]
    for place, letter in enumerate(map(ord, word), 1):
        row = [np.minimum(far, place), *[far] * len(letters)]
        for other in range(max(1, place - most), min(len(letters), place + most) + 1):
            is_other = letters[other - 1] != letter
            row[other] = np.minimum(
                np.minimum(rows[-1][other], row[other - 1]) + 1, rows[-1][other - 1] + is_other
            )
            if place > 1 and other > 1:
                swapped = (letters[other - 2] == letter) & (letters[other - 1] == ord(word[place - 2]))
                row[other] = np.where(swapped, np.minimum(row[other], rows[-2][other - 2] + 1), row[other])
        rows.append(row)
    return rows[-1][-1]


class Vocabulary(Mapping[str, int]):
    """Words, and how often each is in the units; of a saved one a word is looked up where it lies."""

    def __init__(self, saved: Sequence[SavedIndex] = ()) -> None:
        self._saved = [(part.texts("vocabulary.words"), part["vocabulary.uses"]) for part in saved]
        self._uses: Counter[str] = Counter()  # besides the saved ones
        self._by_length: dict[int, dict[str, None]] = {}  # words of so many letters, once one was not known

    def __getitem__(self, word: str) -> int:
        uses = self._uses[word] + self._saved_uses(word)
        if not uses:
            raise KeyError(word)
        return uses

    def __iter__(self) -> Iterator[str]:
        """Words, each once, in no order."""
        seen: set[str] = set()
        for word in chain(self._uses, *(words for words, _ in self._saved)):
            if word not in seen:
                seen.add(word)
                yield word

    def __contains__(self, word: object) -> bool:
        return word in self._uses or any(words.place_of(str(word)) is not None for words, _ in self._saved)

    def __len__(self) -> int:
        """Different words."""
        return sum(1 for _ in self)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about; saved words are not counted."""
        return _WORD_BYTES * len(self._uses) * (2 if self._by_length else 1)

    def add(self, of_units: Sequence[Sequence[str]]) -> None:
        """Note the words of units."""
        for words in of_units:
            self._uses.update(words)
            if self._by_length:
                self._spell(words)

    def remove(self, words: Sequence[str]) -> None:
        """Take the words of a unit away once."""
        if self._saved:
            self._uses, self._saved = self._merged(0), []
        self._uses.subtract(words)
        for word in set(words):
            if not self._uses[word]:
                del self._uses[word]
                self._by_length.get(len(word), {}).pop(word, None)

    def meant(self, word: str) -> str | None:
        """The word of memory that this one is a slip of: the nearest, of those the most used; None for none.

        One letter may be missing, too many, another or out of place (Damerau's four slips, by optimal string
        alignment), two in a long word.
        """
        if len(word) < _SHORTEST or not word.isalpha():
            return None
        if not self._by_length:
            self._spell(self)
        most = 1 if len(word) < _LONG else 2
        near: list[tuple[int, int, str]] = []
        for length in range(len(word) - most, len(word) + most + 1):
            if like := list(self._by_length.get(length, ())):
                slips = _slips(word, like, most)
                near += [(int(slips[n]), -self[like[n]], like[n]) for n in np.flatnonzero(slips <= most)]
        return min(near)[2] if near else None

    def _spell(self, words: Iterable[str]) -> None:
        """Note words among those that a slip may mean."""
        for word in words:
            if word.isalpha():
                self._by_length.setdefault(len(word), {})[word] = None

    def save(self, saved: SavedIndex, kept: int = 0) -> None:
        """Put there the words of what is behind the first `kept` segments."""
        uses = self._merged(kept)
        words = in_byte_order(list(uses))
        saved.put_texts("vocabulary.words", PackedTexts.of(words))
        saved.put_numbers("vocabulary.uses", np.array([uses[word] for word in words], dtype=np.int64))

    def _saved_uses(self, word: str) -> int:
        places = [(uses, words.place_of(word)) for words, uses in self._saved]
        return sum(int(uses[place]) for uses, place in places if place is not None)

    def _merged(self, kept: int) -> Counter[str]:
        total = Counter(self._uses)
        for words, uses in self._saved[kept:]:
            for word, more in zip(words, uses.tolist(), strict=True):
                total[word] += more
        return total
