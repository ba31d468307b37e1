"""Which lines are about a subject."""

import numpy as np
import pytest

from zibaldone.views.timeline.subject import about

NOISE = np.random.default_rng(5)


@pytest.mark.parametrize("lines", [40, 400, 4000])
def test_of_lines_about_nothing_hardly_one_stands_out(lines: int) -> None:
    """However many there are: the best of more is better by chance."""
    found = [about(NOISE.normal(size=lines).astype(np.float32), np.zeros(lines)).sum() for _ in range(100)]
    assert np.mean(found) < 0.5


def test_what_stands_out_is_about_it() -> None:
    """A score that chance does not give, and a line that has most of the subject's words."""
    scores = NOISE.normal(size=200).astype(np.float32)
    scores[7] = 9
    shares = np.zeros(200)
    shares[8], shares[9] = 0.6, 0.4
    assert (
        {7, 8} <= set(np.flatnonzero(about(scores, shares)).tolist()) <= {7, 8, int(scores[8:].argmax()) + 8}
    )


def test_many_lines_on_the_subject_do_not_hide_each_other() -> None:
    """A tenth of a log may be about it, and all of it where the words say so."""
    scores = NOISE.normal(size=200).astype(np.float32)
    scores[:20] += 9
    assert about(scores, np.zeros(200))[:20].all()
    assert about(scores, np.ones(200)).all()


def test_no_lines_are_none() -> None:
    """Of nothing."""
    assert about(np.zeros(0, dtype=np.float32), np.zeros(0)).shape == (0,)
