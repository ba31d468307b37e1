"""Keywords of a text by TF-IDF, with the statistics of one user's own texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from zibaldone.text.words import STOP_WORDS, term_of, words


def term_forms(texts: Iterable[str]) -> tuple[Counter[str], dict[str, str]]:
    """Count each term, and find its commonest surface form."""
    forms: dict[str, Counter[str]] = {}
    for text in texts:
        for word in words(text):
            if word not in STOP_WORDS:
                for form, term in term_of(word):
                    forms.setdefault(term, Counter())[form] += 1
    counts = Counter({term: used.total() for term, used in forms.items()})
    return counts, {term: min(used, key=lambda form: (-used[form], form)) for term, used in forms.items()}


def keywords(texts: Iterable[str], df: Mapping[str, int], n: int, most: int) -> list[str]:
    """Return the `most` words of highest TF-IDF in their commonest form.

    `df` says in how many of the user's `n` earlier texts each term occurs.
    """
    counts, forms = term_forms(texts)
    weight = {
        term: (1 + math.log(count)) * inverse_frequency(df.get(term, 0), n) for term, count in counts.items()
    }
    best = sorted(weight, key=lambda term: (-round(weight[term], 6), term))
    return [forms[term] for term in best[:most]]


def inverse_frequency(df: int, n: int) -> float:
    """BM25's inverse document frequency, never negative, of a term that `df` of `n` texts have."""
    return math.log(1 + (n - df + 0.5) / (df + 0.5))
