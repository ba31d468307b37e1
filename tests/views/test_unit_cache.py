"""Indexes of many users in so much memory."""

import gc
import random
import tracemalloc
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from zibaldone import Config, StaticEmbedder
from zibaldone.errors import InvalidInput
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views import unit_cache
from zibaldone.views.unit_cache import index_bytes

DAY = datetime(2024, 3, 1, 12, tzinfo=UTC)
DIMENSION = 64


def made(many: int) -> list[Unit]:
    """Units of thirty words, as they come from a database: no two share a string."""
    chance = random.Random(3)
    vocabulary = ["".join(chance.choices("abcdefghijklmnop", k=7)) for _ in range(3000)]
    return [
        Unit(
            sources=(seq,),
            part=0,
            text=" ".join(chance.choices(vocabulary, k=30)),
            kind="message",
            tokens=40,
            session=f"session {seq // 20}",
            role="".join(["us", "er"]),
            name=None,
            time=DAY + timedelta(minutes=seq),
        )
        for seq in range(1000, 1000 + many)
    ]


@pytest.fixture(scope="module")
def word_embedder() -> StaticEmbedder:
    """The word embedder of the default memory."""
    return StaticEmbedder()


@pytest.mark.wide
def test_an_index_knows_how_much_memory_it_takes(word_embedder):
    """It is wrong by a third at most when made and when it grows, and what is taken out counts no more."""
    word_embedder.embed(["something"])
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        index = UnitIndex(DIMENSION, word_embedder)
        for _ in range(2):
            new = made(700)
            index.extend(new, np.ones((len(new), DIMENSION), dtype=np.float32))
            del new
            index.settle()
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0] - before
            assert taken * 2 / 3 < index.nbytes < taken * 3 / 2
        both = index.nbytes
        index.remove(set(range(700)))
        assert both - index.nbytes > 700 * (500 + 4 * DIMENSION)
    finally:
        tracemalloc.stop()


def test_the_room_is_set_in_megabytes(monkeypatch):
    """Or it is a part of the machine's memory, and of a container's where that is less."""
    monkeypatch.setenv("ZIBALDONE_INDEX_MB", "300")
    assert index_bytes(Config().with_environment().index_mb) == 300_000_000
    monkeypatch.setenv("ZIBALDONE_INDEX_MB", "0")
    with pytest.raises(InvalidInput, match="ZIBALDONE_INDEX_MB must be a whole number of at least 1"):
        Config().with_environment()
    monkeypatch.delenv("ZIBALDONE_INDEX_MB")
    assert index_bytes(Config().with_environment().index_mb) >= 2**24


@pytest.mark.parametrize(("limit", "expected"), [("16777216\n", 2**21), ("max\n", None), (None, None)])
def test_a_container_s_limit_is_the_machine_s_memory(monkeypatch, tmp_path, limit, expected):
    """Where it says one that is less."""
    monkeypatch.setattr(unit_cache, "_CGROUP_LIMIT", tmp_path / "none")
    of_machine = index_bytes()
    if limit is not None:
        (tmp_path / "none").write_text(limit)
    assert index_bytes() == (expected or of_machine)
