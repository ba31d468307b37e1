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
import numpy.typing as npt

from zibaldone.errors import InvalidInput
from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import embed

# Share of statements that the nearest topic that is not theirs is farther from than the constant. The first
# was set so that the paper's number of semantics per theme (Table 7) comes out.
TOGETHER, FETCH = 0.50, 0.90


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosines for one embedder; in comments the paper's released ones, for its own."""

    together: float  # .52: two groups of semantics are one theme, a semantic is one of a theme
    fetch: float  # .70: a semantic says what is known of a new episode

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
    return blake2b(repr((sample(), (TOGETHER, FETCH))).encode(), digest_size=6).hexdigest()


def calibrate(embedder: Embedder) -> Thresholds:
    """Measure the sample: one call of some two hundred sentences. Raises ModelFailed."""
    topics = sample()
    vectors = embed(embedder, [statement for topic in topics for statement in topic])
    return thresholds(vectors, [len(topic) for topic in topics])


def thresholds(vectors: Vectors, sizes: Sequence[int]) -> Thresholds:
    """From the unit rows (n, d) of statements, topic by topic, and the topics' sizes, at least two."""
    together, fetch = np.quantile(strangers(vectors, sizes), [TOGETHER, FETCH]).tolist()
    return Thresholds(together, fetch)


def strangers(vectors: Vectors, sizes: Sequence[int]) -> npt.NDArray[np.float64]:
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
