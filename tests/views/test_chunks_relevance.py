"""Which chunks are related: the index of their metadata."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.views.chunks.chunk import Chunk, Metadata
from zibaldone.views.chunks.select_related import MetadataIndex, Target

DAY = datetime(2024, 5, 1, tzinfo=UTC)
RANDOM = np.random.default_rng(7)
WORDS = ["otter", "canal", "ferry", "violin", "lichen", "harbour", "quince", "tram"]


def vectors(rows: int) -> Vectors:
    """Some of unit length."""
    made = RANDOM.normal(size=(rows, 8)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), dtype=np.float32)


def chunk(number: int, *, parts: int = 4, items: int = 3, version: int = 1) -> Chunk:
    """With three words of its own."""
    words = tuple(str(word) for word in RANDOM.choice(WORDS, size=3, replace=False))
    about = Metadata(words, (), "", DAY, DAY, vectors(parts))
    return Chunk(number, "", version, number, 100, 50, items, about, "offline", "")


def order(index: MetadataIndex) -> list[tuple[int, float]]:
    """Ids and scores for one question."""
    target = Target(("otter", "ferry", "nobody"), np.eye(2, 8, dtype=np.float32))
    return [(one.id, round(score, 5)) for one, score in index.ranked(target)]


def test_an_index_that_was_kept_up_scores_as_one_that_is_made_anew() -> None:
    """After new chunks, new versions with fewer parts or none, and chunks that hold nothing any more."""
    first = [chunk(number) for number in range(1, 40)]
    index = MetadataIndex(first)
    newer = {one.id: one for one in first}
    for number, parts, items in [(3, 1, 2), (7, 0, 1), (9, 4, 0), (40, 2, 3), (12, 3, 5), (3, 4, 1)]:
        newer[number] = chunk(number, parts=parts, items=items, version=2)
        index.put(newer[number])
    assert len(index) == 39
    assert order(index) == order(MetadataIndex(newer.values()))
    assert 9 not in dict(order(index))
