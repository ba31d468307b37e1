"""Where themes lie on a map: near ones side by side, larger ones with larger circles, none over another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zibaldone.views.hierarchy import Theme

WIDTH, HEIGHT = 1000, 620
_LEAST_RADIUS, _MORE_RADIUS = 12.0, 34.0
_LABEL_HEIGHT = 22.0  # of the line of words below a circle
_STEPS = 300
_NEAR = 6  # themes that each is drawn to
_MARGIN_X, _MARGIN_Y = 90.0, 50.0


@dataclass(frozen=True, slots=True)
class MapNode:
    """A theme's circle."""

    theme: Theme
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
class ThemeMap:
    """What is drawn, in units of a view box of WIDTH by HEIGHT."""

    width: int
    height: int
    nodes: list[MapNode]
    links: list[MapLink]


def draw(themes: Sequence[Theme], *, centre: int | None = None) -> ThemeMap:
    """The same map for the same themes. `centre` is the id of one that is looked at."""
    place = {theme.id: number for number, theme in enumerate(themes)}
    pairs = sorted(
        {
            (min(place[theme.id], place[other]), max(place[theme.id], place[other]))
            for theme in themes
            for other in theme.near[:_NEAR]
            if other in place
        }
    )
    most = max((len(theme.semantics) for theme in themes), default=1) or 1
    radii = np.array(
        [_LEAST_RADIUS + _MORE_RADIUS * math.sqrt(len(theme.semantics) / most) for theme in themes]
    )
    spots = _settled(len(themes), pairs, radii)
    nodes = [
        MapNode(theme, round(float(x), 1), round(float(y), 1), round(float(radius), 1), theme.id == centre)
        for theme, (x, y), radius in zip(themes, spots, radii, strict=True)
    ]
    links = [MapLink(nodes[a].x, nodes[a].y, nodes[b].x, nodes[b].y) for a, b in pairs]
    return ThemeMap(WIDTH, HEIGHT, nodes, links)


def _settled(
    number: int, pairs: Sequence[tuple[int, int]], radii: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Places (n, 2): springs between the near, all else pushes apart (Fruchterman and Reingold, 1991)."""
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
        move -= spots * 0.6  # to the middle, or what has no neighbour flies off
        moved = np.maximum(np.linalg.norm(move, axis=1), 1e-9)
        heat = length * 0.3 * (1 - step / _STEPS)
        spots = spots + move / moved[:, None] * np.minimum(moved, heat)[:, None]
        spots = _kept_apart(spots, radii)
    room = np.array([WIDTH / 2 - _MARGIN_X, HEIGHT / 2 - _MARGIN_Y])
    if number > 1:
        spots = spots - (spots.max(axis=0) + spots.min(axis=0)) / 2
        spots = spots * np.minimum(room / np.maximum(np.abs(spots).max(axis=0), 1.0), 1.6)
        for _ in range(60):
            spots = np.clip(_kept_apart(spots, radii), -room, room)
    return spots + np.array([WIDTH / 2, HEIGHT / 2])


def _kept_apart(spots: npt.NDArray[np.float64], radii: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Half of the way out of each overlap, the words below the circles included."""
    apart = spots[:, None] - spots[None]
    distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-6)
    wanted = radii[:, None] + radii[None] + _LABEL_HEIGHT
    np.fill_diagonal(wanted, 0.0)
    overlap = np.maximum(wanted - distance, 0.0)
    return spots + (apart / distance[..., None] * overlap[..., None] * 0.25).sum(axis=1)
