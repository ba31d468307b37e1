"""A user's semantics and themes in memory, as they are built (section 3.2).

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
from zibaldone.text.words import terms, words
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.nodes import Semantic, Statement
from zibaldone.views.hierarchy.semantics import MOST_KNOWN, Background, Distilled, Near
from zibaldone.views.hierarchy.table import NO_THEME, SemanticRow, State, ThemeRow, Written
from zibaldone.views.hierarchy.themes import group, grouped_at, join
from zibaldone.views.units import Key

_NAME_WORDS = 4  # of a theme that no model has named
_GRID = 4080.0  # below 4096 = sqrt(2^24), with room for what rounding adds to the length


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A statement that no row is of yet; its vector is (d,)."""

    statement: Statement
    part: int
    vector: Vectors


class Structure:
    """One generation of one user."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.semantics: dict[int, Semantic] = {}
        self.df: Counter[str] = Counter()  # statements by term
        self.statements = 0
        self._vectors: dict[int, Vectors] = {}  # (statements, d) by semantic
        self._units: dict[int, tuple[Key, ...]] = {}  # of its statements, by semantic
        self._theme: dict[int, int] = {}  # by semantic; NO_THEME until it is put into one
        self._names: dict[int, tuple[str, str]] = {}  # of themes, and by which model
        self._rows: dense.PlainMatrix | None = None  # of `semantics`, on the grid; None: to be made again
        self._dirty_semantics: set[int] = set()
        self._dirty_themes: set[int] = set()
        self._unnamed: set[int] = set()
        self._gone: tuple[set[int], set[int]] = (set(), set())  # semantics, themes

    @staticmethod
    def load(connection: Connection, generation: Generation, state: State) -> Structure:
        made = Structure(state)
        rows = table.semantics(connection, generation)
        stated = table.statements(connection, generation)
        made.semantics = {number: table.whole(row, stated) for number, row in rows.items()}
        made._units = {number: row.units for number, row in rows.items()}
        made._theme = {number: row.theme for number, row in rows.items()}
        made._vectors = {
            number: dense.from_bytes([stated[key][1] for key in row.units], state.dimension)
            for number, row in rows.items()
        }
        themes = table.themes(connection, generation)
        made._names = {number: (row.name, row.made_by) for number, row in themes.items()}
        for semantic in made.semantics.values():
            made._count(semantic.statements, 1)
        return made

    def background(self, threshold: float) -> Background:
        """What the next episode is read against: what is as similar as `threshold`, at least."""

        def known(vectors: Vectors) -> list[list[Near]]:
            return self.known(vectors, threshold)

        return Background(
            self.state.next_episode,
            self.state.next_semantic,
            known,
            threshold,
            self.df,
            self.statements,
        )

    def known(self, vectors: Vectors, threshold: float) -> list[list[Near]]:
        """For each row of (n, d), the nearest semantics of this similarity at least, nearest first.

        Two similarities may not differ by how many were compared at once. So vectors are put on a grid of
        whole numbers, whose products and partial sums are whole numbers below 2^24: float32 holds them
        without rounding, whatever the order of the sum. A similarity is off by about 0.0001.
        """
        ids = np.fromiter(self.semantics, np.int64, len(self.semantics))
        similar = (self._gridded().rows @ _on_grid(vectors).T).astype(np.float64) / _GRID**2
        nearest: list[list[Near]] = []
        for column in similar.T:
            near = np.flatnonzero(column >= threshold)
            near = near[np.lexsort((ids[near], -column[near]))][:MOST_KNOWN]
            nearest.append([Near(self.semantics[int(ids[i])], float(column[i])) for i in near])
        return nearest

    def settle(self, distilled: Distilled, vectors: Sequence[Vectors], additions: Vectors) -> list[NewUnit]:
        """Take in what an episode adds; gives the units that its statements are to be.

        `vectors`: (statements, d) of each new semantic; `additions`: (n, d), of the further statements.
        """
        new: list[NewUnit] = []
        gridded = self._gridded()

        def unit_of(statement: Statement, vector: Vectors) -> Key:
            new.append(NewUnit(statement, self.state.next_unit + len(new), vector))
            return statement.seq, new[-1].part

        for semantic, rows in zip(distilled.new, vectors, strict=True):
            self.semantics[semantic.id], self._vectors[semantic.id] = semantic, rows
            pairs = zip(semantic.statements, rows, strict=True)
            self._units[semantic.id] = tuple(unit_of(statement, row) for statement, row in pairs)
            self._theme[semantic.id] = NO_THEME
            self._count(semantic.statements, 1)
            self._dirty_semantics.add(semantic.id)
            gridded.extend(_on_grid(rows[:1]))
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
            next_unit=self.state.next_unit + len(new),
        )
        return new

    def unsay(self, seqs: AbstractSet[int], origin: Mapping[int, tuple[int, Semantic]]) -> None:
        """Take out all that these messages state. A semantic that others state too is theirs from now on.

        Themes lose what goes and a name that may be of it, and are to be made anew. `origin`: for semantics
        of others, the episode of the first of those messages, and the semantic with that message's time.
        """
        before, stated = self.themes(), self.stated_by(seqs)
        for semantic in stated:
            left = [i for i, one in enumerate(semantic.statements) if one.seq not in seqs]
            self._count([one for one in semantic.statements if one.seq in seqs], -1)
            self._unnamed.add(self._theme[semantic.id])
            if not left:
                del self.semantics[semantic.id], self._vectors[semantic.id]
                del self._units[semantic.id], self._theme[semantic.id]
                self._gone[0].add(semantic.id)
                continue
            self._dirty_semantics.add(semantic.id)
            remaining = tuple(semantic.statements[i] for i in left)
            episode, retimed = origin[semantic.id]
            self.semantics[semantic.id] = replace(retimed, episode=episode, statements=remaining)
            self._vectors[semantic.id] = self._vectors[semantic.id][left]
            self._units[semantic.id] = tuple(self._units[semantic.id][i] for i in left)
        if stated:
            self.state, self._rows = replace(self.state, grouped=0), None
        self._end(before.keys() - self.themes().keys())

    def stated_by(self, seqs: AbstractSet[int]) -> list[Semantic]:
        """Semantics that any of these messages state."""
        return [one for one in self.semantics.values() if not seqs.isdisjoint(one.seqs)] if seqs else []

    def themes(self) -> dict[int, list[int]]:
        """The semantics of each theme, ids rising; a theme's id is that of its first when it was made."""
        members: dict[int, list[int]] = {}
        for semantic in sorted(self._theme):
            if self._theme[semantic] != NO_THEME:
                members.setdefault(self._theme[semantic], []).append(semantic)
        return dict(sorted(members.items()))

    def arrange(self, cap: int, least: float) -> None:
        """Put semantics into themes: those that have none, or all of them when it is time for that."""
        ids, before = sorted(self.semantics), self.themes()
        at = grouped_at(len(ids))
        anew = (at, cap) != (self.state.grouped, self.state.theme_cap)
        place_of = {number: place for place, number in enumerate(ids)}
        new = [place_of[number] for number in ids if anew or self._theme[number] == NO_THEME]
        if not new:
            return
        rows = np.stack([self._vectors[number][0] for number in ids])
        groups = sorted([place_of[number] for number in members] for members in before.values())
        if anew:
            groups, new = group(rows[:at], cap, least), new[at:]
        grouped = [[place for place in members if place < at] for members in groups if members[0] < at]
        for members in join(groups, grouped, rows, new, cap, least):
            self._regroup(ids[members[0]], [ids[place] for place in members], before)
        self._end(before.keys() - self.themes().keys())
        self.state = replace(self.state, grouped=at, theme_cap=cap)

    def name(self, theme: int, name: str, made_by: str) -> None:
        """What a model calls a theme."""
        self._names[theme] = (name, made_by)
        self._dirty_themes.add(theme)
        self._unnamed.discard(theme)

    def vector(self, semantic: int) -> Vectors:
        """(d,) of what it is known by."""
        return np.asarray(self._vectors[semantic][0])

    def unnamed(self) -> dict[int, list[str]]:
        """What themes say whose name is no model's, or of other semantics than those they have."""
        return {
            theme: [self.semantics[number].text for number in members]
            for theme, members in self.themes().items()
            if theme in self._unnamed or not self._names.get(theme, ("", ""))[1]
        }

    def take(self) -> Written:
        """What has changed since the last call."""
        held = self.themes()
        for theme in sorted(self._unnamed & held.keys()):
            self._names[theme] = (self._plain_name(held[theme]), "")
        semantics = sorted(self._dirty_semantics & self.semantics.keys())
        themes = sorted((self._dirty_themes | self._unnamed) & held.keys())
        written = Written(
            tuple(
                SemanticRow(
                    number,
                    self.semantics[number].episode,
                    self.semantics[number].time,
                    self._theme[number],
                    self._units[number],
                )
                for number in semantics
            ),
            tuple(ThemeRow(theme, *self._names[theme]) for theme in themes),
            tuple(sorted(self._gone[0])),
            tuple(sorted(self._gone[1])),
        )
        self._dirty_semantics, self._dirty_themes, self._unnamed = set(), set(), set()
        self._gone = (set(), set())
        return written

    def _plain_name(self, members: Sequence[int]) -> str:
        """What these semantics speak of most, without the names of those who say so."""
        texts = [self.semantics[number].text for number in members]
        speakers = {said.speaker for number in members for said in self.semantics[number].statements}
        parties = frozenset(word for speaker in speakers for word in words(speaker))
        return ", ".join(telling(texts, _NAME_WORDS, parties=parties)) or texts[0][:60]

    def _regroup(self, theme: int, members: Sequence[int], before: Mapping[int, Sequence[int]]) -> None:
        """A model's name holds as long as all that it was given for is in the theme."""
        old = before.get(theme, ())
        if members == old:
            return
        if not (self._names.get(theme, ("", ""))[1] and set(old) <= set(members)):
            self._unnamed.add(theme)
        for semantic in members:
            if self._theme[semantic] != theme:
                self._theme[semantic] = theme
                self._dirty_semantics.add(semantic)

    def _end(self, themes: AbstractSet[int]) -> None:
        self._gone[1].update(themes)
        for theme in themes:
            self._names.pop(theme, None)

    def _gridded(self) -> dense.PlainMatrix:
        if self._rows is None:
            self._rows = dense.PlainMatrix(self.state.dimension)
            if self.semantics:
                self._rows.extend(_on_grid(np.stack([self._vectors[number][0] for number in self.semantics])))
        return self._rows

    def _count(self, statements: Sequence[Statement], sign: int) -> None:
        self.statements += sign * len(statements)
        for statement in statements:
            for term in set(terms(statement.text)):
                self.df[term] += sign
                if not self.df[term]:
                    del self.df[term]


def _on_grid(vectors: Vectors) -> Vectors:
    """Unit rows (n, d), or zero ones, as whole numbers."""
    gridded: Vectors = np.rint(vectors * np.float32(_GRID))
    return gridded
