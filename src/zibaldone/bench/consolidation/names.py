"""What things are called: invented names, unique and none a part of another, and plain values."""

from __future__ import annotations

import random
from collections.abc import Iterable

from zibaldone.text.words import words

# Share of each kind among all named things.
KINDS = {
    "person": 0.34,
    "company": 0.15,
    "city": 0.15,
    "country": 0.08,
    "work": 0.10,
    "team": 0.06,
    "university": 0.06,
    "band": 0.06,
}

# Values that are no subjects. No value may be a part of another, nor a word of a wording.
PLAIN_VALUES: dict[str, tuple[str, ...]] = {
    "sport": ("archery", "badminton", "cricket", "fencing", "handball", "judo", "rowing", "volleyball"),
    "instrument": ("accordion", "bassoon", "cello", "clarinet", "harp", "mandolin", "oboe", "trombone"),
    "profession": ("baker", "carpenter", "dentist", "geologist", "librarian", "notary", "surveyor", "welder"),
    "dish": ("dumplings", "gazpacho", "goulash", "lasagne", "moussaka", "paella", "ramen", "risotto"),
    "industry": (
        "aviation",
        "ceramics",
        "forestry",
        "insurance",
        "logistics",
        "mining",
        "textiles",
        "shipping",
    ),
    "genre": ("biography", "comedy", "fantasy", "horror", "mystery", "romance", "satire", "tragedy"),
    "style": ("bluegrass", "disco", "flamenco", "gospel", "jazz", "polka", "reggae", "techno"),
    "colour": ("amber", "crimson", "emerald", "indigo", "ivory", "maroon", "silver", "turquoise"),
    "language": ("Basque", "Catalan", "Danish", "Finnish", "Hungarian", "Maltese", "Swahili", "Welsh"),
    "currency": ("crown", "dinar", "florin", "guilder", "lira", "peso", "rupee", "shilling"),
}

_ONSETS = "b br d dr f fl g gr h k l m n p r s st t tr v w z".split()
_VOWELS = "a e i o u a e i o u ai ea ia".split()
_CODAS = " k l m n r s t nd rk".split(" ")
_SHORTEST = 5  # letters
_PEOPLE_PER_GIVEN_NAME = 4
_LEAST_GIVEN_NAMES = 8
_FORMS = {
    "company": ("{} Industries", "{} Holdings", "{} Partners", "{} Systems"),
    "city": ("{}",),
    "country": ("{}",),
    "work": ("Shadows of {}", "Letters to {}", "A Winter near {}", "Return of {}"),
    "team": ("{} Rovers", "{} Wanderers", "{} United"),
    "university": ("{} Institute", "{} Academy", "{} Polytechnic"),
    "band": ("{} Quartet", "{} Ensemble", "{} Collective"),
}


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
                self._rng.choice(_ONSETS) + self._rng.choice(_VOWELS)
                for _ in range(self._rng.choice((2, 2, 3)))
            ]
            word = "".join(syllables) + self._rng.choice(_CODAS)
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
        return [self._rng.choice(_FORMS[kind]).format(self.word()) for _ in range(count)]


def _parts(word: str) -> set[str]:
    """The word's substrings that are long enough to be a word."""
    return {word[i:j] for i in range(len(word)) for j in range(i + _SHORTEST, len(word) + 1)}
