"""Titles of texts, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

import regex

from zibaldone.text.keywords import idf, term_forms
from zibaldone.text.names import is_party, names
from zibaldone.text.purgeable_cache import remembered
from zibaldone.text.sentences import sentences
from zibaldone.text.words import STOP_WORDS, as_written, term_of

NO_STATISTICS: Mapping[str, int] = MappingProxyType({})
Likeness = Callable[[Sequence[str]], Sequence[float]]  # one per text
_CANDIDATES = 20  # words of which the nearest are chosen
_CAPTION = regex.compile(r"\[[^\[\]]*\]")  # such as of an image: not what was spoken of


def telling(
    texts: Sequence[str],
    room: int,
    *,
    parties: frozenset[str] = frozenset(),
    df: Mapping[str, int] = NO_STATISTICS,
    n: int = 0,
    likeness: Likeness | None = None,
) -> list[str]:
    """Return the words that most texts have, the commonest first; names first among equals.

    At most `room` words, without the names of those who talk, of which `parties` has the words in lower
    case, and without captions, unless nothing else is said. A word is shown with its neighbour where most
    texts that have the one have the other beside it. `df` says in how many of the user's `n` other texts each
    term occurs: what is said in all of them tells little of these. Without it every word weighs the same.
    `likeness` says how near the meaning of each of some words is to that of the texts: of twenty words that
    would come first, those that mean what the texts mean do.
    """
    texts = [without_captions(text) for text in texts]
    written = [[word for word in as_written(text) if not is_party(word, parties)] for text in texts]
    spoken, beside = _counts(written)
    _, forms = term_forms(" ".join(word.lower() for word in line) for line in written)
    # A word read again as a text may come out as other terms ("yd²" as "yd", "2"): those cannot be shown.
    spoken = Counter({term: count for term, count in spoken.items() if term in forms})
    neighbour: dict[str, tuple[str, str]] = {}  # by term, the pair in which it occurs most
    for pair, count in beside.items():
        if forms.keys() >= set(pair):
            for term in pair:
                if term not in neighbour or beside[neighbour[term]] < count:
                    neighbour[term] = pair
    capital = _capitals(texts, written, spoken)
    order = {term: place for place, term in enumerate(forms)}
    weight = {
        term: round(count * (idf(df.get(term, 0), n) if n else 1.0), 6) for term, count in spoken.items()
    }
    chosen: list[str] = []
    used: set[str] = set()
    left = room if likeness is None else _CANDIDATES
    for term in sorted(spoken, key=lambda term: (-weight[term], term not in capital, order[term])):
        if not left:
            break
        pair = neighbour.get(term, (term, term))
        together = beside[pair] > 1 and 2 * beside[pair] > max(spoken[part] for part in pair)
        phrase = pair if together else (term,)
        if used.isdisjoint(phrase) and len(phrase) <= left:
            chosen.append(" ".join(capital.get(part, forms[part]) for part in phrase))
            used.update(phrase)
            left -= len(phrase)
    return chosen if likeness is None or not chosen else _nearest(chosen, room, likeness)


def without_captions(text: str) -> str:
    """The text less what was only shown, such as "[image: a cat]", if more is left."""
    return _CAPTION.sub(" ", text).strip() or text


def _nearest(phrases: Sequence[str], room: int, likeness: Likeness) -> list[str]:
    """Choose as many phrases as there is room for, by likeness and then by rank."""
    near = [
        (-value * (1 - place / (2 * len(phrases))), place) for place, value in enumerate(likeness(phrases))
    ]
    chosen: list[str] = []
    for _, place in sorted(near):
        length = len(phrases[place].split())
        if length <= room:
            chosen.append(phrases[place])
            room -= length
    return chosen


def _counts(written: Sequence[Sequence[str]]) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """Count the texts with each term, and with each pair of adjacent terms."""
    spoken: Counter[str] = Counter()
    beside: Counter[tuple[str, str]] = Counter()
    for line in written:
        weighty = [_weighty(word.lower()) for word in line]
        spoken.update(list(dict.fromkeys(term for some in weighty for term in some)))
        pairs = ((a, b) for left, right in pairwise(weighty) for a in left for b in right)
        beside.update(list(dict.fromkeys(pairs)))
    return spoken, beside


def _capitals(
    texts: Sequence[str], written: Sequence[Sequence[str]], spoken: Mapping[str, int]
) -> dict[str, str]:
    """Map terms to capitalised forms: of words never in lower case, and of names."""
    lower = {term for line in written for word in line if word.islower() for term in _weighty(word)}
    capital = {
        term: word
        for line in written
        for word in line
        for term in _weighty(word.lower())
        if term not in lower and spoken.get(term, 0) > 1
    }
    for text in texts:
        for start, end in sentences(text):
            for word in as_written(" ".join(names(text[start:end]))):
                if word[0].isupper():
                    capital |= {term: word for _, term in term_of(word.lower())}
    return capital


@remembered(50_000)
def _weighty(word: str) -> tuple[str, ...]:
    if word in STOP_WORDS or word.isdecimal():
        return ()
    return tuple(term for _, term in term_of(word) if len(term) > 1)
