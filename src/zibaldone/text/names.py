"""Names in a text, by their capitals."""

from __future__ import annotations

import regex

from zibaldone.text.dates import MONTHS, WEEKDAYS
from zibaldone.text.purgeable_cache import remembered
from zibaldone.text.words import STOP_WORDS, words

_NO_NAME = STOP_WORDS | {*WEEKDAYS, *MONTHS}
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]")
_CAPITALISED = regex.compile(r"\p{Lu}[\p{L}\p{M}]+")
_NAME = regex.compile(
    r"\p{Lu}[\p{L}\p{M}'’]*(?:[ -](?:(?:of|de|von|van|the|and)[ -])?\p{Lu}[\p{L}\p{M}'’]*)*"
)


def names(sentence: str) -> list[str]:
    """Runs of capitalised words as written, not counting the first word of the sentence nor "I"."""
    runs = []
    first = _WORD.search(sentence)
    for match in _NAME.finditer(sentence):
        name = match.group()
        if first and match.start() == first.start():
            _, _, name = name.partition(" ")  # it is capitalised whatever it means
        if name and _CAPITALISED.match(name) and not _NO_NAME.issuperset(words(name)):
            runs.append(name.removesuffix("'s").removesuffix("’s"))
    return runs


@remembered(50_000)
def is_party(word: str, parties: frozenset[str]) -> bool:
    """True if the word names one of those who talk, or is short for it, as "Mel" is for Melanie.

    `parties`: the words of their names, in lower case.
    """
    least = 2 if word[:1].isupper() else 3  # "Jo" may be Joanna, "jo" is somebody's word
    word = word.lower()
    return word in parties or (len(word) >= least and any(name.startswith(word) for name in parties))
