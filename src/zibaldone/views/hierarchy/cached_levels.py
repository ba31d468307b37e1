"""The structure of a user's hierarchy in memory, as recall needs it, kept in step by counters.

Every episode that is closed raises the ids that are given next, and every forgetting the user's counter of
deletions; messages that join an open episode change neither, and cost a recall nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, func, select

from zibaldone import log
from zibaldone.search.lexical import Ints
from zibaldone.storage.schema import hierarchy_semantics, hierarchy_themes
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.table import SemanticRow, State, ThemeRow
from zibaldone.views.units import Key
from zibaldone.views.user_cache import UserCache


@dataclass(frozen=True, slots=True)
class Mark:
    """Rows that have the same mark are the same."""

    generation: int
    deletions: int
    state: State
    named: int  # themes that a model has named

    def may_grow_into(self, later: Mark) -> bool:
        """Whether nothing but episodes came in between."""
        return (self.generation, self.deletions) == (later.generation, later.deletions) and (
            self._given() <= later._given()
        )

    def _given(self) -> tuple[int, int]:
        return self.state.next_episode, self.state.next_semantic


@dataclass(frozen=True, slots=True)
class Levels:
    """Semantics and themes of a generation, which are in which; never changed once made.

    Rows of arrays are as those of `semantics`. The texts are units, in the units' own cache.
    """

    mark: Mark | None
    semantics: tuple[SemanticRow, ...]  # ids rising
    themes: Mapping[int, ThemeRow]
    by_model: frozenset[int]  # episodes that a model told
    ids: Ints  # (n,)
    theme_of: Ints  # (n,)
    row_of: Mapping[int, int]  # by semantic
    row_with: Mapping[Key, int]  # by unit of a statement

    @staticmethod
    def of(
        mark: Mark | None,
        semantics: Mapping[int, SemanticRow],
        themes: Mapping[int, ThemeRow],
        by_model: frozenset[int],
    ) -> Levels:
        """Put together from rows, ids rising."""
        rows = tuple(semantics.values())
        return Levels(
            mark,
            rows,
            themes,
            by_model,
            ids=np.fromiter((row.id for row in rows), np.int64, len(rows)),
            theme_of=np.fromiter((row.theme for row in rows), np.int64, len(rows)),
            row_of={row.id: place for place, row in enumerate(rows)},
            row_with={key: place for place, row in enumerate(rows) for key in row.units},
        )

    @staticmethod
    def nothing() -> Levels:
        """Of a user whose messages are in no episode yet."""
        return Levels.of(None, {}, {}, frozenset())


def levels_of(cache: UserCache[Levels], connection: Connection, generation: Generation) -> Levels:
    """As of the connection's snapshot."""
    state = table.state(connection, generation)
    if state is None:
        return Levels.nothing()
    counters = log.state(connection, generation.user)
    mark = Mark(generation.number, counters.deletions, state, _named(connection, generation))
    before = cache.get(generation.user)
    if before is not None and before.mark == mark:
        return before
    levels = _load(connection, generation, mark, before)
    cache.put(generation.user, levels, counters)
    return levels


def _load(connection: Connection, generation: Generation, mark: Mark, before: Levels | None) -> Levels:
    if before is not None and before.mark is not None and before.mark.may_grow_into(mark):
        # Semantics that the new episodes made, stated again, moved or relinked.
        numbers = table.stated_since(connection, generation, before.mark.state.next_unit)
        numbers |= _moved(connection, generation, before, before.mark.state.next_semantic)
        known = {row.id: row for row in before.semantics}
        semantics = dict(sorted((known | table.semantics(connection, generation, sorted(numbers))).items()))
    else:
        semantics = table.semantics(connection, generation)
    themes = table.themes(connection, generation)
    return Levels.of(mark, semantics, themes, table.told_by_model(connection, generation))


def _moved(connection: Connection, generation: Generation, before: Levels, first_new: int) -> set[int]:
    """Known semantics of another theme, and those of whose neighbours some are new.

    Without a forgetting nothing else changes a list: vectors stay, and a nearer one comes in.
    """
    h = hierarchy_semantics.c
    query = select(h.semantic, h.theme, h.neighbours).where(table.of(hierarchy_semantics, generation))
    themes = dict(zip(before.ids.tolist(), before.theme_of.tolist(), strict=True))
    moved = set()
    for row in connection.execute(query):
        ids = np.frombuffer(row.neighbours, dtype="<f8").reshape(2, -1)[0]
        if themes.get(row.semantic) != row.theme or (ids >= first_new).any():
            moved.add(row.semantic)
    return moved


def _named(connection: Connection, generation: Generation) -> int:
    t = hierarchy_themes
    query = select(func.count()).where(table.of(t, generation), t.c.made_by != "")
    return int(connection.execute(query).scalar_one())
