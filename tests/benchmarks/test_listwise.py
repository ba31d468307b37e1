"""Fitting the ranking's weights."""

import numpy as np
import pytest

from benchmarks.listwise import contests, fit, loss


@pytest.fixture
def made_up():
    """Twenty queries over thirty items of four features; the first two features make two items relevant."""
    rng = np.random.default_rng(7)
    features = rng.normal(size=(20, 30, 4)).astype(np.float32)
    worth = features @ np.array([2.0, -1.0, 0.0, 0.0], dtype=np.float32) + rng.gumbel(size=(20, 30))
    return contests(list(features), [np.argsort(-row)[:2].tolist() for row in worth])


def test_fitting_finds_what_made_the_items_relevant(made_up):
    """A feature that helps, one that hurts and two that say nothing."""
    weights = fit([made_up], range(4))
    assert weights[0] > 0.5
    assert weights[1] < -0.3
    assert np.abs(weights[2:]).max() < 0.3


def test_gradient_and_hessian_are_those_of_the_loss(made_up):
    """By differences."""
    at, step = np.array([0.5, -0.2, 0.1, 0.3]), 1e-2
    _, gradient, hessian = loss([made_up], at)
    for axis, move in enumerate(step * np.eye(4)):
        above, below = loss([made_up], at + move), loss([made_up], at - move)
        assert (above[0] - below[0]) / (2 * step) == pytest.approx(gradient[axis], abs=1e-4)
        assert (above[1] - below[1]) / (2 * step) == pytest.approx(hessian[axis], abs=1e-3)
