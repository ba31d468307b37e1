"""What the hierarchy of a conversation looks like when it is built, and its themes by their cap.

xMemory, section 5.3 and Tables 7 and 8. Recall does without themes, so evidence is `bench locomo`'s.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.bench.base import Equipment
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Progress
from zibaldone.core import Message
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer, Vectors
from zibaldone.models.meter import Meter
from zibaldone.views.hierarchy import Episode
from zibaldone.views.hierarchy.builder import Builder
from zibaldone.views.hierarchy.calibration import Thresholds, calibrate
from zibaldone.views.hierarchy.distil import EpisodeReader
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.hierarchy.table import State
from zibaldone.views.hierarchy.themes import CAP, group


@dataclass(frozen=True, slots=True)
class ThemesRow:
    """Themes of all conversations with one cap. Shares are from 0 to 1."""

    cap: int
    episodes: int
    themes: int
    semantics: int
    largest: int  # semantics of the largest theme
    sizes: tuple[int, ...]  # themes of one semantic, of two, ... up to the largest
    likeness: float  # mean cosine of two semantics of a theme
    likeness_of_any: float  # of any two of a conversation
    build_ms: float  # per message, in memory, without themes
    themes_ms: float  # per semantic, all put together and named at once

    @property
    def per_theme(self) -> float:
        return self.semantics / max(self.themes, 1)


@dataclass(frozen=True, slots=True)
class Built:
    """One conversation's hierarchy, in no themes yet."""

    structure: Structure
    episodes: tuple[Episode, ...]
    together: float  # how alike the semantics of a theme are
    seconds: float

    def vectors(self, semantics: Sequence[int]) -> Vectors:
        """(n, d)."""
        return np.stack([self.structure.vector(number) for number in semantics])


def build(
    messages: Sequence[Message], user: str, embedder: Embedder, tokenizer: Tokenizer, thresholds: Thresholds
) -> Built:
    """As a maintenance without a model does, message by message, but in memory.

    Messages behind the last boundary of a session stay without an episode.
    """
    asker = Asker(None, Meter(None), tokenizer)
    structure = Structure(State(f"{embedder.name}/{embedder.dimension}/bench"))
    builder = Builder(structure, EpisodeReader(asker, embedder, user), tokenizer, thresholds)
    began = time.perf_counter()
    for _ in builder.read(messages):
        pass
    seconds = time.perf_counter() - began
    episodes = tuple(row.episode for row in builder.take().episodes)
    return Built(structure, episodes, thresholds.together, seconds)


def rows(
    data: LoCoMoQuestions, tools: Equipment, caps: Sequence[int], progress: Progress
) -> Iterator[ThemesRow]:
    """A row per cap; conversations are built once."""
    thresholds, users = calibrate(tools.embedder), data.users()
    built = []
    for place, user in enumerate(users):
        progress("building", place, len(users))
        built.append(build(data.messages(user), user, tools.embedder, tools.tokenizer, thresholds))
    messages = sum(len(data.messages(user)) for user in users)
    for cap in caps:
        began = time.perf_counter()
        for hierarchy in built:
            hierarchy.structure.arrange(cap, thresholds.together)
            hierarchy.structure.take()
        seconds = time.perf_counter() - began
        themes = [(made, members) for made in built for members in made.structure.themes().values()]
        sizes = Counter(len(members) for _, members in themes)
        semantics = sum(len(one.structure.semantics) for one in built)
        yield ThemesRow(
            cap=cap,
            episodes=sum(len(one.episodes) for one in built),
            themes=sizes.total(),
            semantics=semantics,
            largest=max(sizes, default=0),
            sizes=tuple(sizes[size] for size in range(1, max(sizes, default=0) + 1)),
            likeness=_likeness([made.vectors(members) for made, members in themes]),
            likeness_of_any=_likeness([one.vectors(sorted(one.structure.semantics)) for one in built]),
            build_ms=1000 * sum(one.seconds for one in built) / max(messages, 1),
            themes_ms=1000 * seconds / max(semantics, 1),
        )


def _likeness(groups: Sequence[Vectors]) -> float:
    """Mean cosine of all pairs of unit rows that are in one group."""
    sums = [rows.astype(np.float64).sum(axis=0) for rows in groups]
    pairs = sum(len(rows) * (len(rows) - 1) for rows in groups)
    alike = sum(float(total @ total) - len(rows) for total, rows in zip(sums, groups, strict=True))
    return alike / max(pairs, 1)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """One size: what it takes to put so many semantics in themes, without names."""

    semantics: int
    themes: int
    seconds: float  # all of them as a whole
    each_ms: float  # of that, per semantic


DIMENSION = 256
_TOPIC = 4.5  # semantics that are told of one topic, as in the paper's Table 8
_NOISE = 0.75  # the length of what sets a statement apart, for a topic's of 1
_LEAST = 0.45  # two statements of a topic have a cosine of about .64


def synthetic(count: int, seed: int = 0, dimension: int = DIMENSION) -> Vectors:
    """Unit rows about many topics, a few each; topics lie in areas, as in a life."""
    rng = np.random.default_rng(seed)
    topics = max(1, round(count / _TOPIC))
    areas = rng.normal(size=(max(1, topics // 20), dimension))
    centres = areas[rng.integers(len(areas), size=topics)] * 0.6 + rng.normal(size=(topics, dimension))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    made = centres[rng.integers(topics, size=count)]
    made += rng.normal(size=(count, dimension)) * (_NOISE / dimension**0.5)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made.astype(np.float32)


def upkeep(sizes: Sequence[int]) -> list[Upkeep]:
    """Synthetic rows at each size."""
    timed = []
    for size in sizes:
        vectors = synthetic(size)
        began = time.perf_counter()
        themes = group(vectors, CAP, _LEAST)
        seconds = time.perf_counter() - began
        timed.append(Upkeep(size, len(themes), seconds, 1000 * seconds / size))
    return timed
