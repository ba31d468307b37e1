"""The theme map: one conversation's semantics in the plane, coloured by theme."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from zibaldone.bench.hierarchy.structure import Built
from zibaldone.bench.outcome import need
from zibaldone.errors import InvalidInput
from zibaldone.models.base import Vectors
from zibaldone.views.hierarchy.themes import CAP

Points = npt.NDArray[np.float64]  # (n, 2)
_Label = tuple[float, float, str, tuple[float, float, float, float]]  # x, y, name, colour

NAMED = 12  # the largest themes, by name
_MOST_NEIGHBOURLY = 2000  # semantics; the embedding compares all pairs, round after round
_PERPLEXITY = 12.0  # as many neighbours as a theme has room for
_ROUNDS = 500
_EARLY = 120  # rounds in which attraction is exaggerated, so that groups can still pass each other
_EXAGGERATION = 8.0


def plot(built: Built, title: str, path: Path) -> None:
    """A PNG: a dot per semantic, lines within a theme, names for the largest themes.

    Raises MissingExtra, and InvalidInput when there is nothing to show or the file cannot be written.
    """
    need("matplotlib")
    if (count := len(built.structure.semantics)) < 2:
        raise InvalidInput(f"--plot: {title} has {count} semantics: a map needs two")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    built.structure.arrange(CAP, built.together)
    names = {theme.id: theme.name for theme in built.structure.take().themes}
    semantics = sorted(built.structure.semantics)
    points, how = projected(built.vectors(semantics))
    place = {number: at for at, number in enumerate(semantics)}
    themes = sorted(built.structure.themes().items(), key=lambda item: (-len(item[1]), item[0]))
    figure, axis = plt.subplots(figsize=(13, 9), layout="constrained")
    strong, faint = mpl.colormaps["tab20"], mpl.colormaps["hsv"]
    labels: list[_Label] = []
    for rank, (theme, members) in enumerate(themes):
        own = points[[place[member] for member in members]]
        is_named = rank < NAMED and len(members) > 1
        colour = strong(rank % 20) if is_named else faint(rank * 0.618034 % 1)
        middle = np.median(own, axis=0)
        for point in own:
            axis.plot(*zip(middle, point, strict=True), color=colour, lw=0.6, alpha=0.6 if is_named else 0.15)
        axis.scatter(
            own[:, 0],
            own[:, 1],
            color=[colour],
            s=30 if is_named else 12,
            alpha=1.0 if is_named else 0.45,
            lw=0,
        )
        if is_named:
            labels.append((float(middle[0]), float(middle[1]), names[theme], colour))
    for x, y, name, colour in _apart(labels, points):
        axis.annotate(
            name,
            (x, y),
            ha="center",
            fontsize=8,
            bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": colour, "alpha": 0.85},
        )
    axis.set_axis_off()
    axis.set_title(
        f"{title}: {count} semantics in {len(themes)} themes, the largest named; {how}", fontsize=10
    )
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--plot {str(path)!r} cannot be written: {error}") from error
    finally:
        plt.close(figure)


def _apart(labels: Sequence[_Label], points: Points) -> list[_Label]:
    """The same from the bottom up, each high enough above those that it would cover."""
    wide, high = np.ptp(points, axis=0) * (0.0075, 0.026)  # of a letter, of a box
    placed: list[_Label] = []
    for x, y, name, colour in sorted(labels, key=lambda label: label[1]):
        for other_x, other_y, other, _ in placed:
            if abs(x - other_x) < wide * (len(name) + len(other)) / 2 and y < other_y + high:
                y = other_y + high
        placed.append((x, y, name, colour))
    return placed


def projected(vectors: Vectors) -> tuple[Points, str]:
    """Places in the plane of (n, d), n > 1, and the name of the projection; the same for the same vectors.

    Principal components keep what is far apart, neighbours what is near: themes are of neighbours.
    """
    start = components(vectors)
    if not 3 * _PERPLEXITY < len(vectors) <= _MOST_NEIGHBOURLY:
        return start, "principal components"
    return neighbourly(vectors, start), "t-SNE"


def components(vectors: Vectors) -> Points:
    """The first two principal components, by SVD; a component's sign is that of its farthest row."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    points[:, : values[:2].size] = left[:, :2] * values[:2]
    farthest = np.abs(points).argmax(axis=0)
    return points * np.where(points[farthest, [0, 1]] < 0, -1.0, 1.0)


def neighbourly(vectors: Vectors, start: Points) -> Points:
    """t-SNE from a given start, all pairs (van der Maaten and Hinton, 2008): no chance is in it."""
    wanted = _affinities(vectors)
    places = start / max(float(start.std()), 1e-12) * 1e-2
    speed, gains = np.zeros_like(places), np.ones_like(places)
    rate = max(len(places) / _EXAGGERATION / 4, 20.0)
    for nth in range(_ROUNDS):
        close = 1 / (1 + _squares(places))
        np.fill_diagonal(close, 0)
        pull = (wanted * (_EXAGGERATION if nth < _EARLY else 1.0) - close / close.sum()) * close
        slope = 4 * (pull.sum(axis=1, keepdims=True) * places - pull @ places)
        gains = np.maximum(np.where(slope * speed > 0, gains * 0.8, gains + 0.2), 0.01)
        speed = (0.5 if nth < _EARLY else 0.8) * speed - rate * gains * slope
        places = places + speed
        places -= places.mean(axis=0)
    return places


def _affinities(vectors: Vectors) -> Points:
    """(n, n) that sum to 1: each row's widths are such that its perplexity is the wanted one."""
    distances = _squares(vectors.astype(np.float64))
    np.fill_diagonal(distances, np.inf)
    low, high = np.zeros(len(distances)), np.full(len(distances), np.inf)
    precision = np.ones(len(distances))
    nearest = distances.min(axis=1, keepdims=True)
    for _ in range(50):
        rows = np.exp(-(distances - nearest) * precision[:, None])
        rows /= rows.sum(axis=1, keepdims=True)
        entropy = -(rows * np.log(rows, out=np.zeros_like(rows), where=rows > 0)).sum(axis=1)
        wide = entropy > np.log(_PERPLEXITY)
        low, high = np.where(wide, precision, low), np.where(wide, high, precision)
        precision = np.where(np.isinf(high), precision * 2, (low + high) / 2)
    both = rows + rows.T
    return np.asarray(both / both.sum())


def _squares(rows: Points) -> Points:
    own = (rows * rows).sum(axis=1)
    return np.asarray(np.maximum(own[:, None] + own[None] - 2 * rows @ rows.T, 0))
