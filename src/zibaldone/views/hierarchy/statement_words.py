"""Which semantics say a term: which of them say all of some is asked of each statement.

Terms are few that occur often. So the rarest of a statement's leaves a handful of semantics to look at,
however many there are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import numpy as np
import numpy.typing as npt


class StatementWords:
    """Ids of semantics by what they say; four bytes each."""

    def __init__(self) -> None:
        self._ids: dict[str, array[int]] = {}  # rising

    def add(self, semantic: int, terms: Iterable[str]) -> None:
        """It says this, too."""
        for term in terms:
            ids = self._ids.setdefault(term, array("I"))
            place = bisect_left(ids, semantic)
            if place == len(ids) or ids[place] != semantic:
                ids.insert(place, semantic)

    def remove(self, semantic: int, terms: Iterable[str]) -> None:
        """It says this no more."""
        for term in terms:
            ids = self._ids[term]
            del ids[bisect_left(ids, semantic)]
            if not ids:
                del self._ids[term]

    def saying_all(self, terms: AbstractSet[str]) -> npt.NDArray[np.uint32]:
        """Ids of semantics, rising, that say all of this, at least one term."""
        held = [ids for term in terms if (ids := self._ids.get(term))]
        if len(held) < len(terms):
            return np.empty(0, dtype=np.uint32)
        rarest, *others = sorted((np.frombuffer(ids, np.uint32) for ids in held), key=len)
        left = rarest.copy()  # an array of `array` that is seen through cannot grow
        for row in others:
            left = left[row.take(np.searchsorted(row, left), mode="clip") == left]
        return left
