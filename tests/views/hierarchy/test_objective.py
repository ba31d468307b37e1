"""f of Eqs. 1-3: by hand, and the same when it is kept up to date as when it is computed from scratch."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.views.hierarchy.objective import (
    EPSILON,
    Objective,
    Regrouping,
    g,
    group,
    objective,
    semantic,
    sparsity,
)


def unit(rows):
    """Rows of unit length."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_sparsity():
    """Eq. 2: N^2 / (K sum n_k^2), 1 for even sizes and less for uneven ones."""
    assert sparsity(np.array([3, 3, 3])) == 1
    assert sparsity(np.array([1, 2, 3])) == 36 / (3 * 14)


def test_g_by_hand():
    """Eq. 3: m is the median, sigma the median absolute deviation plus epsilon, without a factor for it."""
    found = g(np.array([0.1, 0.4, 0.5, 0.9, 0.8]))
    sigma = 0.3 + EPSILON
    expected = [math.exp(-((s - 0.5) ** 2) / (2 * sigma**2)) for s in (0.1, 0.4, 0.5, 0.9, 0.8)]
    assert found == pytest.approx(expected, rel=1e-12)


def test_g_of_an_even_number_of_themes():
    """The median of four is the mean of the two in the middle."""
    sigma = 0.15 + EPSILON
    expected = [math.exp(-(off**2) / (2 * sigma**2)) for off in (0.25, 0.05, 0.05, 0.35)]
    assert g(np.array([0.3, 0.5, 0.6, 0.9])) == pytest.approx(expected, rel=1e-9)


def test_semantic_by_hand():
    """Three themes in the plane: mean cosine to the centroid, times g of the nearest centroid's cosine."""
    angles = np.radians([0, 20, 90, 180, 200, 220])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    value = objective(vectors, [[0, 1], [2], [3, 4, 5]])
    cohesion = np.array([math.cos(math.radians(10)), 1, (1 + 2 * math.cos(math.radians(20))) / 3])
    nearest = np.array([math.cos(math.radians(a)) for a in (80, 80, 110)])  # centroids at 10, 90, 200 degrees
    assert value == pytest.approx(36 / (3 * 14) + semantic(cohesion, nearest), abs=1e-3)
    assert g(nearest)[2] == 0  # more than half of the themes have one s: sigma is epsilon alone


def test_a_lone_theme_is_not_punished():
    """With one theme s is undefined and g is 1; no theme at all scores 0."""
    vectors = unit(np.random.default_rng(0).normal(size=(4, 8)))
    total = np.linalg.norm(vectors.sum(axis=0, dtype=np.float64))
    assert objective(vectors, [[0, 1, 2, 3]]) == pytest.approx(1 + total / 4, rel=1e-6)
    assert objective(vectors, []) == 0
    kept = Objective(8)
    assert kept.value() == 0
    kept.change({1: group(vectors)})
    assert kept.value() == pytest.approx(objective(vectors, [[0, 1, 2, 3]]), rel=1e-12)


def test_a_zero_row_has_no_cosine():
    """A text that says nothing adds 0 to its theme's cohesion."""
    vectors = np.array([[1, 0], [0, 0]], dtype=np.float32)
    assert group(vectors).cohesion == 0.5
    assert objective(vectors, [[0], [1]]) == pytest.approx(1 + 0.5)


operations = st.lists(st.integers(0, 2**32), min_size=1, max_size=12)


@settings(max_examples=120, deadline=None)
@given(operations, st.sampled_from([2, 8, 32]))
def test_incremental_equals_from_scratch(seeds, dimension):
    """Whatever themes came, changed and went: f kept up equals f from scratch, and so do foretold values."""
    kept, themes, vectors, last = Objective(dimension), {}, np.zeros((0, dimension), np.float32), 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        gone = tuple(theme for theme in themes if rng.random() < 0.3)
        groups = []
        for _ in range(rng.integers(1, 5)):
            new = unit(rng.normal(size=(int(rng.integers(1, 6)), dimension)) + rng.normal(size=dimension))
            groups.append(list(range(len(vectors), len(vectors) + len(new))))
            vectors = np.concatenate([vectors, new])
        stay = gone[:1]  # one of them changes instead
        candidates = [
            Regrouping(gone, tuple(group(vectors[rows]) for rows in groups)),
            Regrouping((), (group(vectors[groups[0]]),)),
        ]
        before = objective(vectors, list(themes.values()))
        foretold = kept.after(candidates)
        assert kept.value() == pytest.approx(before, rel=1e-9)
        aside = objective(vectors, [*themes.values(), groups[0]])
        assert foretold[1] == pytest.approx(aside, rel=1e-9)
        ids = [*stay, *range(last + 1, last + 1 + len(groups) - len(stay))]
        last = max(last, *ids)
        put = dict(zip(ids, groups, strict=True))
        kept.change({theme: group(vectors[rows]) for theme, rows in put.items()}, gone[len(stay) :])
        for theme in gone:
            del themes[theme]
        themes |= put
        scratch = objective(vectors, list(themes.values()))
        assert kept.value() == pytest.approx(scratch, rel=1e-9)
        assert foretold[0] == pytest.approx(scratch, rel=1e-9)


def test_restored():
    """From its groups, with or without stored neighbours, an objective is what it was."""
    rng = np.random.default_rng(5)
    groups = {theme: group(unit(rng.normal(size=(3, 16)))) for theme in range(1, 40)}
    kept = Objective(16)
    kept.change(groups)
    stored = {theme: kept.graph.neighbours(theme) for theme in groups}
    assert Objective.restore(16, groups).value() == kept.value()
    assert Objective.restore(16, groups, stored).value() == kept.value()
