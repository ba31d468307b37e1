"""The structure of a user's hierarchy in memory, as recall needs it, kept in step by counters.

Every episode that is closed raises the ids that are given next, and every forgetting the user's counter of
deletions; messages that join an open episode change neither, and cost a recall nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.search.lexical import Ints
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.table import SemanticRow
from zibaldone.views.units import Key
from zibaldone.views.user_cache import UserCache


@dataclass(frozen=True, slots=True)
class Mark:
    """Rows that have the same mark are the same."""

    generation: int
    deletions: int
    next_episode: int
    next_semantic: int
    next_unit: int


@dataclass(frozen=True, slots=True)
class Levels:
    """Semantics of a generation; never changed once made.

    Rows of arrays are as those of `semantics`. The texts are units, in the units' own cache.
    """

    mark: Mark | None
    semantics: tuple[SemanticRow, ...]  # ids rising
    by_model: frozenset[int]  # episodes that a model told
    ids: Ints  # (n,)
    row_of: Mapping[int, int]  # by semantic
    row_with: Mapping[Key, int]  # by unit of a statement

    @staticmethod
    def of(
        mark: Mark | None,
        semantics: Mapping[int, SemanticRow],
        by_model: frozenset[int],
    ) -> Levels:
        """Put together from rows, ids rising."""
        rows = tuple(semantics.values())
        return Levels(
            mark,
            rows,
            by_model,
            ids=np.fromiter((row.id for row in rows), np.int64, len(rows)),
            row_of={row.id: place for place, row in enumerate(rows)},
            row_with={key: place for place, row in enumerate(rows) for key in row.units},
        )

    @staticmethod
    def nothing() -> Levels:
        """Of a user whose messages are in no episode yet."""
        return Levels.of(None, {}, frozenset())


def levels_of(cache: UserCache[Levels], connection: Connection, generation: Generation) -> Levels:
    """As of the connection's snapshot."""
    state = table.state(connection, generation)
    if state is None:
        return Levels.nothing()
    counters = log.state(connection, generation.user)
    mark = Mark(
        generation.number, counters.deletions, state.next_episode, state.next_semantic, state.next_unit
    )
    before = cache.get(generation.user)
    if before is not None and before.mark == mark:
        return before
    semantics = table.semantics(connection, generation)
    levels = Levels.of(mark, semantics, table.told_by_model(connection, generation))
    cache.put(generation.user, levels, counters)
    return levels
