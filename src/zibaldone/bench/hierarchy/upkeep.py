"""What one more semantic costs a memory that holds many: attach, split, merge and both kNN graphs."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.views.hierarchy.calibration import Thresholds
from zibaldone.views.hierarchy.graph import Graph
from zibaldone.views.hierarchy.themes import ThemeMap

DIMENSION = 256
_TOPIC = 4.5  # semantics that are told of one topic, as in the paper's Table 8
_NOISE = 0.75  # the length of what sets a statement apart, for a topic's of 1


@dataclass(frozen=True, slots=True)
class Upkeep:
    """One size: milliseconds per new semantic."""

    semantics: int
    themes: int
    measured: int  # semantics that were timed
    themes_ms: float  # median: attach, split, merge, f and the graph over themes
    graph_ms: float  # median: the graph over semantics
    median_ms: float  # both
    p95_ms: float
    together_ms: float  # mean, when the semantics of an episode (eight) enter their graph at once
    prefill_s: float


def synthetic(count: int, seed: int = 0, dimension: int = DIMENSION) -> tuple[Vectors, list[int]]:
    """Unit rows about many topics, a few each, and their topics; topics lie in areas, as in a life."""
    rng = np.random.default_rng(seed)
    topics = max(1, round(count / _TOPIC))
    areas = rng.normal(size=(max(1, topics // 20), dimension))
    centres = areas[rng.integers(len(areas), size=topics)] * 0.6 + rng.normal(size=(topics, dimension))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    topic = rng.integers(topics, size=count)
    rows = centres[topic] + rng.normal(size=(count, dimension)) * (_NOISE / dimension**0.5)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32), topic.tolist()


def limits() -> Thresholds:
    """For synthetic rows: a statement and its topic have a cosine of about 0.8, two of a topic 0.64."""
    return Thresholds(lenient=0.45, attach=0.55, component=0.6, fetch=0.62, coherence=0.6, merge=0.8)


def measure(
    vectors: Vectors, topics: list[int] | None, thresholds: Thresholds, measured: int = 300
) -> Upkeep:
    """All but the last `measured` rows are there before; those are put in one by one, and timed.

    With `topics` the rows before are restored as themes of one topic each, cut at the cap; without, they are
    put in one by one as well.
    """
    count = len(vectors) - measured
    began = time.perf_counter()
    themes = ThemeMap(vectors.shape[1], thresholds)
    if topics is None:
        for semantic in range(count):
            themes.add(semantic + 1, vectors[semantic])
    else:
        themes.restore(
            _assigned(topics[:count]),
            {semantic: vectors[semantic - 1] for semantic in range(1, count + 1)},
            next_theme=count + 1,
        )
    ids = list(range(1, len(vectors) + 1))
    graph = Graph.restore(vectors.shape[1], ids[:count], vectors[:count])
    prefill = time.perf_counter() - began
    stored = {node: graph.neighbours(node) for node in ids[:count]}
    in_themes, in_graph = [], []
    for semantic in ids[count:]:
        row = vectors[semantic - 1]
        began = time.perf_counter()
        themes.add(semantic, row)
        middle = time.perf_counter()
        graph.add([semantic], row[None])
        in_themes.append((middle - began) * 1000)
        in_graph.append((time.perf_counter() - middle) * 1000)
    both = np.array(in_themes) + np.array(in_graph)
    again = Graph.restore(vectors.shape[1], ids[:count], vectors[:count], stored)
    began = time.perf_counter()
    for first in range(count, len(vectors), 8):
        again.add(ids[first : first + 8], vectors[first : first + 8])
    eights = (time.perf_counter() - began) * 1000 / measured + float(np.mean(in_themes))
    return Upkeep(
        count,
        len(themes),
        measured,
        float(np.median(in_themes)),
        float(np.median(in_graph)),
        float(np.median(both)),
        float(np.quantile(both, 0.95)),
        eights,
        prefill,
    )


def rows(sizes: tuple[int, ...], measured: int = 300) -> list[Upkeep]:
    """Synthetic rows at each size."""
    timed = []
    for size in sizes:
        vectors, topics = synthetic(size + measured)
        timed.append(measure(vectors, topics, limits(), measured))
    return timed


def _assigned(topics: list[int], cap: int = 12) -> dict[int, int]:
    """A theme per topic and a dozen semantics; ids in the order of their first semantics."""
    named: dict[tuple[int, int], int] = {}
    counted: dict[int, int] = {}
    assigned = {}
    for place, topic in enumerate(topics):
        nth = counted[topic] = counted.get(topic, -1) + 1
        assigned[place + 1] = named.setdefault((topic, nth // cap), len(named) + 1)
    return assigned
