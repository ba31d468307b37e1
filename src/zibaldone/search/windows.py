"""Units before and behind each unit in its session, as ranges of one order."""

from __future__ import annotations

import numpy as np

from zibaldone.search.lexical import Doubles, Floats, Ints


class Windows:
    """For each of n rows the rows up to `radius` before and behind it in its session.

    `order` lists the rows session by session and chronologically inside each; `starts` and `ends` are, per
    place in that order, where its session begins and ends. `lengths` are the rows' lengths in terms.
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
        inside = self.sum(lengths)
        self.relative_lengths = inside / max(float(inside.mean()), 1e-9) if n else inside

    def sum(self, values: Floats) -> Floats:
        """(n,) the sum of `values` over each row's window."""
        if self._radius == 0:
            return values
        sums = np.zeros(self._n + 1)
        np.cumsum(values[self._order], out=sums[1:])
        return np.asarray(sums[self._high] - sums[self._low], dtype=np.float32)

    def spread(self, rows: Ints, values: Doubles) -> Doubles:
        """(n,) the sum over each row's window of few values, given by their rows.

        A window holds a row when the row's window holds it: each value is added where its own window begins
        and taken away where it ends, and the running sum is the answer.
        """
        if self._radius == 0:
            return np.asarray(np.bincount(rows, values, self._n), dtype=np.float64)
        begun = np.bincount(self._low[rows], values, self._n + 1)
        ended = np.bincount(self._high[rows], values, self._n + 1)
        result = np.empty(self._n)
        # Differences of sums leave crumbs where nothing is.
        result[self._order] = np.maximum(np.cumsum(begun - ended)[: self._n], 0)
        return np.where(result < 1e-9, 0.0, result)
