"""Where themes lie on a map: near ones side by side, larger ones with larger circles, none over another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zibaldone.server.page.environment import short
from zibaldone.views.hierarchy import Theme

WIDTH, HEIGHT = 1000, 620
_LEAST_RADIUS, _MORE_RADIUS = 7.0, 21.0
_LABEL = 22  # characters of a name
_CHARACTER, _LINE = 7.0, 24.0  # width and height of the words below a circle
_STEPS = 300
_NEAR = 3  # themes that each is drawn to
_COMMON = 0.2  # of the themes that have a word in their names: it tells none from the others
_Spots = npt.NDArray[np.float64]  # (n, 2)


@dataclass(frozen=True, slots=True)
class MapNode:
    """A theme's circle."""

    theme: Theme
    label: str
    x: float
    y: float
    radius: float
    is_centre: bool


@dataclass(frozen=True, slots=True)
class MapLink:
    """A line between two that are near."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class DrawnThemes:
    """What is drawn, in units of a view box of WIDTH by HEIGHT."""

    width: int
    height: int
    nodes: list[MapNode]
    links: list[MapLink]


def draw(themes: Sequence[Theme], *, centre: int | None = None) -> DrawnThemes:
    """The same map for the same themes. `centre` is the id of one that is looked at."""
    place = {theme.id: number for number, theme in enumerate(themes)}
    pairs = sorted(
        {
            (min(place[theme.id], place[other]), max(place[theme.id], place[other]))
            for theme in themes
            for other in [other for other in theme.near if other in place][:_NEAR]
        }
    )
    most = max((len(theme.semantics) for theme in themes), default=1) or 1
    radii = np.array(
        [_LEAST_RADIUS + _MORE_RADIUS * math.sqrt(len(theme.semantics) / most) for theme in themes]
    )
    labels = _labels(themes)
    wide = np.maximum(2 * radii, np.array([len(label) * _CHARACTER for label in labels])) + 8
    boxes = np.stack([wide, 2 * radii + _LINE], axis=1).reshape(-1, 2)
    spots = _settled(len(themes), pairs, boxes)
    nodes = [
        MapNode(theme, label, round(x, 1), round(y, 1), round(float(radius), 1), theme.id == centre)
        for theme, label, (x, y), radius in zip(themes, labels, spots.tolist(), radii, strict=True)
    ]
    links = [MapLink(nodes[a].x, nodes[a].y, nodes[b].x, nodes[b].y) for a, b in pairs]
    return DrawnThemes(WIDTH, HEIGHT, nodes, links)


def _labels(themes: Sequence[Theme]) -> list[str]:
    """Names without the words that many of them have, such as those of who speaks."""
    named = [[word.strip() for word in theme.name.split(",")] for theme in themes]
    counts = Counter(word for words in named for word in set(words))
    most = max(2.0, _COMMON * len(themes))
    return [
        short(", ".join([word for word in words if counts[word] <= most] or words), _LABEL) for words in named
    ]


def _settled(number: int, pairs: Sequence[tuple[int, int]], boxes: _Spots) -> _Spots:
    """Places of the circles: the near are drawn together, all are pushed apart (Fruchterman, Reingold, 1991).

    `boxes` (n, 2) are the sizes of circles with their words, which are then moved off each other.
    """
    turn = np.arange(number) * math.pi * (3 - math.sqrt(5))  # a sunflower: even, and always the same
    spread = np.sqrt(np.arange(number) / max(1, number))
    spots = np.stack([np.cos(turn) * spread * WIDTH / 3, np.sin(turn) * spread * HEIGHT / 3], axis=1)
    length = math.sqrt(WIDTH * HEIGHT / max(1, number)) * 0.75
    a, b = (np.array([pair[end] for pair in pairs], dtype=np.int64) for end in (0, 1))
    for step in range(_STEPS if number > 1 else 0):
        apart = spots[:, None] - spots[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1.0)
        move = (apart / distance[..., None] * (length**2 / distance)[..., None]).sum(axis=1)
        if pairs:
            along = spots[a] - spots[b]
            pull = along * (np.linalg.norm(along, axis=1) / length)[:, None]
            np.subtract.at(move, a, pull)
            np.add.at(move, b, pull)
        moved = np.maximum(np.linalg.norm(move, axis=1), 1e-9)
        heat = length * 0.3 * (1 - step / _STEPS)
        spots = spots + move / moved[:, None] * np.minimum(moved, heat)[:, None]
    room = np.maximum((np.array([WIDTH, HEIGHT]) - boxes) / 2 - 6, 1.0)
    if number > 1:
        spots = spots - (spots.max(axis=0) + spots.min(axis=0)) / 2
        spots = spots * (room.min(axis=0) / np.maximum(np.abs(spots).max(axis=0), 1.0))
        for _ in range(_STEPS):
            spots = np.clip(_moved_apart(spots, boxes), -room, room)
    centred: _Spots = np.add(spots, [WIDTH / 2, HEIGHT / 2 - _LINE / 2])
    return centred


def _moved_apart(spots: _Spots, boxes: _Spots) -> _Spots:
    """A part of the way out of each overlap, along the side where that is shorter."""
    apart = spots[:, None] - spots[None]
    overlap = (boxes[:, None] + boxes[None]) / 2 - np.abs(apart)
    overlaps = np.all(overlap > 0, axis=2) & ~np.eye(len(spots), dtype=bool)
    shorter = overlap == overlap.min(axis=2, keepdims=True)
    side = np.where(apart == 0, 1e-6, np.sign(apart))
    moves = np.where(shorter & overlaps[..., None], side * overlap * 0.3, 0.0)
    moved: _Spots = np.add(spots, moves.sum(axis=1))
    return moved
