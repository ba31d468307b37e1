"""Words of a passage that are the question's, as search compares them: by their stems."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from zibaldone.text.words import STOP_WORDS, term_of, terms, words

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")


def marked_words(text: str, query: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, in order, each with whether it is a word of the query."""
    wanted = set(terms(query)) or {term for word in words(query) for _, term in term_of(word)}
    end = 0
    for match in _WORD.finditer(text) if wanted else ():
        word = match.group()
        folded = words(word)
        known = {term for part in folded if part not in STOP_WORDS for _, term in term_of(part)}
        if known.isdisjoint(wanted):
            continue
        if match.start() > end:
            yield text[end : match.start()], False
        yield word, True
        end = match.end()
    if end < len(text):
        yield text[end:], False
