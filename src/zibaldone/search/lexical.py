"""An inverted index over one user's units: term frequencies, incremental, statistics of this user alone.

Ours because none of the kept engines fits (docs/decisions.md): FTS5 keeps one statistic for the whole
table, tantivy pays milliseconds a commit and bm25s can neither add nor delete; and the ranking
has to be the same over SQLite and PostgreSQL.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zibaldone.search.saved import PackedTexts, SavedIndex, in_byte_order
from zibaldone.text.keywords import inverse_frequency

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_RANGES = 4096  # of saved terms that are kept in mind: finding one takes as long as its postings
_TERM_BYTES, _POSTING_BYTES = 420, 9  # of a term: two arrays, their places in two tables, its letters
K1, B = 1.2, 0.75  # BM25's usual constants (Robertson and Zaragoza 2009)


def damping(relative_lengths: Floats, k1: float = K1, b: float = B) -> Floats:
    """The part of BM25 that a row's length has, in multiples of the mean one: the same for all terms."""
    return k1 * (1 - b + b * relative_lengths)


def saturated(frequencies: Doubles, damped: Floats, k1: float = K1) -> Doubles:
    """BM25 of rows by how often they have a term, before its idf; `damped` is their `damping`."""
    return frequencies * (k1 + 1) / (frequencies + damped)


class LexicalIndex:
    """Postings of rows 0 .. n-1, in the order in which they were appended; the first may be saved ones."""

    def __init__(self, saved: Sequence[SavedIndex] = ()) -> None:
        self._saved: list[_SavedPostings] = []  # segments, one behind the other
        self._rows: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}
        self._postings = 0  # in these; saved ones are not among them
        self._lengths = array("I")
        for part in saved:
            self._saved.append(_SavedPostings(part, len(self._lengths)))
            self._lengths += _whole(part["lexical.lengths"])

    def __len__(self) -> int:
        """Rows indexed."""
        return len(self._lengths)

    def extend(
        self,
        of_rows: Sequence[Sequence[str]],
        terms_of: Callable[[str], Sequence[str]] = lambda term: (term,),
    ) -> None:
        """Index the words of the next rows, each as its terms."""
        for row, words in enumerate(of_rows, len(self._lengths)):
            counts: Counter[str] = Counter()
            for word, count in Counter(words).items():
                for term in terms_of(word):
                    counts[term] += count
            for term, count in counts.items():
                self._rows.setdefault(term, array("I")).append(row)
                self._counts.setdefault(term, array("I")).append(count)
            self._postings += len(counts)
            self._lengths.append(counts.total())

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Leave only the rows where the mask (n,) is true; those behind a removed row move up."""
        if mask.all():
            return
        first = int(np.argmin(mask))
        moved = np.cumsum(mask) - 1
        self._saved = [part.keep(mask, moved) for part in self._saved]
        for term in [term for term, rows in self._rows.items() if rows[-1] >= first]:
            rows = np.array(self._rows[term])
            kept = mask[rows]
            if kept.any():
                self._rows[term] = array("I", moved[rows[kept]].tolist())
                self._counts[term] = array("I", np.array(self._counts[term])[kept].tolist())
            else:
                del self._rows[term], self._counts[term]
        self._lengths = _whole(np.array(self._lengths)[mask])
        self._postings = sum(map(len, self._rows.values()))

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about; what was saved is not counted."""
        lengths = 4 * len(self._lengths)
        return _TERM_BYTES * len(self._rows) + _POSTING_BYTES * self._postings + lengths

    def df(self, term: str) -> int:
        """Number of rows in which the term occurs."""
        rows = self._rows.get(term)
        return (len(rows) if rows is not None else 0) + sum(part.df(term) for part in self._saved)

    def idf(self, term: str) -> float:
        """BM25's inverse document frequency, never negative."""
        return inverse_frequency(self.df(term), len(self))

    def postings(self, term: str) -> tuple[Ints, Doubles]:
        """The rows that have the term, rising, and how often each has it."""
        parts = [part.postings(term) for part in self._saved]
        if (rows := self._rows.get(term)) is not None:
            parts.append((np.array(rows, dtype=np.int64), np.array(self._counts[term], dtype=np.float64)))
        if len(parts) == 1:
            return parts[0]
        of_parts, counts = zip((np.zeros(0, dtype=np.int64), np.zeros(0)), *parts, strict=True)
        return np.concatenate(of_parts), np.concatenate(counts)

    def lengths(self) -> Floats:
        """(n,) how many terms each row has."""
        return np.array(self._lengths, dtype=np.float32)

    def save(self, saved: SavedIndex, kept: int = 0) -> None:
        """Put the postings behind the first `kept` segments there."""
        first = self._saved[kept].first if kept < len(self._saved) else self._saved_rows
        sizes = np.array([len(rows) for rows in self._rows.values()], dtype=np.int64)
        own = _Postings(list(self._rows), sizes, _joined(self._rows.values()), _joined(self._counts.values()))
        _put(saved, [*(part.all() for part in self._saved[kept:]), own], first)
        saved.put_numbers("lexical.lengths", _joined([self._lengths[first:]]))

    @property
    def _saved_rows(self) -> int:
        return self._saved[-1].end if self._saved else 0


