"""Exact vector search over one user's units: a matrix in memory and one product per query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from zibaldone.models.base import Vectors
from zibaldone.models.embedding import unit
from zibaldone.search.saved import SavedIndex

T = TypeVar("T", bound=np.generic)
Codes = npt.NDArray[np.int8]
_STORED = np.dtype("<f2")  # half precision: unit vectors keep 3 digits, half the bytes
BYTES = _STORED.itemsize  # per number as stored
_MOST = 127  # of a code
_AT_A_TIME = 512  # rows as plain numbers: half a megabyte, which stays in the processor's cache


def to_bytes(vector: Vectors) -> bytes:
    """(d,) float32 as stored."""
    return vector.astype(_STORED).tobytes()


def from_bytes(stored: list[bytes], dimension: int) -> Vectors:
    """(n, d) float32 from n stored vectors; unit length again, zero rows stay zero."""
    rows = np.frombuffer(b"".join(stored), dtype=_STORED).reshape(len(stored), dimension).astype(np.float32)
    return unit(rows)


def products(rows: Vectors, vector: Vectors) -> Vectors:
    """(n,) each of the rows (n, d) times a vector (d,), in this thread.

    BLAS would share `rows @ vector` out among threads, which is no quicker, since it waits for memory, and
    they spin while they wait for each other: on a busy machine that takes many times as long as the product.
    """
    return np.asarray(np.vecdot(rows, vector), dtype=np.float32)


class Matrix:
    """Rows of unit length, or zero, in a byte a number; they grow at the end, in memory with room to spare.

    A row is its codes, whole numbers up to 127, times a factor that makes its length 1 again. Its direction
    is off by so little that a cosine of 256 numbers is off by 0.0004 (one standard deviation).
    """

    def __init__(self, dimension: int, saved: Sequence[SavedIndex] = ()) -> None:
        """Empty, or as it was saved; the rows of a single segment are changed in place."""
        codes = [part["vectors.codes"] for part in saved] or [np.zeros((0, dimension), dtype=np.int8)]
        factors = [part["vectors.factors"] for part in saved] or [np.zeros(0, dtype=np.float32)]
        self._codes: Codes = codes[0] if len(codes) == 1 else np.concatenate(codes)
        self._factors: Vectors = factors[0] if len(factors) == 1 else np.concatenate(factors)
        self._n = len(self._codes)

    def __len__(self) -> int:
        """Rows in it."""
        return self._n

    @property
    def dimension(self) -> int:
        """Numbers in a row."""
        return int(self._codes.shape[1])

    @property
    def rows(self) -> Vectors:
        """(n, d) all of them, as plain numbers: four times as much memory."""
        return self.at(slice(self._n))

    @property
    def nbytes(self) -> int:
        """Bytes of memory, spare room included."""
        return self._codes.nbytes + self._factors.nbytes

    def at(self, rows: slice | npt.NDArray[np.integer]) -> Vectors:
        """(k, d) some of the rows, as plain numbers."""
        return self._codes[: self._n][rows] * self._factors[: self._n][rows, None]

    def has(self, rows: slice | npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """(k,) which of these are not zero."""
        return np.asarray(self._factors[: self._n][rows] > 0)

    def products(self, vector: Vectors, rows: npt.NDArray[np.integer] | None = None) -> Vectors:
        """(n,) each of the rows, or (k,) of some, times a vector (d,)."""
        count = self._n if rows is None else len(rows)
        of_rows = np.empty(count, dtype=np.float32)
        plain = np.empty((_AT_A_TIME, self.dimension), dtype=np.float32)
        for piece in _pieces(count):
            codes = self._codes[piece] if rows is None else self._codes[rows[piece]]
            here = plain[: len(codes)]
            np.copyto(here, codes)
            np.vecdot(here, vector, out=of_rows[piece])
        of_rows *= self._factors[: self._n] if rows is None else self._factors[rows]
        return of_rows

    def total(self, among: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """(d,) the sum of the rows where `among` (n,) is true."""
        factors, total = self._factors[: self._n] * among, np.zeros(self.dimension)
        for piece in _pieces(self._n):
            total += np.einsum("i,ij->j", factors[piece], self._codes[piece].astype(np.float32))
        return total

    def extend(self, rows: Vectors) -> None:
        """Append rows (k, d)."""
        needed = self._n + len(rows)
        if needed > len(self._codes):
            room = max(needed, len(self._codes) * 3 // 2)
            self._codes = _longer(self._codes[: self._n], room)
            self._factors = _longer(self._factors[: self._n], room)
        self._n = needed
        self.put(slice(needed - len(rows), needed), rows)

    def put(self, where: slice | npt.NDArray[np.integer] | list[int], rows: Vectors) -> None:
        """Give rows (k, d) that are there other numbers."""
        places = np.arange(self._n)[where]
        for first in range(0, len(rows), _AT_A_TIME):
            here = places[first : first + _AT_A_TIME]
            self._codes[here], self._factors[here] = _coded(rows[first : first + _AT_A_TIME])

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Leave only the rows where the mask (n,) is true."""
        self._codes, self._factors = self._codes[: self._n][mask], self._factors[: self._n][mask]
        self._n = len(self._codes)

    def save(self, saved: SavedIndex, first: int = 0) -> None:
        """Put the rows from the first on there."""
        saved["vectors.codes"] = self._codes[first : self._n]
        saved["vectors.factors"] = self._factors[first : self._n]


def _pieces(count: int) -> Iterator[slice]:
    """Ranges of rows, of which a plain copy is made at a time."""
    for begin in range(0, count, _AT_A_TIME):
        yield slice(begin, min(begin + _AT_A_TIME, count))


def _coded(rows: Vectors) -> tuple[Codes, Vectors]:
    """Codes (k, d), and factors (k,)."""
    highest = np.abs(rows).max(axis=1, keepdims=True, initial=0)
    codes = np.zeros(rows.shape, dtype=np.float32)
    np.divide(rows * np.float32(_MOST), highest, out=codes, where=highest > 0)
    np.rint(codes, out=codes)
    lengths = np.sqrt(np.einsum("ij,ij->i", codes, codes))
    factors = np.zeros(len(rows), dtype=np.float32)
    np.divide(np.float32(1), lengths, out=factors, where=lengths > 0)
    return codes.astype(np.int8), factors


def _longer(array: npt.NDArray[T], length: int) -> npt.NDArray[T]:
    longer = np.zeros((length, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
