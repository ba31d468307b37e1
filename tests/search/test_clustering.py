"""Clustering against definitions written out."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.search.clustering import agglomerate, two_means, unit


def rows(seed, n=9, d=4):
    """Unit rows (n, d)."""
    return unit(np.random.default_rng(seed).normal(size=(n, d)))


def likeness(vectors, one, other, linkage):
    """Of two groups, by its definition."""
    if linkage == "mean":
        return float((vectors[one] @ vectors[other].T).mean())
    a, b = vectors[one].sum(axis=0), vectors[other].sum(axis=0)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@pytest.mark.parametrize("linkage", ["mean", "centroid"])
@settings(deadline=None)
@given(seed=st.integers(0, 10_000), least=st.sampled_from([-1.0, 0.1, 0.5]), most=st.sampled_from([4, 99]))
def test_the_two_most_similar_groups_are_joined(linkage, seed, least, most):
    """As by a search through all pairs, as long as they are similar enough and fit together."""
    vectors = rows(seed)
    groups = [[row] for row in range(len(vectors))]
    while pairs := [(a, b) for a, b in combinations(groups, 2) if len(a) + len(b) <= most]:
        a, b = max(pairs, key=lambda pair: round(likeness(vectors, *pair, linkage), 6))
        if likeness(vectors, a, b, linkage) < least:
            break
        groups = sorted([*(group for group in groups if group not in (a, b)), sorted(a + b)])
    sizes = [1.0] * len(vectors)
    assert agglomerate(vectors @ vectors.T, linkage=linkage, least=least, sizes=sizes, most=most) == groups


def test_two_means_finds_two_heaps():
    """From a guess that has one row of each on the wrong side."""
    heaps = unit(np.array([[1, 0.1], [1, 0], [1, 0.2], [0.1, 1], [0, 1], [0.2, 1]]))
    guess = np.array([False, False, True, True, True, False])
    assert two_means(heaps, guess).tolist() == [False, False, False, True, True, True]


def test_nothing_is_one_group_of_nothing():
    """No rows, no groups; a zero row is like no other."""
    assert agglomerate(np.zeros((0, 0)), linkage="mean") == []
    assert agglomerate(np.zeros((2, 2)), linkage="centroid", least=0.1) == [[0], [1]]
