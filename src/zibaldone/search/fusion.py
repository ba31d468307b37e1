"""One ranking from several."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=Hashable)

K = 60  # the constant of Cormack, Clarke and Buettcher 2009, eq. 1


def reciprocal_rank(rankings: Sequence[Sequence[T]]) -> list[T]:
    """Items by the sum over rankings of 1 / (K + rank); ties in the order of first appearance.

    A single ranking comes back as it is.
    """
    if len(rankings) == 1:
        return list(rankings[0])
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (K + rank)
    return sorted(scores, key=lambda item: -scores[item])


def standardised(values: npt.NDArray[Any], among: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[Any]:
    """(n,) in standard deviations from the mean, so that scores of two kinds add up; 0 when all are equal.

    Mean and deviation are those of the values where `among` (n,) is true, if any is.
    """
    sample = values if among is None or not among.any() else values[among]
    deviation = values.dtype.type(sample.std())
    if deviation < 1e-9:
        return np.zeros_like(values)
    return np.asarray((values - sample.mean()) / deviation)
