"""Stage I: the greedy choice of Eq. 4, and the graph that it goes along."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from zibaldone.views.hierarchy.stage_one import StageOne, knn, normalised, representatives


def weights_of(ids, edges):
    """Edges {node: {other: weight}} as a matrix, a node's own among them."""
    return np.array([[1.0 if u == i else max(edges.get(i, {}).get(u, 0.0), 0) for u in ids] for i in ids])


def naive(ids, relevance, edges, most, config):
    """Eq. 4 word for word, with sets."""
    inside = {
        i: {i: 1.0} | {u: w for u, w in edges.get(i, {}).items() if u in ids and u != i and w > 0}
        for i in ids
    }
    z = sum(sum(found.values()) for found in inside.values())
    similar = dict(zip(ids, normalised(np.array(relevance)), strict=True))
    chosen, covered = [], set()
    while len(chosen) < min(most, len(ids)) and (not chosen or len(covered) / len(ids) < config.coverage):
        values = {
            i: config.alpha * (sum(w for u, w in inside[i].items() if u not in covered) / z)
            + (1 - config.alpha) * float(similar[i])
            for i in ids
            if i not in chosen
        }
        best = min(values, key=lambda i: (-round(values[i], 12), i))
        chosen.append(best)
        covered |= inside[best].keys()
    return chosen


@st.composite
def graphs(draw):
    """Candidates with edges in all directions, some without weight; sums are exact."""
    ids = draw(st.lists(st.integers(0, 30), min_size=1, max_size=14, unique=True))
    weights = st.integers(-2, 8).map(lambda n: n / 8)
    edges = {i: draw(st.dictionaries(st.sampled_from(ids), weights, max_size=6)) for i in ids}
    relevance = draw(st.lists(st.integers(0, 4), min_size=len(ids), max_size=len(ids)))
    return ids, [float(one) for one in relevance], edges


@given(graphs(), st.integers(1, 15), st.sampled_from([0.0, 0.25, 0.7, 1.0]), st.sampled_from([0.0, 0.5, 1.0]))
def test_the_choice_is_the_formula_s(graph, most, alpha, coverage):
    """The picks of Eq. 4 in its order, ties by id."""
    ids, relevance, edges = graph
    config = StageOne(alpha=alpha, coverage=coverage)
    picks = representatives(np.array(ids), np.array(relevance), weights_of(ids, edges), most, config)
    assert [pick.id for pick in picks] == naive(ids, relevance, edges, most, config)


def test_an_edge_leads_to_the_nearest_of_all_nodes():
    """A candidate whose nearest is no candidate covers none but itself; nothing covers what is unlike it."""
    cosines = np.array([[1.0, 0.9, 0.8, -0.1], [0.8, 0.7, 1.0, -0.2], [-0.1, 0.1, -0.2, 1.0]])
    candidates = np.array([0, 2, 3])
    assert knn(cosines, candidates, 1).tolist() == [[1, 0, 0], [0.8, 1, 0], [0, 0, 1]]
    assert knn(cosines, candidates, 9).tolist() == [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]]
