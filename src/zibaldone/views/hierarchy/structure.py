"""A user's semantics, themes and both graphs in memory, as they are built (section 3.2).

Whatever changes is noted, and `take` hands it out as rows. What comes next is a function of the rows alone:
a structure that was loaded goes on as the one that wrote them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from zibaldone.models.base import Vectors
from zibaldone.search import dense
from zibaldone.text.titles import telling
from zibaldone.text.words import terms
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.calibration import Thresholds
from zibaldone.views.hierarchy.changes import Changes
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.graph import Graph, on_grid
from zibaldone.views.hierarchy.nodes import Semantic, Statement
from zibaldone.views.hierarchy.semantics import MOST_KNOWN, Background, Distilled, Near
from zibaldone.views.hierarchy.table import SemanticRow, State, ThemeRow, Written
from zibaldone.views.hierarchy.themes import ThemeMap
from zibaldone.views.units import Key

_NAME_WORDS = 4  # of a theme that no model has named


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A statement that no row is of yet; its vector is (d,)."""

    statement: Statement
    part: int
    vector: Vectors


class Structure:
    """One generation of one user."""

    def __init__(self, thresholds: Thresholds, config: XMemory, state: State) -> None:
        self.state = state
        self.semantics: dict[int, Semantic] = {}
        self.themes = ThemeMap(
            state.dimension, thresholds, cap=config.theme_cap, split=config.split, merge=config.merge
        )
        self.graph = Graph(state.dimension)
        self.df: Counter[str] = Counter()  # statements by term
        self.statements = 0
        self._fetch = thresholds.fetch
        self._vectors: dict[int, Vectors] = {}  # (statements, d) by semantic
        self._units: dict[int, tuple[Key, ...]] = {}  # of its statements, by semantic
        self._names: dict[int, tuple[str, str]] = {}  # of themes, and by which model
        self._dirty_semantics: set[int] = set()
        self._dirty_themes: set[int] = set()
        self._unnamed: set[int] = set()
        self._gone: tuple[set[int], set[int]] = (set(), set())  # semantics, themes

    @staticmethod
    def load(
        connection: Connection, generation: Generation, thresholds: Thresholds, config: XMemory, state: State
    ) -> Structure:
        made, dimension = Structure(thresholds, config, state), state.dimension
        rows = table.semantics(connection, generation)
        themes = table.themes(connection, generation)
        stated = table.statements(connection, generation)
        made.semantics = {number: table.whole(row, stated) for number, row in rows.items()}
        made._units = {number: row.units for number, row in rows.items()}
        made._vectors = {
            number: dense.from_bytes([stated[key][1] for key in row.units], dimension)
            for number, row in rows.items()
        }
        made._names = {number: (row.name, row.made_by) for number, row in themes.items()}
        for semantic in made.semantics.values():
            made._count(semantic.statements, 1)
        firsts = {number: vectors[0] for number, vectors in made._vectors.items()}
        made.themes.restore(
            {number: row.theme for number, row in rows.items()},
            firsts,
            next_theme=state.next_theme,
            reassigned=[number for number, row in rows.items() if row.reassigned],
            neighbours={number: row.neighbours for number, row in themes.items()},
        )
        made.graph = Graph.restore(
            dimension,
            list(rows),
            np.stack(list(firsts.values())) if firsts else np.zeros((0, dimension), dtype=np.float32),
            {number: row.neighbours for number, row in rows.items()},
        )
        return made

    def background(self) -> Background:
        """What the next episode is read against."""
        return Background(
            self.state.next_episode,
            self.state.next_semantic,
            self.known,
            self._fetch,
            self.df,
            self.statements,
        )

    def known(self, vectors: Vectors) -> list[list[Near]]:
        """For each row of (n, d), the nearest semantics above the calibrated similarity, nearest first."""
        ids = self.graph.ids
        if not len(ids):
            return [[] for _ in vectors]
        similar = self.graph.similarities(on_grid(vectors))
        nearest: list[list[Near]] = []
        for column in similar.T:
            near = np.flatnonzero(column >= self._fetch)
            near = near[np.lexsort((ids[near], -column[near]))][:MOST_KNOWN]
            nearest.append([Near(self.semantics[int(ids[i])], float(column[i])) for i in near])
        return nearest

    def settle(self, distilled: Distilled, vectors: Sequence[Vectors], additions: Vectors) -> list[NewUnit]:
        """Take in what an episode adds; gives the units that its statements are to be.

        `vectors`: (statements, d) of each new semantic; `additions`: (n, d), of the further statements.
        """
        new: list[NewUnit] = []

        def unit_of(statement: Statement, vector: Vectors) -> Key:
            new.append(NewUnit(statement, self.state.next_unit + len(new), vector))
            return statement.seq, new[-1].part

        for semantic, rows in zip(distilled.new, vectors, strict=True):
            self.semantics[semantic.id], self._vectors[semantic.id] = semantic, rows
            pairs = zip(semantic.statements, rows, strict=True)
            self._units[semantic.id] = tuple(unit_of(statement, row) for statement, row in pairs)
            self._count(semantic.statements, 1)
            self._dirty_semantics.add(semantic.id)
            self._note(self.themes.add(semantic.id, rows[0]))
        if distilled.new:
            ids = [semantic.id for semantic in distilled.new]
            firsts = np.stack([rows[0] for rows in vectors])
            self._dirty_semantics.update(self.graph.add(ids, firsts))
        for addition, row in zip(distilled.additions, additions, strict=True):
            old = self.semantics[addition.semantic]
            self.semantics[old.id] = replace(old, statements=(*old.statements, addition.statement))
            self._units[old.id] = (*self._units[old.id], unit_of(addition.statement, row))
            self._vectors[old.id] = np.concatenate([self._vectors[old.id], row[None]])
            self._count([addition.statement], 1)
            self._dirty_semantics.add(old.id)
        self.state = replace(
            self.state,
            next_episode=self.state.next_episode + 1,
            next_semantic=self.state.next_semantic + len(distilled.new),
            next_theme=self.themes.next_theme,
            next_unit=self.state.next_unit + len(new),
        )
        return new

    def unsay(self, seqs: AbstractSet[int], origin: Mapping[int, tuple[int, Semantic]]) -> None:
        """Take out all that these messages state. A semantic that others state too is theirs from now on.

        `origin`: for such semantics, the episode of the first of those messages, and the semantic with that
        message's time.
        """
        lost, moved = [], []
        for number, semantic in self.semantics.items():
            left = [i for i, one in enumerate(semantic.statements) if one.seq not in seqs]
            if len(left) == len(semantic.statements):
                continue
            self._count([one for one in semantic.statements if one.seq in seqs], -1)
            if not left:
                lost.append(number)
                continue
            self._dirty_semantics.add(number)
            self._unnamed.add(self.themes.theme(number))
            remaining = tuple(semantic.statements[i] for i in left)
            episode, retimed = origin[number]
            self.semantics[number] = replace(retimed, episode=episode, statements=remaining)
            self._vectors[number] = self._vectors[number][left]
            self._units[number] = tuple(self._units[number][i] for i in left)
            if left[0]:
                moved.append(number)
        self._note(self.themes.remove([*lost, *moved]))
        self._dirty_semantics.update(self.graph.remove(lost))
        for number in lost:
            del self.semantics[number], self._vectors[number], self._units[number]
        self._gone[0].update(lost)
        for number in moved:
            self._note(self.themes.add(number, self._vectors[number][0]))
        if moved:
            firsts = np.stack([self._vectors[number][0] for number in moved])
            self._dirty_semantics.update(self.graph.add(moved, firsts))
        self.state = replace(self.state, next_theme=self.themes.next_theme)

    def stated_by(self, seqs: AbstractSet[int]) -> list[Semantic]:
        """Semantics that any of these messages state."""
        return [one for one in self.semantics.values() if not seqs.isdisjoint(one.seqs)] if seqs else []

    def name(self, theme: int, name: str, made_by: str) -> None:
        """What a model calls a theme."""
        self._names[theme] = (name, made_by)
        self._dirty_themes.add(theme)

    def vector(self, semantic: int) -> Vectors:
        """(d,) of what it is known by."""
        return np.asarray(self._vectors[semantic][0])

    def texts(self, theme: int) -> list[str]:
        return [self.semantics[number].text for number in self.themes.themes[theme]]

    def unnamed(self) -> list[int]:
        """Themes whose name is no model's, or of other semantics than those they have."""
        return [theme for theme in self.themes.themes if not self._names.get(theme, ("", ""))[1]]

    def take(self) -> Written:
        """What has changed since the last call."""
        for theme in sorted(self._unnamed & self.themes.themes.keys()):
            self._names[theme] = (self._plain_name(theme), "")
        semantics = sorted(self._dirty_semantics & self.semantics.keys())
        themes = sorted((self._dirty_themes | self._unnamed) & self.themes.themes.keys())
        written = Written(
            tuple(
                SemanticRow(
                    number,
                    self.semantics[number].episode,
                    self.semantics[number].time,
                    self.themes.theme(number),
                    number in self.themes.reassigned,
                    self.graph.neighbours(number),
                    self._units[number],
                )
                for number in semantics
            ),
            tuple(ThemeRow(theme, *self._names[theme], self.themes.listed(theme)) for theme in themes),
            tuple(sorted(self._gone[0])),
            tuple(sorted(self._gone[1])),
        )
        self._dirty_semantics, self._dirty_themes, self._unnamed = set(), set(), set()
        self._gone = (set(), set())
        return written

    def _note(self, changes: Changes) -> None:
        self._dirty_semantics.update(move.semantic for move in changes.moves)
        self._dirty_themes.update(changes.relinked)
        self._unnamed.update(changes.created, changes.changed)
        self._gone[1].update(changes.removed)
        for theme in changes.removed:
            self._names.pop(theme, None)

    def _count(self, statements: Sequence[Statement], sign: int) -> None:
        self.statements += sign * len(statements)
        for statement in statements:
            for term in set(terms(statement.text)):
                self.df[term] += sign
                if not self.df[term]:
                    del self.df[term]

    def _plain_name(self, theme: int) -> str:
        texts = self.texts(theme)
        return ", ".join(telling(texts, _NAME_WORDS)) or texts[0][:60]
