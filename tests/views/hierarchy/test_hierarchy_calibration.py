"""Calibration: constants that mean the same for embedders whose cosines differ."""

import zlib
from functools import cache

import numpy as np
import pytest

from zibaldone.errors import InvalidInput
from zibaldone.models.static import shared_static_embedder
from zibaldone.views.hierarchy.calibration import (
    TOGETHER,
    Thresholds,
    calibrate,
    sample,
    sample_digest,
    strangers,
)
from zibaldone.views.hierarchy.themes import CAP, group


class Shifted:
    """WordLlama's vectors with a direction that all share: every cosine is high."""

    name, dimension = "shifted", 256

    def __init__(self, offset):
        common = np.random.default_rng(0).normal(size=256)
        self._common = (offset * common / np.linalg.norm(common)).astype(np.float32)

    def embed(self, texts):
        """Unit rows."""
        rows = shared_static_embedder().embed(texts) + self._common
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Letters:
    """Hashed runs of three to five letters: a weak embedder of another kind."""

    name, dimension = "letters", 512

    def embed(self, texts):
        """Unit rows."""
        rows = np.zeros((len(texts), 512), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            padded = f" {text.lower()} "
            for width in (3, 4, 5):
                for start in range(len(padded) - width + 1):
                    found = zlib.crc32(padded[start : start + width].encode())
                    row[found % 512] += (1 if found >> 20 & 1 else -1) * 2.0 ** (width - 4)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


EMBEDDERS = {
    "wordllama": shared_static_embedder,
    "shifted": lambda: Shifted(1.0),
    "far shifted": lambda: Shifted(2.0),
    "letters": Letters,
}

PEOPLE = "Anton Berta Cyril Doris Emeka Fumiko Gerd Halina Igor Jamila".split()
THINGS = {
    "guitar": [
        "{} bought a second-hand guitar",
        "{} takes guitar lessons",
        "The guitar of {} needs new strings",
    ],
    "garden": [
        "{} planted roses in the garden",
        "The garden of {} has an old pear tree",
        "{} weeds the garden",
    ],
    "cat": ["{} adopted a grey cat", "The cat of {} sleeps on the radiator", "{} took the cat to the vet"],
    "sailing": ["{} is learning to sail", "{} sailed to an island", "{} repaired the sail of the boat"],
    "exam": ["{} failed the physics exam", "{} is studying for the next exam", "The exam of {} is on Monday"],
    "tooth": ["{} has a toothache", "The dentist gave {} a crown", "{} is afraid of the dentist"],
}


@cache
def facts():
    """Facts that are not in the sample: ten people, a few things each, mixed."""
    told = [
        sentence.format(person)
        for place, person in enumerate(PEOPLE)
        for nth, (_, sentences) in enumerate(THINGS.items())
        if (place + nth) % 2
        for sentence in sentences
    ]
    order = np.random.default_rng(0).permutation(len(told))
    return [told[place] for place in order]


def grouped(embedder, thresholds):
    """The sizes of the facts' themes."""
    return [len(members) for members in group(embedder.embed(facts()), CAP, thresholds.together)]


@pytest.mark.parametrize("name", EMBEDDERS)
def test_what_is_of_one_theme_need_not_say_the_same(name):
    """A known fact is asked to be nearer than the members of a theme are."""
    found = calibrate(EMBEDDERS[name]())
    assert -1 < found.together < found.fetch < 1


@pytest.mark.parametrize("name", EMBEDDERS)
def test_themes_are_of_a_size(name):
    """Whatever the embedder's cosines, there are a few semantics to a theme: neither single nor full ones."""
    embedder = EMBEDDERS[name]()
    sizes = grouped(embedder, calibrate(embedder))
    assert 2.5 < np.mean(sizes) < 8.5
    assert np.mean(np.array(sizes) == 1) < 0.5


def test_a_fixed_cosine_would_not_do():
    """One embedder's thresholds put everything in a few full themes of another's: calibration is needed."""
    embedder = Shifted(1.0)
    foreign = grouped(embedder, calibrate(shared_static_embedder()))
    assert len(foreign) < len(grouped(embedder, calibrate(embedder))) * 0.7


def test_strangers_by_hand():
    """The nearest centroid of another topic, the own one left out."""
    rows = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    own = rows[:2].sum(axis=0) / np.linalg.norm(rows[:2].sum(axis=0))
    assert strangers(rows, [2, 1]) == pytest.approx([0, 0.6, own[1]], abs=1e-6)


def test_what_a_quantile_says():
    """Half of the sample's statements would be taken by a topic that is not theirs, at `together`."""
    embedder = shared_static_embedder()
    topics = sample()
    rows = embedder.embed([statement for topic in topics for statement in topic])
    above = strangers(rows, [len(topic) for topic in topics]) >= calibrate(embedder).together
    assert above.mean() == pytest.approx(1 - TOGETHER, abs=0.01)


def test_the_sample():
    """Some two hundred different statements, several to a topic."""
    topics = sample()
    statements = [statement for topic in topics for statement in topic]
    assert len(statements) == len(set(statements)) >= 190
    assert min(map(len, topics)) >= 4
    assert all(statement.strip() == statement != "" for statement in statements)


def test_stored_and_read():
    """Thresholds come back from JSON as they were; anything else is refused."""
    found = calibrate(shared_static_embedder())
    assert Thresholds.from_json(found.to_json()) == found
    for bad in ("", "[]", '{"fetch": 1}', '{"together": 1, "fetch": "x"}'):
        with pytest.raises(InvalidInput, match="calibrate again"):
            Thresholds.from_json(bad)


def test_the_digest():
    """What was measured is named, so that a later version knows when to measure again."""
    assert sample_digest() == sample_digest()
    assert len(sample_digest()) == 12
