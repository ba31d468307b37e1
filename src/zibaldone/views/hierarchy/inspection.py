"""The hierarchy for people who look: themes with their semantics, episodes with their messages."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.nodes import Episode, Semantic


@dataclass(frozen=True, slots=True)
class Theme:
    """Semantics that belong together; every semantic is in exactly one theme."""

    id: int
    name: str
    semantics: tuple[Semantic, ...]
    near: tuple[int, ...]  # themes beside it in the graph, nearest first


def themes(connection: Connection, generation: Generation) -> list[Theme]:
    """All of a generation, in the order in which they began."""
    members: dict[int, list[Semantic]] = {}
    stated = table.statements(connection, generation)
    for row in table.semantics(connection, generation).values():
        members.setdefault(row.theme, []).append(table.whole(row, stated))
    return [
        Theme(row.id, row.name, tuple(members.get(row.id, ())), row.neighbours.ids)
        for row in table.themes(connection, generation).values()
    ]


def episodes(connection: Connection, generation: Generation) -> list[Episode]:
    """All of a generation, in the order in which they were told."""
    if (state := table.state(connection, generation)) is None:
        return []
    return [row.episode for row in table.episodes(connection, generation, state.dimension).values()]
