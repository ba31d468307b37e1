"""Themes: every semantic in one, none above the cap, and alike for embedders whose cosines differ."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.models.static import shared_static_embedder
from zibaldone.views.hierarchy.themes import CAP, group

PEOPLE = "Anton Berta Cyril Doris Emeka Fumiko Gerd Halina Igor Jamila".split()
THINGS = {
    "guitar": ["{} bought a second-hand guitar", "{} takes guitar lessons", "The guitar of {} needs strings"],
    "garden": ["{} planted roses in the garden", "The garden of {} has a pear tree", "{} weeds the garden"],
    "sailing": ["{} is learning to sail", "{} sailed to an island", "{} repaired the sail of the boat"],
    "tooth": ["{} has a toothache", "The dentist gave {} a crown", "{} is afraid of the dentist"],
}


def facts(offset: float) -> np.ndarray:
    """Unit vectors of facts about ten people, mixed; with an offset every cosine is high."""
    told = [one.format(person) for person in PEOPLE for some in THINGS.values() for one in some]
    rows = shared_static_embedder().embed(told)[np.random.default_rng(0).permutation(len(told))]
    common = np.random.default_rng(0).normal(size=rows.shape[1])
    shifted = rows + (offset * common / np.linalg.norm(common)).astype(np.float32)
    return shifted / np.linalg.norm(shifted, axis=1, keepdims=True)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 600))
def test_every_row_is_in_one_theme(seed, count):
    """None is lost, none is in two, and no theme is fuller than the cap."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(8, 16))[rng.integers(8, size=count)] + 0.7 * rng.normal(size=(count, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[rng.random(count) < 0.02] = 0
    groups = group(rows.astype(np.float32), 6)
    assert sorted(row for members in groups for row in members) == list(range(count))
    assert max(map(len, groups)) <= 6


def test_what_is_about_different_things_is_in_different_themes():
    """Also where there are so many that they are grouped block by block."""
    rng = np.random.default_rng(0)
    topic = rng.integers(40, size=1300)
    rows = rng.normal(size=(40, 64))[topic] + 0.3 * rng.normal(size=(1300, 64))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    groups = group(rows.astype(np.float32), CAP)
    assert all(len(set(topic[members])) == 1 for members in groups)
    assert len(groups) < 300


@pytest.mark.parametrize("offset", [0.0, 1.0, 2.0])
def test_themes_are_of_a_size(offset):
    """Whatever the embedder's cosines, there are a few semantics to a theme: neither single nor full ones."""
    sizes = [len(members) for members in group(facts(offset), CAP)]
    assert 2.5 < np.mean(sizes) < 8.5
    assert np.mean(np.array(sizes) == 1) < 0.2
