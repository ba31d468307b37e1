"""The words of a memory, how often it has each, and which of them a misspelt word means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from zibaldone.search.saved import SavedIndex, in_byte_order

_WORD_BYTES = 190  # its letters, its count, and its place in a table
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


class Vocabulary(Mapping[str, int]):
    """Words, and how often each is in the units; of a saved one a word is looked up where it lies."""

    def __init__(self, saved: SavedIndex | None = None) -> None:
        self._words = saved.texts("vocabulary.words") if saved else None
        self._saved_uses = saved["vocabulary.uses"] if saved else None
        self._uses: Counter[str] = Counter()  # besides the saved ones
        self._spelling: Spelling | None = None  # made when a word is not known

    def __getitem__(self, word: str) -> int:
        uses = self._uses[word] + self._saved(word)
        if not uses:
            raise KeyError(word)
        return uses

    def __iter__(self) -> Iterator[str]:
        """Words in no order."""
        yield from (word for word in self._words or () if word not in self._uses)
        yield from self._uses

    def __len__(self) -> int:
        """Different words."""
        return sum(1 for _ in self)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about; saved words are not counted."""
        return _WORD_BYTES * len(self._uses) * (1 if self._spelling is None else 2)

    def add(self, words: Sequence[str]) -> list[str]:
        """Note the words of a unit; those that are new, each once."""
        new = [word for word in dict.fromkeys(words) if word not in self._uses and not self._saved(word)]
        self._uses.update(words)
        if self._spelling is not None:
            for word in new:
                self._spelling.learn(word)
        return new

    def remove(self, words: Sequence[str]) -> list[str]:
        """Take the words of a unit away once; those that are there no more, each once."""
        self._unpack()
        self._uses.subtract(words)
        gone = [word for word in dict.fromkeys(words) if not self._uses[word]]
        for word in gone:
            del self._uses[word]
            if self._spelling is not None:
                self._spelling.unlearn(word)
        return gone

    def meant(self, word: str) -> str | None:
        """The word that this one is a slip of; see Spelling."""
        if self._spelling is None:
            self._spelling = Spelling(self)
        return self._spelling.meant(word, self)

    def save(self, saved: SavedIndex) -> None:
        """Put the words there."""
        self._unpack()
        words = in_byte_order(list(self._uses))
        saved.put_texts("vocabulary.words", words)
        saved.put_numbers("vocabulary.uses", np.array([self._uses[word] for word in words], dtype=np.int64))

    def _saved(self, word: str) -> int:
        if self._words is None or self._saved_uses is None:
            return 0
        place = self._words.place_of(word)
        return 0 if place is None else int(self._saved_uses[place])

    def _unpack(self) -> None:
        """Take the saved words in, to be changed."""
        if self._words is not None and self._saved_uses is not None:
            self._uses.update(dict(zip(self._words, self._saved_uses.tolist(), strict=True)))
        self._words = self._saved_uses = None
