"""Themes without the paper's guidance: every semantic is in one, and none is above the cap."""

import numpy as np

from zibaldone.views.hierarchy.themes import CAP, group


def test_what_is_about_different_things_is_in_different_themes():
    """Also where there are so many that they are grouped block by block."""
    rng = np.random.default_rng(0)
    topic = rng.integers(40, size=1300)
    rows = rng.normal(size=(40, 64))[topic] + 0.3 * rng.normal(size=(1300, 64))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    groups = group(rows.astype(np.float32), CAP)
    assert sorted(row for members in groups for row in members) == list(range(1300))
    assert max(map(len, groups)) <= CAP
    assert all(len(set(topic[members])) == 1 for members in groups)
    assert len(groups) < 300
