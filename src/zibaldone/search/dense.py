"""Exact vector search over one user's units: a matrix in memory and one product per query."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from zibaldone.models.base import Vectors

_STORED = np.dtype("<f2")  # half precision: unit vectors keep 3 digits, half the bytes
BYTES = _STORED.itemsize  # per number as stored


def to_bytes(vector: Vectors) -> bytes:
    """(d,) float32 as stored."""
    return vector.astype(_STORED).tobytes()


def from_bytes(stored: list[bytes], dimension: int) -> Vectors:
    """(n, d) float32 from n stored vectors; unit length again, zero rows stay zero."""
    rows = np.frombuffer(b"".join(stored), dtype=_STORED).reshape(len(stored), dimension).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, norms, out=rows, where=norms > 0)
    return rows


def products(rows: Vectors, vector: Vectors) -> Vectors:
    """(n,) each of the rows (n, d) times a vector (d,), in this thread.

    BLAS would share `rows @ vector` out among threads, which is no quicker, since it waits for memory, and
    they spin while they wait for each other: on a busy machine that takes many times as long as the product.
    """
    return np.asarray(np.vecdot(rows, vector), dtype=np.float32)


class Matrix:
    """Rows that grow at the end, in one block of memory with room to spare."""

    def __init__(self, dimension: int, rows: Vectors | None = None) -> None:
        """Begins with these rows (n, d), which are changed in place."""
        self._block = np.zeros((0, dimension), dtype=np.float32) if rows is None else rows
        self._n = len(self._block)

    @property
    def rows(self) -> Vectors:
        """(n, d) what is in; valid until the next `extend`."""
        return self._block[: self._n]

    @property
    def nbytes(self) -> int:
        """Of memory, with the room to spare."""
        return self._block.nbytes

    def extend(self, rows: Vectors) -> None:
        """Append rows (k, d)."""
        needed = self._n + len(rows)
        if needed > len(self._block):
            block = np.zeros((max(needed, len(self._block) * 3 // 2), self._block.shape[1]), dtype=np.float32)
            block[: self._n] = self.rows
            self._block = block
        self._block[self._n : needed] = rows
        self._n = needed

    def keep(self, mask: npt.NDArray[np.bool_]) -> None:
        """Leave only the rows where the mask (n,) is true."""
        self._block = self.rows[mask]
        self._n = len(self._block)
