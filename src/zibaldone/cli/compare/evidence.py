"""The test of whether a recalled text holds the evidence, the same for every system.

Words are the distinct lower-cased words without stop words, not stems: an index may stem, a reader's text
either holds the evidence or it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev

from zibaldone.text.words import content_words, words

FOUND_SHARE = 0.8  # of the content words, inside one recalled unit


@lru_cache(maxsize=1 << 17)
def _content_words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


@lru_cache(maxsize=1 << 17)
def _all_words(text: str) -> frozenset[str]:
    return frozenset(words(text))


def is_found(turn: str, units: Iterable[str]) -> bool:
    """True if one single unit holds at least 80 % of the turn's content words.

    A turn of nothing but stop words ("Yes, I did") is judged by all its words.
    """
    wanted, words_of = _content_words(turn), _content_words
    if not wanted:
        wanted, words_of = _all_words(turn), _all_words
    need = FOUND_SHARE * len(wanted)
    return any(len(wanted & words_of(unit)) >= need for unit in units)


def share_found(wanted: Sequence[str], units: Sequence[str]) -> float:
    """Share of the wanted texts (one at least) that the units hold."""
    return fmean(is_found(text, units) for text in wanted)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over questions."""

    value: float
    error: float  # its standard error
    questions: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Mean | None:
        """Return the mean of the known values; None without any."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        error = stdev(known) / len(known) ** 0.5 if len(known) > 1 else 0.0
        return cls(fmean(known), error, len(known))
