"""Means with their intervals, percentiles, growth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
SEED = 20230508
_DRAWN_AT_ONCE = 1_000_000  # questions, so that they fit into memory however many there are


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over questions with its 95 % percentile-bootstrap interval."""

    value: float
    low: float
    high: float
    questions: int

    @classmethod
    def of(cls, values: Sequence[float], *, seed: int = SEED) -> Mean | None:
        """Resample the questions with replacement; None when there are none."""
        if not values:
            return None
        sample = np.asarray(values, dtype=np.float64)
        rng = np.random.default_rng(seed)
        at_once = max(1, _DRAWN_AT_ONCE // len(sample))
        means = [
            sample[rng.integers(0, len(sample), (min(at_once, RESAMPLES - begun), len(sample)))].mean(axis=1)
            for begun in range(0, RESAMPLES, at_once)
        ]
        low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
        return cls(float(sample.mean()), float(low), float(high), len(sample))


def percentile(values: Sequence[float], percent: float) -> float:
    """Linear interpolation between the nearest ranks; 0.0 of nothing."""
    return float(np.percentile(np.asarray(values), percent)) if len(values) else 0.0


def growth_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float | None:
    """The e of cost ~ size**e, by least squares on the logarithms; None below two usable points."""
    points = [(size, cost) for size, cost in zip(sizes, costs, strict=True) if size > 0 and cost > 0]
    if len({size for size, _ in points}) < 2:
        return None
    x, y = np.log(np.asarray(points)).T
    return float(np.polyfit(x, y, 1)[0])
