"""What things are called: invented names, unique and none a part of another, and plain values."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from zibaldone.text.words import words

_DATA: dict[str, Any] = json.loads((files(__package__) / "names.json").read_text(encoding="utf-8"))
KINDS: dict[str, float] = _DATA["kinds"]  # share of each kind among all named things
# Values that are no subjects. No value may be a part of another, nor a word of a wording.
PLAIN_VALUES: dict[str, list[str]] = _DATA["plain_values"]
_SHORTEST = 5  # letters
_PEOPLE_PER_GIVEN_NAME = 4
_LEAST_GIVEN_NAMES = 8


class Names:
    """A source of names. `taken` are texts whose words no name may hold."""

    def __init__(self, rng: random.Random, taken: Iterable[str]) -> None:
        self._rng = rng
        self._words: set[str] = {word for text in taken for word in words(text)}
        self._parts: set[str] = {part for word in self._words for part in _parts(word)}

    def word(self) -> str:
        """One capitalised word that is in no word before it, nor has one inside."""
        while True:
            syllables = [
                self._rng.choice(_DATA["onsets"]) + self._rng.choice(_DATA["vowels"])
                for _ in range(self._rng.choice((2, 2, 3)))
            ]
            word: str = "".join(syllables) + self._rng.choice(_DATA["codas"])
            parts = _parts(word)
            if len(word) >= _SHORTEST and word not in self._parts and self._words.isdisjoint(parts):
                self._words.add(word)
                self._parts.update(parts)
                return word.capitalize()

    def of_kind(self, kind: str, count: int) -> list[str]:
        """So many names. People share given names, never a family name."""
        if kind == "person":
            given = [self.word() for _ in range(max(_LEAST_GIVEN_NAMES, count // _PEOPLE_PER_GIVEN_NAME))]
            return [f"{self._rng.choice(given)} {self.word()}" for _ in range(count)]
        forms: list[str] = _DATA["forms"][kind]
        return [self._rng.choice(forms).format(self.word()) for _ in range(count)]


def _parts(word: str) -> set[str]:
    """The word's substrings that are long enough to be a word."""
    return {word[i:j] for i in range(len(word)) for j in range(i + _SHORTEST, len(word) + 1)}
