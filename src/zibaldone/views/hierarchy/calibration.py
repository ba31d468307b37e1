"""The paper's cosine constants, carried over to whatever embedder is in use.

A cosine means nothing by itself: in one embedder two unrelated sentences have 0.1 and in another 0.7. What
the constants have to do is keep strangers apart: a statement about something new meets all themes, and the
nearest of them, however wrong, must seldom be near enough. So each constant is a quantile of the cosines
between a statement and the nearest centroid of a topic that is not its own, measured once per embedder on
a bundled sample of facts about people's lives, topic by topic. 1 - quantile is then the share of
statements about new things that would pass for known ones. Of quantiles, this distribution's carry over best:
those of the cosines of pairs, within topics or across, fill the themes of a weak embedder with strangers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib.resources import files

import numpy as np

from zibaldone.errors import InvalidInput
from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import embed
from zibaldone.views.hierarchy.graph import Floats

# Share of statements that the nearest topic that is not theirs is farther from than the constant. Among
# themselves they are in the order of the paper's constants; where they begin was set so that its share of
# themes per semantic (Table 7) comes out.
LENIENT, ATTACH, COMPONENT, FETCH, COHERENCE, MERGE = 0.50, 0.75, 0.85, 0.90, 0.95, 0.99


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosines for one embedder; in comments the paper's released ones, for its own."""

    lenient: float  # .52: a theme takes a semantic when f gains; also what a tiny theme asks of a neighbour
    attach: float  # .62: a theme takes a semantic
    component: float  # .66: an edge between two semantics when a theme is split in components
    fetch: float  # .70: a semantic says what is known of a new episode
    coherence: float  # .72: mean of a theme's pairs below which it may be split before it is full
    merge: float  # .78: two themes are candidates for a merge

    def to_json(self) -> str:
        """To be stored with the embedder's name."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(stored: str) -> Thresholds:
        """InvalidInput when it is not what `to_json` made."""
        try:
            return Thresholds(**{name: float(value) for name, value in json.loads(stored).items()})
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidInput(f"no thresholds in {stored!r}: calibrate again") from error


def sample() -> list[list[str]]:
    """The bundled statements, topic by topic."""
    text = files(__package__).joinpath("sample.txt").read_text(encoding="utf-8")
    return [block.split("\n") for block in text.strip().split("\n\n")]


def sample_digest() -> str:
    """Of the sample and the quantiles: stored thresholds of another digest are out of date."""
    quantiles = (LENIENT, ATTACH, COMPONENT, FETCH, COHERENCE, MERGE)
    return blake2b(repr((sample(), quantiles)).encode(), digest_size=6).hexdigest()


def calibrate(embedder: Embedder) -> Thresholds:
    """Measure the sample: one call of some two hundred sentences. Raises ModelFailed."""
    topics = sample()
    vectors = embed(embedder, [statement for topic in topics for statement in topic])
    return thresholds(vectors, [len(topic) for topic in topics])


def thresholds(vectors: Vectors, sizes: Sequence[int]) -> Thresholds:
    """From the unit rows (n, d) of statements, topic by topic, and the topics' sizes, at least two."""
    cuts = np.quantile(strangers(vectors, sizes), [LENIENT, ATTACH, COMPONENT, FETCH, COHERENCE, MERGE])
    return Thresholds(*(float(cut) for cut in cuts))


def strangers(vectors: Vectors, sizes: Sequence[int]) -> Floats:
    """(n,) cosine of each statement with the nearest centroid of a topic that is not its own."""
    rows = vectors.astype(np.float64)
    topic = np.repeat(np.arange(len(sizes)), sizes)
    centroids = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(centroids, topic, rows)
    lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
    np.divide(centroids, lengths, out=centroids, where=lengths > 0)
    near = rows @ centroids.T
    near[np.arange(len(rows)), topic] = -np.inf
    return np.asarray(near.max(axis=1))
