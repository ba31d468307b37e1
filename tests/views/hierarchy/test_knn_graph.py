"""The graph: equal to brute force whatever came, moved and went."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.views.hierarchy.graph import Graph, Neighbours, on_grid


def unit(rows):
    """Rows of unit length."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def brute(vectors, k, floor):
    """The lists by whole-number products and a full sort."""
    rows = {node: on_grid(v[None])[0].astype(np.int64) for node, v in vectors.items()}
    lists = {}
    for node, row in rows.items():
        near = sorted((-int(row @ other), one) for one, other in rows.items() if one != node)
        kept = [(-p, one) for p, one in near if -p > floor * 4080**2][:k]
        lists[node] = Neighbours(tuple(one for _, one in kept), tuple(p / 4080**2 for p, _ in kept))
    return lists


def lists(graph):
    """All of a graph's lists."""
    return {int(node): graph.neighbours(int(node)) for node in graph.ids}


steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "move", "remove", "both", "restore"]), st.integers(0, 2**32)
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(steps, st.sampled_from([1, 3, 10]), st.sampled_from([0.0, -np.inf]), st.sampled_from([2, 5, 24]))
def test_equals_brute_force(steps, k, floor, dimension):
    """After any run of additions, moves and removals the lists are those of a full comparison."""
    graph, vectors, last = Graph(dimension, k, floor), {}, 0
    for what, seed in steps:
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 8))
        # few different directions: equal similarities are common
        new = unit(np.rint(rng.normal(size=(count, dimension)) * 2) + 0.01)
        some = [node for node in vectors if rng.random() < 0.3]
        put, gone = [], []
        if what in ("add", "both"):
            put = list(range(last + 1, last + 1 + count))
            last += count
        if what in ("move", "both"):
            put = [*some[: count - len(put) // 2], *put][:count] if what == "move" else put
        if what in ("remove", "both"):
            gone = [node for node in some if node not in put]
        before = lists(graph)
        changed = graph.change(put, new[: len(put)], gone)
        for node in gone:
            del vectors[node]
        vectors.update(zip(put, new, strict=False))
        expected = brute(vectors, k, floor)
        assert lists(graph) == expected
        assert (
            {node for node in expected if before.get(node) != expected[node]} <= set(changed) <= set(expected)
        )
        if what == "restore" and vectors:
            graph = Graph.restore(
                dimension, list(vectors), np.stack(list(vectors.values())), expected, k, floor
            )
            assert lists(graph) == expected


@pytest.mark.parametrize("count", [1, 30, 400])
def test_from_scratch(count):
    """A graph computed at once, one grown in batches, and one grown one by one are the same."""
    vectors = unit(np.random.default_rng(1).normal(size=(count, 16)))
    ids = list(range(5, 5 + count))
    whole = lists(Graph.restore(16, ids, vectors))
    batched, single = Graph(16), Graph(16)
    batched.add(ids, vectors)
    for node, vector in zip(ids, vectors, strict=True):
        single.add([node], vector[None])
    assert whole == lists(batched) == lists(single) == brute(dict(zip(ids, vectors, strict=True)), 10, 0.0)


def test_similarities_are_cosines():
    """Up to the grid, a similarity is the cosine."""
    vectors = unit(np.random.default_rng(2).normal(size=(50, 256)))
    graph = Graph.restore(256, list(range(50)), vectors)
    for node in range(50):
        near = graph.neighbours(node)
        assert near.similarities == pytest.approx(vectors[list(near.ids)] @ vectors[node], abs=1e-3)


def test_only_positive(recwarn):
    """Opposite nodes are no neighbours, unless asked for with a lower floor; a zero row has none."""
    vectors = np.array([[1, 0], [-1, 0], [0, 0]], dtype=np.float32)
    assert [len(Graph.restore(2, [1, 2, 3], vectors).neighbours(n).ids) for n in (1, 2, 3)] == [0, 0, 0]
    assert Graph.restore(2, [1, 2, 3], vectors, floor=-np.inf).neighbours(1).ids == (3, 2)
    assert not recwarn


def test_equal_similarities_by_id():
    """Of equally near nodes the smaller ids are listed, in their order."""
    graph = Graph.restore(2, list(range(1, 8)), np.tile(np.float32([[1, 0]]), (7, 1)), k=3)
    assert graph.neighbours(1).ids == (2, 3, 4)
    assert graph.neighbours(5).ids == (1, 2, 3)


def test_ids_rise():
    """An id that is not above all earlier ones is refused, with both."""
    graph = Graph.restore(2, [4], np.float32([[1, 0]]))
    with pytest.raises(ValueError, match=r"\[3\] after \[4\]"):
        graph.add([3], np.float32([[0, 1]]))


def test_next_nearest():
    """Without some nodes, the nodes that were nearest to them have others, also beyond their lists."""
    rng = np.random.default_rng(3)
    vectors = unit(rng.normal(size=(40, 4)))
    graph = Graph.restore(4, list(range(40)), vectors, k=2, floor=-np.inf)
    removed = [3, 7, 11, 12, 20, 25]
    left = [node for node in range(40) if node not in removed]
    expected = brute({node: vectors[node] for node in left}, 1, -np.inf)
    places, values = graph.nearest_without(removed)
    found = dict(zip(places.tolist(), values.tolist(), strict=True))
    nearest = dict(enumerate(graph.nearest().tolist()))
    for node in left:
        assert found.get(node, nearest[node]) == expected[node].similarities[0]
