"""The hierarchy for people who look: themes with their semantics, episodes with their messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import Connection

from zibaldone.models.base import Vectors
from zibaldone.search import dense
from zibaldone.search.clustering import unit
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.nodes import Episode, Semantic
from zibaldone.views.hierarchy.table import SemanticRow

_NEAR = 10  # themes beside a theme
_BLOCK = 1000  # themes that are compared with the others at once


@dataclass(frozen=True, slots=True)
class Theme:
    """Semantics that belong together; every semantic that maintenance has seen to is in exactly one theme."""

    id: int
    name: str
    semantics: tuple[Semantic, ...]  # in the order in which they were learnt
    near: tuple[int, ...]  # themes that say the most like it, nearest first

    @property
    def start(self) -> datetime:
        """When it was first spoken of."""
        return min(semantic.time for semantic in self.semantics)

    @property
    def end(self) -> datetime:
        """When something new was last said of it."""
        return max(semantic.time for semantic in self.semantics)


def themes(connection: Connection, generation: Generation) -> list[Theme]:
    """All of a generation, in the order in which they began."""
    state, stated = table.state(connection, generation), table.statements(connection, generation)
    members: dict[int, list[SemanticRow]] = {}
    for row in table.semantics(connection, generation).values():
        members.setdefault(row.theme, []).append(row)
    named = [row for row in table.themes(connection, generation).values() if row.id in members]
    if state is None or not named:
        return []
    semantics = [tuple(table.whole(semantic, stated) for semantic in members[row.id]) for row in named]
    vectors = [[stated[semantic.units[0]][1] for semantic in members[row.id]] for row in named]
    near = _near(np.stack([dense.from_bytes(rows, state.dimension).sum(axis=0) for rows in vectors]))
    return [
        Theme(row.id, row.name, facts, tuple(named[place].id for place in places))
        for row, facts, places in zip(named, semantics, near, strict=True)
    ]


def _near(sums: Vectors) -> Iterator[list[int]]:
    """For each of the themes (n, d) the places of those whose direction is nearest to its own, above 0."""
    rows = unit(sums)
    for first in range(0, len(rows), _BLOCK):
        similar = rows[first : first + _BLOCK] @ rows.T
        similar[np.arange(len(similar)), first + np.arange(len(similar))] = 0
        for line in similar.round(6):
            order = np.argsort(-line, kind="stable")[:_NEAR]
            yield order[line[order] > 0].tolist()


def episodes(connection: Connection, generation: Generation) -> list[Episode]:
    """All of a generation, in the order in which they were told."""
    if (state := table.state(connection, generation)) is None:
        return []
    return [row.episode for row in table.episodes(connection, generation, state.dimension).values()]
