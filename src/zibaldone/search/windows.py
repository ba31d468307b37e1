"""Units before and behind each unit in its session, as ranges of one order."""

from __future__ import annotations

import numpy as np

from zibaldone.search.lexical import Doubles, Floats, Ints

_CRUMB = 1e-9  # what differences of sums leave where nothing is


class Windows:
    """Windows of n rows: of each, the rows up to `radius` before and behind it in its stretch of the order.

    `order` lists the rows session by session and chronologically inside each; `starts` and `ends` are, per
    place in that order, where its stretch begins and ends: a session, or a message in it. `lengths` are the
    rows' lengths in terms. Not safe among threads.
    """

    def __init__(self, radius: int, order: Ints, starts: Ints, ends: Ints, lengths: Floats) -> None:
        n = len(order)
        places = np.arange(n)
        self._n = n
        self._radius = radius
        self._order = order
        # Per row: its window is order[low:high].
        self._low = np.empty(n, dtype=np.int64)
        self._high = np.empty(n, dtype=np.int64)
        self._low[order] = np.maximum(starts, places - radius)
        self._high[order] = np.minimum(ends, places + radius + 1)
        self.sizes = (self._high - self._low).astype(np.float32)
        self._alone = bool((self.sizes == 1).all())
        inside = self.sum(lengths)
        self.relative_lengths = inside / max(float(inside.mean()), 1e-9) if n else inside

    @property
    def nbytes(self) -> int:
        """Bytes of memory, without the order, which all windows share."""
        arrays = (self._low, self._high, self.sizes, self.relative_lengths)
        return sum(array.nbytes for array in arrays)

    def sum(self, values: Floats) -> Floats:
        """(n,) the sum of `values` over each row's window."""
        if self._alone:
            return values
        sums = np.zeros(self._n + 1)
        np.cumsum(values[self._order], out=sums[1:])
        return np.asarray(sums[self._high] - sums[self._low], dtype=np.float32)

    def spread(self, rows: Ints, values: Doubles) -> tuple[Ints, Doubles]:
        """Few values, given by their rows, summed over each row's window: the rows with a sum, and the sums.

        A row may come more than once, with the same sum each time. A window holds a row when the row's
        window holds it: a value is added in every row of its window, or, where there are many, where its
        window begins, and taken away where it ends: then the running sum is the answer.
        """
        if self._alone:
            return self._summed(rows, values)
        if len(rows) * (2 * self._radius + 1) < self._n:
            low = self._low[rows]
            widths = self._high[rows] - low
            ends = np.cumsum(widths)
            places = np.repeat(low - ends + widths, widths) + np.arange(ends[-1] if len(ends) else 0)
            return self._summed(self._order[places], np.repeat(values, widths))
        begun = np.bincount(self._low[rows], values, self._n + 1)
        ended = np.bincount(self._high[rows], values, self._n + 1)
        sums = np.cumsum(begun - ended)[: self._n]
        places = np.flatnonzero(sums > _CRUMB)
        return self._order[places], sums[places]

    def _summed(self, rows: Ints, values: Doubles) -> tuple[Ints, Doubles]:
        return rows, np.bincount(rows, values, self._n).astype(np.float64, copy=False)[rows]
