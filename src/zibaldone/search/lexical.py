"""An inverted index over one user's units: term frequencies, incremental, statistics of this user alone.

Ours because none of the kept engines fits (docs/log.md has the measurement): FTS5 keeps one statistic for
the whole table, tantivy pays milliseconds a commit and bm25s can neither add nor delete; and the ranking
has to be the same over SQLite and PostgreSQL.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

K1, B = 1.2, 0.75  # BM25's usual constants (Robertson and Zaragoza 2009)


def saturated(frequencies: Doubles, relative_lengths: Floats, k1: float = K1, b: float = B) -> Doubles:
    """BM25 of rows by how often they have a term, before its idf; lengths in multiples of the mean one."""
    return frequencies * (k1 + 1) / (frequencies + k1 * (1 - b + b * relative_lengths))


def inverse_frequency(df: int, n: int) -> float:
    """BM25's inverse document frequency, never negative, of a term that `df` of `n` rows have."""
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


class LexicalIndex:
    """Postings of rows 0 .. n-1, in the order in which they were appended."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        self._lengths = array("I")

    def __len__(self) -> int:
        """Rows indexed."""
        return len(self._lengths)

    def append(self, terms: Sequence[str]) -> None:
        """Index the terms as the next row."""
        row = len(self._lengths)
        for term in terms:
            rows = self._rows.get(term)
            if rows is None:
                self._rows[term] = array("I", (row,))
                self._counts[term] = array("I", (1,))
            elif rows[-1] == row:
                self._counts[term][-1] += 1
            else:
                rows.append(row)
                self._counts[term].append(1)
        self._lengths.append(len(terms))

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Leave only the rows where the mask (n,) is true; those behind a removed row move up."""
        if mask.all():
            return
        first = int(np.argmin(mask))
        moved = np.cumsum(mask) - 1
        for term in [term for term, rows in self._rows.items() if rows[-1] >= first]:
            rows = np.array(self._rows[term])
            kept = mask[rows]
            if kept.any():
                self._rows[term] = array("I", moved[rows[kept]].tolist())
                self._counts[term] = array("I", np.array(self._counts[term])[kept].tolist())
            else:
                del self._rows[term], self._counts[term]
        self._lengths = array("I", np.array(self._lengths)[mask].tolist())

    def df(self, term: str) -> int:
        """In how many rows the term occurs."""
        rows = self._rows.get(term)
        return len(rows) if rows is not None else 0

    def idf(self, term: str) -> float:
        """BM25's inverse document frequency, never negative."""
        return inverse_frequency(self.df(term), len(self))

    def postings(self, term: str) -> tuple[Ints, Doubles]:
        """The rows that have the term, rising, and how often each has it."""
        rows = self._rows.get(term)
        if rows is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        return np.array(rows, dtype=np.int64), np.array(self._counts[term], dtype=np.float64)

    def lengths(self) -> Floats:
        """(n,) how many terms each row has."""
        return np.array(self._lengths, dtype=np.float32)
