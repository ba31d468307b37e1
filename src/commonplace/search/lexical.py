"""An inverted index over one user's units: term frequencies, incremental, statistics of this user alone.

Ours because none of the kept engines fits (docs/log.md has the measurement): FTS5 keeps one statistic for
the whole table, tantivy pays milliseconds a commit and bm25s can neither add nor delete; and the ranking
has to be the same over SQLite and PostgreSQL.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

K1, B = 1.2, 0.75  # BM25's usual constants (Robertson and Zaragoza 2009)


class LexicalIndex:
    """Postings of rows 0 .. n-1. Rows are only appended; whoever deletes builds a new index."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        self._lengths = array("I")

    def __len__(self) -> int:
        """Rows indexed."""
        return len(self._lengths)

    def append(self, terms: Iterable[str]) -> list[str]:
        """Index the terms as the next row; returns those that are new to the index."""
        row, length, new = len(self._lengths), 0, []
        for term in terms:
            length += 1
            rows = self._rows.get(term)
            if rows is None:
                self._rows[term] = array("I", (row,))
                self._counts[term] = array("I", (1,))
                new.append(term)
            elif rows[-1] == row:
                self._counts[term][-1] += 1
            else:
                rows.append(row)
                self._counts[term].append(1)
        self._lengths.append(length)
        return new

    def df(self, term: str) -> int:
        """In how many rows the term occurs."""
        rows = self._rows.get(term)
        return len(rows) if rows is not None else 0

    def idf(self, term: str) -> float:
        """BM25's inverse document frequency, never negative."""
        df = self.df(term)
        return math.log(1 + (len(self) - df + 0.5) / (df + 0.5))

    def add_frequencies(self, term: str, weight: float, out: Floats) -> None:
        """Add `weight` times the term's frequency in each row to `out`, (n,)."""
        rows = self._rows.get(term)
        if rows is not None:
            out[np.array(rows)] += np.float32(weight) * np.array(self._counts[term], dtype=np.float32)

    def lengths(self) -> Floats:
        """(n,) how many terms each row has."""
        return np.array(self._lengths, dtype=np.float32)


def saturate(frequencies: Floats, lengths: Floats) -> Floats:
    """BM25's term weight without its idf: frequencies (n,) or (q, n), lengths (n,) of the same units."""
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1e-9))
    return np.asarray(frequencies * (K1 + 1) / (frequencies + norm + 1e-9), dtype=np.float32)
