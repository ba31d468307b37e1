"""What a question says about where its answer is: its words, the people and the days that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import regex

from commonplace.text.dates import find_days
from commonplace.text.words import STOP_WORDS, term_of, words

_ASKS_WHEN = regex.compile(
    r"^\s*when\b|\b(?:what|which)\s+(?:date|day|month|year|time)\b|\bhow\s+long\b", regex.IGNORECASE
)

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_COMMON = STOP_WORDS | {"may"}


@dataclass(frozen=True, slots=True)
class Question:
    """A query, taken apart."""

    terms: tuple[tuple[str, str], ...]  # (form, term) of its content words, without the speakers' names
    speakers: tuple[str, ...]  # names of this user's speakers that it mentions
    asks_when: bool
    days: tuple[tuple[int, int], ...]  # ordinals of the days that it names, inclusive

    @property
    def subject(self) -> str:
        """Its content words alone: what is embedded. The other words only blur a mean of word vectors."""
        return " ".join(form for form, _ in self.terms)


def take_apart(
    text: str, speakers: Iterable[str], today: date, knows_of: Callable[[int, int], bool], newest: date
) -> Question:
    """Read a question against the names of those who spoke.

    "In May" is asked as of today; but when memory knows nothing of those days (`knows_of`, of ordinals), the
    question means an earlier time that it does know, and is read as of the `newest` message.
    """
    said = words(text)
    written = _WORD.findall(text)
    # "will" and "may" name somebody only when they are written as names.
    candidates = {form for word in written if (form := word.casefold()) not in _COMMON or word != form}
    named = []
    of_names: set[str] = set()
    for speaker in speakers:
        if seen := candidates & _parts(speaker):
            named.append(speaker)
            of_names |= seen
    content = [word for word in said if word not in STOP_WORDS and word not in of_names]
    forms = dict(pair for word in content for pair in term_of(word))
    days = _days(text, today)
    if days and not any(knows_of(first, last) for first, last in days):
        days = _days(text, newest)
    return Question(
        terms=tuple(forms.items()),
        speakers=tuple(named),
        asks_when=bool(_ASKS_WHEN.search(text)),
        days=days,
    )


def _days(text: str, said: date) -> tuple[tuple[int, int], ...]:
    return tuple((d.first.toordinal(), d.last.toordinal()) for d in find_days(text, said))


@lru_cache(maxsize=10_000)
def _parts(speaker: str) -> frozenset[str]:
    return frozenset(words(speaker))
