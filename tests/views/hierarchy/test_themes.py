"""Themes: every semantic in one, none above the cap, and alike for embedders whose cosines differ."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone.views.hierarchy.themes import CAP, group


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
