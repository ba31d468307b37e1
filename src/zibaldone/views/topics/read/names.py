"""Names in entries: runs of words that this user's memory writes with a capital letter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import regex

from zibaldone.text.words import STOP_WORDS

Name = tuple[str, ...]  # its words, as they are written

_TOKEN = regex.compile(r"[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}]")
_JOINS = frozenset("of to near the de del la le van von der den and in".split())
_POSSESSIVE = regex.compile(r"['’]s?$")


class Casing:
    """How often a word stands with a capital letter inside a sentence, and without one."""

    def __init__(self, parts: Iterable[Casing] = (), texts: Iterable[str] = ()) -> None:
        self.capital: Counter[str] = Counter()
        self.small: Counter[str] = Counter()
        for part in parts:
            self.capital.update(part.capital)
            self.small.update(part.small)
        for text in texts:
            tokens = _TOKEN.findall(text)
            for at, word in enumerate(tokens):
                if word[0].isalpha() and not word[0].isupper():
                    self.small[word.casefold()] += 1
                elif word[0].isalpha() and at and tokens[at - 1].isalnum():
                    self.capital[word] += 1

    def names(self, text: str) -> list[Name]:
        """The words of each name in the text, without possessive endings.

        Two names with a joining word between them, as in `Isle of Man`, are given as one name too, and first.
        """
        tokens = [_POSSESSIVE.sub("", token) for token in _TOKEN.findall(text)]
        marks: list[bool] = []
        for at, token in enumerate(tokens):
            # What follows a name with a capital is part of it, as in `Acme Works`.
            goes_on = at > 0 and marks[at - 1] and token[:1].isupper() and token.isalpha()
            marks.append(goes_on or self._is_name(tokens, at))
        runs: list[tuple[int, int]] = []
        at = 0
        while at < len(tokens):
            if not marks[at]:
                at += 1
                continue
            end = at
            while end < len(tokens) and marks[end]:
                end += 1
            runs.append((at, end))
            at = end
        joined = [
            (start, end)
            for (start, stop), (again, end) in pairwise(runs)
            if again - stop == 1 and tokens[stop].casefold() in _JOINS
        ]
        return list(dict.fromkeys(tuple(tokens[start:end]) for start, end in (*joined, *runs)))

    def _is_name(self, tokens: list[str], at: int) -> bool:
        word = tokens[at]
        if not word or not word[0].isalpha() or not word[0].isupper():
            return False
        low = word.casefold()
        capital, small = self.capital[word], self.small[low]
        if at and tokens[at - 1].isalnum():
            return capital >= small and word != "I"
        if low in STOP_WORDS:
            return False
        follows = at + 1 < len(tokens) and tokens[at + 1][:1].isupper()
        return capital > small or (not small and not capital and follows)
