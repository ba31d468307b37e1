"""Titles of texts, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import regex

from zibaldone.text.keywords import inverse_frequency
from zibaldone.text.names import is_party
from zibaldone.text.words import STOP_WORDS, as_written, term_of

NO_STATISTICS: Mapping[str, int] = MappingProxyType({})
_CAPTION = regex.compile(r"\[[^\[\]]*\]")  # such as of an image: not what was spoken of


def telling(
    texts: Sequence[str],
    most: int,
    *,
    parties: frozenset[str] = frozenset(),
    df: Mapping[str, int] = NO_STATISTICS,
    n: int = 0,
) -> list[str]:
    """Return the `most` words that most texts have, weighed by IDF, in their commonest written form.

    Left out are the names of those who talk, of which `parties` has the words in lower case, and captions,
    unless nothing else is said. `df` says in how many of the user's `n` other texts each term occurs; without
    it every word weighs the same. Of equals the one said first comes first.
    """
    counts: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for text in map(without_captions, texts):
        here: dict[str, None] = {}  # in order
        for word in as_written(text):
            lower = word.lower()
            if lower in STOP_WORDS or lower.isdecimal() or is_party(word, parties):
                continue
            for _, term in term_of(lower):
                here[term] = None
                forms.setdefault(term, Counter())[word] += 1
        counts.update(here.keys())
    weight = {
        term: count * (inverse_frequency(df.get(term, 0), n) if n else 1.0) for term, count in counts.items()
    }
    best = sorted(weight, key=lambda term: -round(weight[term], 6))[: max(most, 0)]
    return [min(forms[term], key=lambda form: (-forms[term][form], form)) for term in best]


def without_captions(text: str) -> str:
    """The text less what was only shown, such as "[image: a cat]", if more is left."""
    return _CAPTION.sub(" ", text).strip() or text
