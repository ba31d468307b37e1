"""Scores of blocks: Eq. 3 and Table 1 as the paper writes them, and their logarithms where those give out."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from zibaldone.views.kvcache.retrieve.scoring import aggregate, bounding_box, box_scores

HEADS, KV, TOKENS, DIM, BLOCKS, SIZE = 4, 2, 3, 8, 7, 5
HOW = [(n, a) for n in ("softmax", "reciprocal_rank") for a in ("max", "sum")]


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


QUERIES, KEYS = numbers(HEADS, TOKENS, DIM), numbers(BLOCKS, KV, SIZE, DIM, seed=1)


def eq3(query, box) -> float:
    """sum_i max(q_i s_max_i, q_i s_min_i)."""
    upper, lower = box.tolist()
    return sum(max(q * s, q * t) for q, s, t in zip(query.tolist(), upper, lower, strict=True))


@pytest.mark.parametrize("kv_of", [(0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 2, 3)])
def test_boxes(kv_of):
    """Eq. 3, added over heads, whatever shares its keys."""
    boxes = bounding_box(numbers(BLOCKS, max(kv_of) + 1, SIZE, DIM, seed=2))
    found = torch.cat(list(box_scores(QUERIES, boxes, kv_of)))
    naive = [
        [sum(eq3(QUERIES[head, token], box[kv]) for head, kv in enumerate(kv_of)) for box in boxes]
        for token in range(TOKENS)
    ]
    assert np.allclose(found, naive, atol=1e-3)


FINITE = st.floats(-100, 100, width=32)


@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FINITE), st.data()
)
@settings(max_examples=60, deadline=None)
def test_upper_bound(keys, data):
    """No key of a block has a greater product with a query than its box."""
    query = data.draw(hnp.arrays(np.float32, keys.shape[1], elements=FINITE))
    boxes = bounding_box(torch.from_numpy(keys)[None, None])
    (bound,) = torch.cat(list(box_scores(torch.from_numpy(query)[None, None], boxes, (0,)))).numpy()
    exact = (keys.astype(np.float64) @ query.astype(np.float64)).max()
    size = np.abs(query.astype(np.float64)) @ np.abs(keys).max(axis=0)
    assert bound[0] >= exact - 1e-5 * size - 1e-30  # what float32 cannot hold


def table1(rows, normalization, aggregation, c=60):
    """Eq. 4, as Table 1 says it."""
    rows = np.asarray(rows, dtype=np.float64)
    if normalization == "softmax":
        whole = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
    else:
        ranks = 1 + np.argsort(np.argsort(-rows, axis=1), axis=1)
        whole = 1 / (c + ranks)
    return whole.max(axis=0) if aggregation == "max" else whole.sum(axis=0)


@pytest.mark.parametrize(("normalization", "aggregation"), HOW)
@pytest.mark.parametrize("c", [0, 60])
def test_four_strategies(normalization, aggregation, c):
    """Each is the naive formula, over rows that come in parts."""
    layers = [numbers(4, 9, seed=3), numbers(1, 9, seed=4) * 3, numbers(2, 9, seed=5)]
    found = aggregate(iter(layers), 9, normalization, aggregation, rank_constant=c)
    naive = table1(torch.cat(layers), normalization, aggregation, c)
    assert np.allclose(np.exp(found.best), naive, rtol=1e-5)
    order = np.lexsort((np.arange(9), *(-tie for tie in reversed(found.ties)), -found.best))
    assert [found.top(k) for k in (4, 9)] == [order.tolist()[:4], order.tolist()]


@pytest.mark.parametrize("aggregation", ["max", "sum"])
def test_where_a_softmax_underflows(aggregation):
    """Scores thousands apart stay finite and in their order, where exp gives zeros that tie."""
    row = torch.tensor([[-4000.0, 3000.0, 0.0, 2999.0, -3999.0], [-4000.0, 2000.0, 0.0, 1999.0, -3999.0]])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        shifted = np.exp(row.numpy().astype(np.float64) - row.numpy().max(axis=1, keepdims=True))
    assert (shifted == 0).any()
    found = aggregate(iter([row]), 5, "softmax", aggregation)
    assert np.isfinite(found.best).all()
    assert found.top(5) == [1, 3, 2, 4, 0]
    assert len(set(found.best.tolist())) == 5
