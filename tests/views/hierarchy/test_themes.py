"""Themes: every semantic in one, none above the cap, and the same however the semantics came."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.views.hierarchy.nodes import Semantic, Statement
from zibaldone.views.hierarchy.semantics import Distilled
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.hierarchy.table import State
from zibaldone.views.hierarchy.themes import Anchors, group, grouped_at

DIMENSION, CAP, TOGETHER = 16, 6, 0.4


def clustered(seed, count, topics=8, noise=0.7):
    """Unit vectors about some topics; a few are the same, and some are zero."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(topics, DIMENSION))
    rows = centres[rng.integers(topics, size=count)] + noise * rng.normal(size=(count, DIMENSION))
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows[rng.random(count) < 0.02] = 0
    rows[rng.random(count) < 0.05] = rows[0]
    return rows.astype(np.float32)


def learnt(structure, rows):
    """Each row is a new semantic of a message of its own."""
    first = structure.state.next_semantic
    new = tuple(
        Semantic(number, 1, (Statement(number, f"thing {number}", "thing"),), None)
        for number in range(first, first + len(rows))
    )
    structure.settle(Distilled(new, rows), [row[None] for row in rows])


def fresh():
    """A structure without anything in it."""
    return Structure(State(f"e/{DIMENSION}/x"))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300))
def test_the_batches_do_not_matter(seed, count):
    """Themes are a function of the semantics, in however many maintenances they were put together."""
    rows, rng = clustered(seed, count), np.random.default_rng(seed)
    at_once, bit_by_bit = fresh(), fresh()
    learnt(at_once, rows)
    at_once.arrange(CAP, TOGETHER)
    start = 0
    while start < count:
        size = int(rng.integers(1, 60))
        learnt(bit_by_bit, rows[start : start + size])
        bit_by_bit.arrange(CAP, TOGETHER)
        start += size
    assert bit_by_bit.themes() == at_once.themes()
    members = [number for numbers in at_once.themes().values() for number in numbers]
    assert sorted(members) == list(range(1, count + 1))
    assert max(map(len, at_once.themes().values())) <= CAP


def test_what_was_forgotten_has_no_say():
    """After a forgetting themes are those of a memory that never knew it, numbers aside."""
    rows = clustered(3, 200)
    structure, never = fresh(), fresh()
    learnt(structure, rows)
    structure.arrange(CAP, TOGETHER)
    structure.unsay(frozenset(range(1, 31)))
    assert min(number for numbers in structure.themes().values() for number in numbers) > 30
    structure.arrange(CAP, TOGETHER)
    learnt(never, rows[30:])
    never.arrange(CAP, TOGETHER)
    assert [[one - 30 for one in numbers] for numbers in structure.themes().values()] == list(
        never.themes().values()
    )


def test_a_models_name_holds_as_long_as_all_that_it_was_given_for():
    """Who joins a theme leaves its name; one whose facts were forgotten, or moved, has none of a model's."""
    structure = fresh()
    learnt(structure, np.tile(np.eye(1, DIMENSION, dtype=np.float32), (3, 1)))
    structure.arrange(CAP, TOGETHER)
    structure.name(1, "Things", "model")
    learnt(structure, np.eye(1, DIMENSION, dtype=np.float32))
    structure.arrange(CAP, TOGETHER)
    (row,) = structure.take().themes
    assert (row.id, row.name, row.made_by) == (1, "Things", "model")
    assert not structure.unnamed()
    structure.unsay(frozenset([2]))
    (row,) = structure.take().themes
    assert (row.id, row.made_by) == (1, "")
    assert list(structure.unnamed()) == [1]


def test_like_with_like():
    """What is about one thing is one theme, what is alone stays alone."""
    angles = np.radians([0, 90, 5, 95, 185, 2])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert group(rows, 12, 0.5) == [[0, 2, 5], [1, 3], [4]]
    assert max(map(len, group(np.tile(rows[:1], (30, 1)), 12, 0.5))) <= 12


def test_many_are_grouped_block_by_block():
    """Every row is in one theme, and what is about different things in different ones."""
    rng = np.random.default_rng(0)
    topic = rng.integers(40, size=1300)
    rows = rng.normal(size=(40, 64))[topic] + 0.3 * rng.normal(size=(1300, 64))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    groups = group(rows.astype(np.float32), 12, 0.5)
    assert sorted(row for members in groups for row in members) == list(range(1300))
    assert all(len(set(topic[members])) == 1 for members in groups)
    assert len(groups) < 300


def test_who_comes_later_joins_the_nearest_that_is_not_full():
    """One that no theme is near to, or only a full one, begins a theme."""
    angles = np.radians([0, 90, 2, 92, 270, 91])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert Anchors(rows[:2], [1, 1]).join(rows[2:], 2, 0.5) == [0, 1, -1, -1]


@pytest.mark.parametrize(
    ("number", "at"), [(0, 0), (1, 1), (63, 63), (64, 64), (95, 64), (96, 96), (1000, 729)]
)
def test_all_are_grouped_anew_when_half_as_many_have_come(number, at):
    """So the price of one semantic does not grow with their number; few are always grouped anew."""
    assert grouped_at(number) == at
