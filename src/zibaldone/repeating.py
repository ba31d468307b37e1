"""Units that say no more than another one says: a fact in many paraphrases stands in a context once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from zibaldone.core import Evidence
from zibaldone.search.lexical import inverse_frequency
from zibaldone.text.faithfulness import denies, names_and_numbers
from zibaldone.text.words import content_words

Place = tuple[str, int]  # part of a context, and rank in it
_SHARE = 0.9  # of a unit's words, by idf among the candidates, that stand in the other
_FEWEST_WORDS = 5  # a shorter unit leans on what was said before it


class Said:
    """The words of a context's units, as it grows."""

    def __init__(self, candidates: Iterable[Evidence]) -> None:
        """Words weigh as much as they are rare among all `candidates`."""
        self._words = {unit.text: content_words(unit.text) for unit in candidates}
        frequencies = Counter(word for some in self._words.values() for word in some)
        n = len(self._words)
        self._idf = {word: inverse_frequency(df, n) for word, df in frequencies.items()}
        self._units: dict[Place, Evidence] = {}
        self._having: dict[str, list[Place]] = defaultdict(list)

    def add(self, place: Place, unit: Evidence) -> None:
        """Take in a unit that is in the context now."""
        for word in self._words.get(unit.text, ()):
            self._having[word].append(place)
        self._units[place] = unit

    def again(self, unit: Evidence) -> Place | None:
        """The place of the unit in which the same speaker says as much, if there is one.

        Names and numbers all stand in it, and either both deny something or none does.
        """
        own = self._words[unit.text]
        if len(own) < _FEWEST_WORDS:
            return None
        rarest = sorted(own, key=self._idf.__getitem__, reverse=True)
        may_lack = (1 - _SHARE) * sum(map(self._idf.__getitem__, own))
        alike: set[Place] = set()
        left = may_lack
        for word in rarest:  # all that has enough of the words has one of these
            alike.update(self._having.get(word, ()))
            if (left := left - self._idf[word]) < 0:
                break
        return next(
            (
                place
                for place in sorted(alike)
                if self._has(place, own, may_lack) and _same(unit, self._units[place])
            ),
            None,
        )

    def _has(self, place: Place, words: set[str], may_lack: float) -> bool:
        lacking = words - self._words[self._units[place].text]
        return sum(map(self._idf.__getitem__, lacking)) <= may_lack


def _same(unit: Evidence, other: Evidence) -> bool:
    return (
        (unit.speaker, unit.view, unit.outdated) == (other.speaker, other.view, other.outdated)
        and names_and_numbers(unit.text) <= names_and_numbers(other.text)
        and denies(unit.text) == denies(other.text)
    )
