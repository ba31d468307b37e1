"""Means, intervals, growth."""

import pytest

from zibaldone.bench.stats import Mean, growth_exponent, percentile


def test_the_interval_holds_the_mean_and_is_repeatable():
    """The same questions give the same interval, run after run."""
    values = [0.0, 1.0] * 50
    mean = Mean.of(values)
    assert mean.low < mean.value == 0.5 < mean.high
    assert mean == Mean.of(values)


def test_the_interval_has_the_width_of_the_normal_approximation():
    """For 400 coin throws, 1.96 standard errors are 0.049 on each side."""
    mean = Mean.of([0.0, 1.0] * 200)
    assert mean.high - mean.low == pytest.approx(0.098, abs=0.01)


def test_nothing_has_no_mean():
    """None is told apart from zero."""
    assert Mean.of([]) is None


def test_percentiles_interpolate():
    """And are 0 of nothing."""
    assert percentile([1.0, 3.0], 50) == 2.0
    assert percentile([], 95) == 0.0


def test_growth_is_the_exponent_of_the_size():
    """Ten times the messages at a hundred times the cost is a square."""
    assert growth_exponent([10, 100, 1000], [1, 100, 10000]) == pytest.approx(2.0)


def test_one_size_has_no_growth():
    """A slope needs two points."""
    assert growth_exponent([10], [1]) is None
