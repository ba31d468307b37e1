"""What a recalled context is judged by. Pure functions, the same for every system.

Words are the distinct lower-cased words without stop words, not stems: an index may stem, a reader's text
either holds the evidence or it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from zibaldone.text.words import content_words, words

FOUND_SHARE = 0.8  # of an evidence turn's content words, inside one recalled unit


@lru_cache(maxsize=1 << 17)
def _content_words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


@lru_cache(maxsize=1 << 17)
def _all_words(text: str) -> frozenset[str]:
    return frozenset(words(text))


def is_found(turn: str, units: Iterable[str]) -> bool:
    """Whether one single unit holds at least 80 % of the turn's content words.

    A turn of nothing but stop words ("Yes, I did") is judged by all its words.
    """
    wanted, words_of = _content_words(turn), _content_words
    if not wanted:
        wanted, words_of = _all_words(turn), _all_words
    need = FOUND_SHARE * len(wanted)
    return any(len(wanted & words_of(unit)) >= need for unit in units)


def nuggets_found(nuggets: Sequence[str], text: str) -> float | None:
    """Share of the nuggets of whose content words at least 80 % stand in the text; None without any."""
    return sum(is_found(nugget, [text]) for nugget in nuggets) / len(nuggets) if nuggets else None


def answer_coverage(answer: str, text: str) -> float | None:
    """Share of the gold answer's content words that the text holds; None for an answer without any."""
    wanted = _content_words(answer)
    return len(wanted & _content_words(text)) / len(wanted) if wanted else None


@dataclass(frozen=True, slots=True)
class Density:
    """Evidence density of one recall: xMemory, section 5.2, figure 4 and table 3."""

    units: int
    one_hit: int  # units that hold exactly one distinct content word of the answer
    two_hit: int
    multi_hit: int  # three or more
    cover_units: int | None  # units, best first, until every word is covered; None: they never are
    cover_tokens: int | None  # what those units cost


def evidence_density(answer: str, ranked_units: Sequence[str], unit_tokens: Sequence[int]) -> Density | None:
    """Judge the units, best first, by the words of the gold answer; None for an answer without any.

    The paper's "minimum number of retrieved blocks" can only be a prefix of the ranking: its 10.8 blocks for
    answers of a few words are far above any smallest cover.
    """
    wanted = _content_words(answer)
    if not wanted:
        return None
    hits = [wanted & _content_words(unit) for unit in ranked_units]
    missing = set(wanted)
    cover_units = cover_tokens = None
    spent = 0
    for count, (hit, tokens) in enumerate(zip(hits, unit_tokens, strict=True), start=1):
        missing -= hit
        spent += tokens
        if not missing:
            cover_units, cover_tokens = count, spent
            break
    sizes = [len(hit) for hit in hits]
    return Density(
        units=len(hits),
        one_hit=sizes.count(1),
        two_hit=sizes.count(2),
        multi_hit=sum(size >= 3 for size in sizes),
        cover_units=cover_units,
        cover_tokens=cover_tokens,
    )
