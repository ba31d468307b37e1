"""Fitting the ranking's weights."""

import numpy as np
import pytest

from benchmarks.listwise import LineCounter, Prior, balanced, contests, fit, loss
from zibaldone.models.static import shared_static_embedder


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


def test_relevant_items_do_not_compete_with_each_other():
    """The other relevant item's features change nothing for the first one's odds."""
    one = contests([np.array([[1.0], [5.0], [0.0]], dtype=np.float32)], [[0, 1]])
    weights = np.array([1.0])
    by_hand = (np.log(1 + np.exp(0.0 - 1.0)) + np.log(1 + np.exp(0.0 - 5.0))) / 2
    assert loss([one], weights)[0] == pytest.approx(by_hand + 0.0005)


def test_a_feature_that_is_left_out_has_weight_zero(made_up):
    """And the others are fitted without it."""
    weights = fit([made_up], [0, 2])
    assert weights[[1, 3]].tolist() == [0.0, 0.0]
    assert weights[0] > 0.5


def test_a_feature_that_never_differs_has_weight_zero():
    """Nothing speaks for it."""
    features = np.array([[1.0, 3.0], [0.0, 3.0], [0.0, 3.0]], dtype=np.float32)
    assert fit([contests([features], [[0]])], range(2))[1] == 0.0


def test_a_group_of_contests_counts_as_much_as_another(made_up):
    """However many queries it has: the fit is that of one small and one large group, not of their sum."""
    rng = np.random.default_rng(1)
    few = contests([rng.normal(size=(30, 4)).astype(np.float32)], [[0]])
    weights = np.array([0.5, -0.2, 0.1, 0.3])
    value, gradient, _ = loss(balanced([[made_up], [few, few]]), weights)
    values, gradients = zip(*(loss([group], weights)[:2] for group in (made_up, few)), strict=True)
    assert value == pytest.approx(np.mean(values))
    assert gradient == pytest.approx(np.mean(gradients, axis=0), abs=1e-6)


def test_an_item_may_stand_for_several():
    """A sample weighs as much as what it was drawn from."""
    item, rival = np.array([[1.0]], dtype=np.float32), np.array([[0.5]], dtype=np.float32)
    all_items = contests([np.vstack([item, *[rival] * 7])], [[0]])
    sample = contests([np.vstack([item, rival, rival])], [[0]], np.array([1, 3.5, 3.5], dtype=np.float32))
    at = np.array([0.7])
    for of_all, of_sample in zip(loss([all_items], at), loss([sample], at), strict=True):
        assert of_sample == pytest.approx(of_all, abs=1e-6)


def test_the_start_of_a_fit_decides_nothing(made_up):
    """The loss has one minimum; what is not kept stays where one starts."""
    started = fit([made_up], [0, 1], np.array([3.0, 3.0, 0.0, 0.0]))
    assert started == pytest.approx(fit([made_up], [0, 1]), abs=1e-3)
    assert fit([made_up], [0], np.array([0.0, 3.0, 0.0, 0.0]))[1:].tolist() == [3.0, 0.0, 0.0]


def test_a_prior_holds_weights_of_which_data_say_nothing(made_up):
    """The stronger its ridge, the nearer they stay; without one they are drawn to 0."""
    towards = np.array([0.0, 0.0, 2.0, 2.0])
    loose, tight = (fit([made_up], range(4), prior=Prior(towards, ridge)) for ridge in (1e-3, 1e3))
    assert tight == pytest.approx(towards, abs=1e-2)
    assert np.abs(loose[2:]).max() < 1
    gradient = loss([made_up], loose, Prior(towards, 1e-3))[1]
    assert gradient == pytest.approx(np.zeros(4), abs=1e-4)


@pytest.mark.parametrize("text", ["", "\n", "Ann: Hi!", "Mon 8 May\nAnn: Hi!\n\n  Ben: a — b\n", "\nx"])
def test_tokens_add_up_over_lines(text):
    """Or else the budgets here would not be those of the engine."""
    tokenizer = shared_static_embedder()
    assert LineCounter(tokenizer)(text) == tokenizer.count([text])[0]
