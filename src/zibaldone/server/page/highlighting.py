"""The words of a question in a text, compared by stems as search compares them."""

from __future__ import annotations

from collections.abc import Iterator

import regex
from markupsafe import Markup, escape

from zibaldone.text.words import STOP_WORDS, term_of, terms, words

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")


class Highlighter:
    """Marks the words of one question."""

    def __init__(self, question: str) -> None:
        self._wanted = set(terms(question)) or {term for word in words(question) for _, term in term_of(word)}
        self._known: dict[str, bool] = {}

    def pieces(self, text: str) -> Iterator[tuple[str, bool]]:
        """Split a text into pieces, each with True if it is a word of the question."""
        end = 0
        for match in _WORD.finditer(text) if self._wanted else ():
            word = match.group()
            if word not in self._known:
                self._known[word] = self._is_wanted(word)
            if not self._known[word]:
                continue
            if match.start() > end:
                yield text[end : match.start()], False
            yield word, True
            end = match.end()
        if end < len(text):
            yield text[end:], False

    def marked(self, text: str) -> Markup:
        """Escape a text and put the words of the question into <mark>."""
        return Markup("").join(
            Markup("<mark>{}</mark>").format(piece) if is_match else escape(piece)
            for piece, is_match in self.pieces(text)
        )

    def _is_wanted(self, word: str) -> bool:
        known = {term for part in words(word) if part not in STOP_WORDS for _, term in term_of(part)}
        return not known.isdisjoint(self._wanted)
