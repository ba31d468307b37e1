"""The words of a question in a text, compared by stems as search compares them."""

from __future__ import annotations

from functools import cache

import regex
from markupsafe import Markup, escape

from zibaldone.text.words import STOP_WORDS, term_of, terms, words

_WORD = regex.compile(r"([\p{L}\p{M}\p{N}]+)")


class Highlighter:
    """Marks the words of one question."""

    def __init__(self, question: str) -> None:
        self._wanted = set(terms(question)) or {term for word in words(question) for _, term in term_of(word)}
        self._is_wanted = cache(self._has_term)  # texts repeat their words

    def marked(self, text: str) -> Markup:
        """Escape a text and put the words of the question into <mark>."""
        pieces = _WORD.split(text) if self._wanted else [text]
        return Markup("").join(
            Markup("<mark>{}</mark>").format(piece) if place % 2 and self._is_wanted(piece) else escape(piece)
            for place, piece in enumerate(pieces)
        )

    def _has_term(self, word: str) -> bool:
        known = {term for part in words(word) if part not in STOP_WORDS for _, term in term_of(part)}
        return not known.isdisjoint(self._wanted)
