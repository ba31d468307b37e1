"""What Stage I costs a memory of many semantics: the product with the question, the pool, Eq. 4 twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from zibaldone.bench.hierarchy.upkeep import synthetic
from zibaldone.models.base import Vectors
from zibaldone.views.hierarchy.graph import K
from zibaldone.views.hierarchy.stage_one import StageOne, select

_Neighbours = Callable[[int], tuple[tuple[int, float], ...]]


@dataclass(frozen=True, slots=True)
class Selecting:
    """One size: milliseconds per question."""

    semantics: int
    themes: int
    questions: int
    product_ms: float  # median: the matrix of semantics times the question
    median_ms: float  # with the pool and the greedy choice
    p95_ms: float


def rows(sizes: tuple[int, ...], questions: int = 100) -> list[Selecting]:
    """Synthetic semantics at each size, a theme per topic; questions are about their topics."""
    return [_measure(size, questions) for size in sizes]


def _measure(size: int, questions: int) -> Selecting:
    vectors, topics = synthetic(size + questions)
    vectors, asked = np.ascontiguousarray(vectors[:size]), vectors[size:]
    names, theme_of = np.unique(topics[:size], return_inverse=True)
    centres = np.zeros((len(names), vectors.shape[1]), dtype=np.float32)
    np.add.at(centres, theme_of, vectors)
    centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-9)
    ids = np.arange(size)
    of_semantics, of_themes = _neighbours(vectors), _neighbours(centres)
    product, whole = [], []
    for vector in asked:
        # The graph is there before a question comes: whatever edges this one needs are looked up first.
        relevance = (vectors @ vector).astype(np.float64)
        select(ids, relevance, theme_of, of_semantics, of_themes)
        began = time.perf_counter()
        relevance = (vectors @ vector).astype(np.float64)
        middle = time.perf_counter()
        select(ids, relevance, theme_of, of_semantics, of_themes, StageOne())
        whole.append((time.perf_counter() - began) * 1000)
        product.append((middle - began) * 1000)
    return Selecting(
        size,
        len(names),
        questions,
        float(np.median(product)),
        float(np.median(whole)),
        float(np.quantile(whole, 0.95)),
    )


def _neighbours(rows: Vectors) -> _Neighbours:
    @cache
    def neighbours(node: int) -> tuple[tuple[int, float], ...]:
        near = rows @ rows[node]
        near[node] = -np.inf
        count = min(K, len(rows) - 1)
        best = np.argsort(-near, kind="stable")[:count]
        return tuple((int(other), float(near[other])) for other in best)

    return neighbours
