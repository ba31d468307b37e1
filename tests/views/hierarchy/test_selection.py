"""Stage I: the greedy choice of Eq. 4."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.errors import InvalidInput
from zibaldone.views.hierarchy.stage_one import StageOne, normalised, representatives, select


def neighbours_of(edges):
    """Edges {node: {other: weight}} as the graph gives them."""
    return lambda node: list(edges.get(node, {}).items())


def naive(ids, relevance, edges, most, config):
    """Eq. 4 word for word: every candidate is evaluated in every step."""
    inside = {
        i: {i: 1.0} | {u: w for u, w in edges.get(i, {}).items() if u in ids and u != i and w > 0}
        for i in ids
    }
    sums = [sum(found.values()) for found in inside.values()]
    z = sum(sums)
    similar = dict(zip(ids, normalised(np.array(relevance)), strict=True))
    chosen, covered = [], set()
    while len(chosen) < min(most, len(ids)) and (not chosen or len(covered) / len(ids) < config.coverage):
        values = {
            i: config.alpha * (sum(w for u, w in inside[i].items() if u not in covered) / z)
            + (1 - config.alpha) * float(similar[i])
            for i in ids
            if i not in chosen
        }
        best = min(values, key=lambda i: (-values[i], i))
        chosen.append(best)
        covered |= inside[best].keys()
    return chosen


@st.composite
def graphs(draw):
    """Candidates with edges in all directions, some to outside, some without weight; sums are exact."""
    ids = draw(st.lists(st.integers(0, 30), min_size=1, max_size=14, unique=True))
    weights = st.integers(-2, 8).map(lambda n: n / 8)
    edges = {
        i: draw(st.dictionaries(st.integers(0, 33), weights, max_size=6).map(lambda d, i=i: d | {i: 0.5}))
        for i in ids
    }
    relevance = draw(st.lists(st.integers(0, 4), min_size=len(ids), max_size=len(ids)))
    return ids, [float(one) for one in relevance], edges


@given(graphs(), st.integers(1, 15), st.sampled_from([0.0, 0.25, 0.7, 1.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_the_lazy_choice_is_the_naive_one(graph, most, alpha, coverage):
    """Evaluating only what comes to the top gives the picks of the formula, in its order, ties by id."""
    ids, relevance, edges = graph
    config = StageOne(alpha=alpha, coverage=coverage)
    picks = representatives(np.array(ids), np.array(relevance), neighbours_of(edges), most, config)
    assert [pick.id for pick in picks] == naive(ids, relevance, edges, most, config)


def test_a_pick_says_why():
    """Its value is made of the coverage that it adds and its relevance, and it names what it covers."""
    edges = {1: {2: 0.5, 3: 0.5}, 4: {3: 0.5}}
    config = StageOne(alpha=0.5)
    first, second, *_ = representatives(
        np.array([1, 2, 3, 4]), np.array([0.9, 0.1, 0.1, 0.7]), neighbours_of(edges), 4, config
    )
    z = 2 + 1 + 1 + 1.5  # all weights, a node's own among them
    assert (first.id, first.coverage, first.relevance, first.covers) == (1, 2 / z, 1.0, (1, 2, 3))
    assert (second.id, second.coverage, second.covers) == (4, 1 / z, (4,))
    assert second.value == pytest.approx(0.5 * 1 / z + 0.5 * 0.75)


def test_coverage_leaves_a_dense_neighbourhood():
    """Only one of two that say the same is taken before the other subject has its turn."""
    ids, relevance = np.array([1, 2, 3]), np.array([1.0, 0.95, 0.9])
    near = neighbours_of({1: {2: 0.9}, 2: {1: 0.9}})
    by_both = representatives(ids, relevance, near, 2, StageOne(alpha=0.95))
    by_relevance = representatives(ids, relevance, near, 2, StageOne(alpha=0.0))
    assert [pick.id for pick in by_both] == [1, 3]
    assert [pick.id for pick in by_relevance] == [1, 2]


def test_it_stops_when_enough_is_covered():
    """The coverage target ends the choice before the budget does."""
    near = neighbours_of({1: {2: 0.5, 3: 0.5}})
    ids, relevance = np.array([1, 2, 3, 4]), np.array([1.0, 0.0, 0.0, 0.0])
    assert len(representatives(ids, relevance, near, 4, StageOne(coverage=0.75))) == 1
    assert len(representatives(ids, relevance, near, 4, StageOne(coverage=0.8))) == 2


def apart(rows):
    """Semantics that have nothing in common."""
    return np.eye(len(rows))


def test_only_the_pool_is_chosen_from():
    """The most relevant are the candidates, and each covers those of them that it is nearest to."""
    asked = []

    def similar(rows):
        asked.extend(rows.tolist())
        return np.array([[1.0, 0.9, 0.3], [0.9, 1.0, 0.2], [0.3, 0.2, 1.0]])

    found = select(
        np.array([10, 11, 12, 13]),
        np.array([0.9, 0.1, 0.8, 0.7]),
        similar,
        StageOne(pool=3, near=1, semantics=1),
    )
    assert asked == [0, 2, 3]
    (pick,) = found
    assert (pick.id, pick.covers) == (10, (10, 12))


def test_a_score_that_is_none():
    """A relevance that is not a number is refused."""
    ids = np.array([1, 2])
    with pytest.raises(InvalidInput, match="finite"):
        select(ids, np.array([0.1, np.nan]), apart)
