"""Units that say no more than another one says: a fact that was told again stands in a context once."""

from __future__ import annotations

from collections import defaultdict

from zibaldone.core import Evidence
from zibaldone.text.faithfulness import denies, names_and_numbers
from zibaldone.text.words import content_words

Place = tuple[str, int]  # part of a context, and rank in it
_FEWEST_WORDS = 5  # a shorter unit leans on what was said before it


class Said:
    """The words of a context's units, as it grows."""

    def __init__(self) -> None:
        self._units: dict[Place, Evidence] = {}
        self._having: dict[str, set[Place]] = defaultdict(set)

    def add(self, place: Place, unit: Evidence) -> None:
        """Take in a unit that is in the context now."""
        for word in content_words(unit.text):
            self._having[word].add(place)
        self._units[place] = unit

    def again(self, unit: Evidence) -> Place | None:
        """The place of the unit in which the same speaker says as much, if there is one.

        All words, names and numbers stand in it, and either both deny something or none does.
        """
        own = content_words(unit.text)
        if len(own) < _FEWEST_WORDS:
            return None
        having = sorted(set.intersection(*(self._having.get(word, set()) for word in own)))
        return next((place for place in having if _same(unit, self._units[place])), None)


def _same(unit: Evidence, other: Evidence) -> bool:
    return (
        (unit.speaker, unit.view, unit.outdated) == (other.speaker, other.view, other.outdated)
        and names_and_numbers(unit.text) <= names_and_numbers(other.text)
        and denies(unit.text) == denies(other.text)
    )