@dataclass(frozen=True, slots=True)
class _Postings:
    terms: list[str]
    sizes: Ints  # (terms,) how many rows have each
    rows: npt.NDArray[np.integer[Any]]  # of the first term, then of the second ...
    counts: npt.NDArray[np.integer[Any]]


def _put(saved: SavedIndex, parts: Sequence[_Postings], first: int) -> None:
    """Put postings there, of which those of a later part are of later rows; the row `first` becomes 0."""
    terms = in_byte_order(list({term for part in parts for term in part.terms}))
    place = {term: number for number, term in enumerate(terms)}
    term_of = np.concatenate(
        [np.repeat(np.array([place[t] for t in part.terms], dtype=np.int64), part.sizes) for part in parts]
    )
    order = np.argsort(term_of, kind="stable")
    rows, counts = (np.concatenate([getattr(p, name) for p in parts])[order] for name in ("rows", "counts"))
    sizes = np.bincount(term_of, minlength=len(terms))
    saved.put_texts("lexical.terms", PackedTexts.of(terms))
    saved.put_numbers("lexical.rows", rows.astype(np.int64) - first)
    saved.put_numbers("lexical.counts", counts)
    saved.put_numbers("lexical.ends", np.cumsum(sizes))


class _SavedPostings:
    """Terms in the order of their bytes; of each, rows[begin:end] and counts[begin:end]."""

    def __init__(self, saved: SavedIndex, first: int) -> None:
        """`first` is the row of the index that is row 0 here."""
        self._terms, self._ends = saved.texts("lexical.terms"), saved["lexical.ends"]
        self._rows, self._counts = saved["lexical.rows"], saved["lexical.counts"]
        self.first, self.end = first, first + len(saved["lexical.lengths"])
        self._ranges: dict[str, tuple[int, int]] = {}  # of terms that were asked for

    def all(self) -> _Postings:
        """All postings, by rows of the index."""
        ends = self._ends.astype(np.int64)
        sizes = np.diff(ends, prepend=0)
        rows = self._rows.astype(np.int64) + self.first
        return _Postings(list(self._terms), sizes, rows, self._counts)

    def keep(self, mask: npt.NDArray[np.bool_], moved: Ints) -> _SavedPostings:
        """Copy the rows of the index where the mask is true, which are now the rows `moved`."""
        whole, left = self.all(), SavedIndex()
        stays = mask[whole.rows]
        sizes = np.bincount(
            np.repeat(np.arange(len(whole.sizes)), whole.sizes)[stays], minlength=len(whole.sizes)
        )
        terms = [term for term, size in zip(whole.terms, sizes.tolist(), strict=True) if size]
        first = int(np.count_nonzero(mask[: self.first]))
        _put(left, [_Postings(terms, sizes[sizes > 0], moved[whole.rows[stays]], whole.counts[stays])], first)
        left["lexical.lengths"] = np.zeros(np.count_nonzero(mask[self.first : self.end]), dtype=np.uint8)
        return _SavedPostings(left, first)

    def df(self, term: str) -> int:
        begin, end = self._range(term)
        return end - begin

    def postings(self, term: str) -> tuple[Ints, Doubles]:
        begin, end = self._range(term)
        rows = self._rows[begin:end].astype(np.int64) + self.first
        return rows, self._counts[begin:end].astype(np.float64)

    def _range(self, term: str) -> tuple[int, int]:
        known = self._ranges.get(term)
        if known is None:
            place = self._terms.place_of(term)
            begin = int(self._ends[place - 1]) if place else 0
            known = (0, 0) if place is None else (begin, int(self._ends[place]))
            if len(self._ranges) >= _MOST_RANGES:
                self._ranges.clear()
            self._ranges[term] = known
        return known


def _whole(numbers: npt.NDArray[Any]) -> array[int]:
    return array("I", numbers.astype(np.uint32).tobytes())


def _joined(parts: Iterable[array[int]]) -> npt.NDArray[np.uint32]:
    return np.frombuffer(b"".join(part.tobytes() for part in parts), dtype=np.uint32)
