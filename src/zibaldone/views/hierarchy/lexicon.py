"""Words of a level's texts, in segments: what is indexed stays as it is, and what is new stands behind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.search.lexical import K1, B, Doubles, LexicalIndex
from zibaldone.text.words import STOP_WORDS, term_of, words

_LARGER = 4  # times what is behind it: a smaller segment is made anew together with that


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Rows 0 .. n-1, the names of those who talk left out; never changed once made."""

    texts: tuple[str, ...]
    names: frozenset[str]
    segments: tuple[LexicalIndex, ...]  # one after the other, in the order of the texts

    def __len__(self) -> int:
        return len(self.texts)

    @staticmethod
    def of(texts: Sequence[str], names: frozenset[str], before: Lexicon | None = None) -> Lexicon:
        """Of these texts; segments of `before` whose texts are the first of these are taken over."""
        texts = tuple(texts)
        kept: list[LexicalIndex] = []
        start = 0
        if before is not None and before.names == names:
            for segment in before.segments:
                end = start + len(segment)
                if before.texts[start:end] != texts[start:end]:
                    break
                kept.append(segment)
                start = end
        new = len(texts) - start
        while new and kept and len(kept[-1]) <= _LARGER * (len(texts) - start):
            start -= len(kept.pop())
        fresh = [] if kept and not new else [_indexed(texts[start:], names)]
        return Lexicon(texts, names, (*kept, *fresh))

    def and_of(self, texts: Sequence[str]) -> Lexicon:
        """With these texts behind, for one question."""
        if not texts:
            return self
        return Lexicon((*self.texts, *texts), self.names, (*self.segments, _indexed(texts, self.names)))

    def idf(self, term: str) -> float:
        """BM25's inverse document frequency, over all segments."""
        df = sum(segment.df(term) for segment in self.segments)
        return float(np.log1p((len(self) - df + 0.5) / (df + 0.5)))

    def scores(self, sought: Iterable[str]) -> tuple[Doubles, Doubles]:
        """(n,) BM25, and the share of what is sought, by weight, that each row has."""
        n = len(self)
        found, covered, whole = np.zeros(n), np.zeros(n), 0.0
        lengths = np.concatenate([segment.lengths() for segment in self.segments]).astype(np.float64)
        relative = lengths / max(float(lengths.mean()), 1e-9) if n else lengths
        for term in dict.fromkeys(sought):
            idf, start = self.idf(term), 0
            whole += idf
            for segment in self.segments:
                rows, counts = segment.postings(term)
                rows = rows + start
                start += len(segment)
                covered[rows] += idf
                found[rows] += idf * (K1 + 1) * counts / (counts + K1 * (1 - B + B * relative[rows]))
        return found, covered / max(whole, 1e-9)


def plain_terms(text: str, names: Collection[str]) -> list[str]:
    """The terms of a text without these words: the speakers' names are in every other text."""
    said = [word for word in words(text) if word not in STOP_WORDS and word not in names]
    return [term for word in said for _, term in term_of(word)]


def _indexed(texts: Iterable[str], names: Collection[str]) -> LexicalIndex:
    index = LexicalIndex()
    for text in texts:
        index.append(plain_terms(text, names))
    return index
