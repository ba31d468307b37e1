"""A user's semantics and themes in memory, as they are built (section 3.2).

Whatever changes is noted, and `take` hands it out as rows. What comes next is a function of the rows alone:
a structure that was loaded goes on as the one that wrote them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from zibaldone.models.base import Vectors
from zibaldone.search import dense
from zibaldone.storage.batches import in_chunks
from zibaldone.text.titles import telling
from zibaldone.text.words import terms, words
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.nodes import Semantic, Statement
from zibaldone.views.hierarchy.semantics import MOST_KNOWN, Background, Distilled, Near
from zibaldone.views.hierarchy.table import NO_THEME, Move, SemanticRow, State, ThemeRow, Written
from zibaldone.views.hierarchy.themes import Anchors, group, grouped_at
from zibaldone.views.units import Key

_NAME_WORDS = 4  # of a theme that no model has named
_GRIDDED_AT_ONCE = 4096  # semantics
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
        self._vectors: dict[int, bytes] = {}  # of its statements, as they are stored, by semantic
        self._units: dict[int, tuple[Key, ...]] = {}  # of its statements, by semantic
        self._theme: dict[int, int] = {}  # by semantic; NO_THEME until it is put into one
        self._members: dict[int, list[int]] = {}  # by theme, rising; a list that changes is a new one
        self._loose: list[int] = []  # semantics in no theme, rising
        self._anchors: tuple[list[int], Anchors] | None = None  # themes by their place; None: to be made
        self._names: dict[int, tuple[str, str]] = {}  # of themes, and by which model
        self._rows: dense.WholeMatrix | None = None  # of `semantics`, on the grid; None: to be made
        self._row_ids = array("q")  # of these rows
        self._dirty_semantics: set[int] = set()
        self._moved: dict[int, int] = {}  # semantics that are in another theme, and the one they were in
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
            number: b"".join(stated[key][1] for key in row.units) for number, row in rows.items()
        }
        themes = table.themes(connection, generation)
        made._names = {number: (row.name, row.made_by) for number, row in themes.items()}
        for semantic in made.semantics.values():
            made._count(semantic.statements, 1)
        for number, theme in made._theme.items():
            if theme == NO_THEME:
                made._loose.append(number)
            else:
                made._members.setdefault(theme, []).append(number)
        return made

    def background(self, threshold: float) -> Background:
        """What the next episode is read against: what is as similar as `threshold`, at least."""

        def known(vectors: Vectors) -> list[list[Near]]:
            return self.known(vectors, threshold)

        return Background(
            self.state.next_episode,
            self.state.next_semantic,
            known,
            self.df,
            self.statements,
        )

    def known(self, vectors: Vectors, threshold: float) -> list[list[Near]]:
        """For each row of (n, d), the nearest semantics of this similarity at least, nearest first.

        Two similarities may not differ by how many were compared at once. So vectors are put on a grid of
        whole numbers, whose products and partial sums are whole numbers below 2^24: float32 holds them
        without rounding, whatever the order of the sum. A similarity is off by about 0.0001.
        """
        ids = self._gridded_ids()
        similar = self._gridded().products_of_each(_on_grid(vectors)).astype(np.float64) / _GRID**2
        nearest: list[list[Near]] = []
        for column in similar.T:
            near = np.flatnonzero(column >= threshold)
            near = near[np.lexsort((ids[near], -column[near]))][:MOST_KNOWN]
            nearest.append([Near(self.semantics[int(ids[i])], float(column[i])) for i in near])
        return nearest

    def settle(self, distilled: Distilled, vectors: Sequence[Vectors]) -> list[NewUnit]:
        """Take in what an episode adds; gives the units that its statements are to be.

        `vectors`: (statements, d) of each new semantic.
        """
        new: list[NewUnit] = []

        def unit_of(statement: Statement, vector: Vectors) -> Key:
            new.append(NewUnit(statement, self.state.next_unit + len(new), vector))
            return statement.seq, new[-1].part

        for semantic, rows in zip(distilled.new, vectors, strict=True):
            self.semantics[semantic.id], self._vectors[semantic.id] = semantic, dense.to_bytes(rows)
            pairs = zip(semantic.statements, rows, strict=True)
            self._units[semantic.id] = tuple(unit_of(statement, row) for statement, row in pairs)
            self._theme[semantic.id] = NO_THEME
            self._loose.append(semantic.id)
            self._count(semantic.statements, 1)
            self._dirty_semantics.add(semantic.id)
            if self._rows is not None:
                self._rows.extend(_on_grid(rows[:1]))
                self._row_ids.append(semantic.id)
        self.state = replace(
            self.state,
            next_episode=self.state.next_episode + 1,
            next_semantic=self.state.next_semantic + len(distilled.new),
            next_unit=self.state.next_unit + len(new),
        )
        return new

    def unsay(self, seqs: AbstractSet[int]) -> list[int]:
        """Take out what these messages state, all of their episodes; the semantics that go.

        Themes lose what goes and a name that may be of it, and are to be made anew.
        """
        gone = [one for one in self.semantics.values() if not seqs.isdisjoint(one.seqs)] if seqs else []
        for semantic in gone:
            self._count(semantic.statements, -1)
            self._unnamed.add(self._theme[semantic.id])
            self._lose(semantic.id)
        if gone:
            self.state, self._rows, self._anchors = replace(self.state, grouped=0), None, None
        return [semantic.id for semantic in gone]

    def _lose(self, semantic: int) -> None:
        del self.semantics[semantic], self._vectors[semantic], self._units[semantic]
        self._gone[0].add(semantic)
        self._moved.pop(semantic, None)
        theme = self._theme.pop(semantic)
        if theme == NO_THEME:
            self._loose.remove(semantic)
            return
        self._members[theme] = [one for one in self._members[theme] if one != semantic]
        if not self._members[theme]:
            del self._members[theme]
            self._end({theme})

    def themes(self) -> dict[int, list[int]]:
        """The semantics of each theme, ids rising; a theme's id is that of its first when it was made."""
        return {theme: [*self._members[theme]] for theme in sorted(self._members)}

    def arrange(self, cap: int, least: float) -> None:
        """Put semantics into themes: those that have none, or all of them when it is time for that."""
        at = grouped_at(len(self.semantics))
        anew = (at, cap) != (self.state.grouped, self.state.theme_cap)
        if not self.semantics or not (anew or self._loose):
            return
        changed: dict[int, list[int]] = {}
        if anew:
            ids = sorted(self.semantics)
            for members in group(self._firsts(ids[:at]), cap, least):
                changed[ids[members[0]]] = [ids[place] for place in members]
            self._anchors, self._loose = self._anchored(changed), ids[at:]
        elif self._anchors is None:
            self._anchors = self._anchored(self._members)
        themes, anchors = self._anchors
        for semantic, place in zip(
            self._loose, anchors.join(self._firsts(self._loose), cap, least), strict=True
        ):
            theme = themes[place] if place >= 0 else semantic
            held = changed.get(theme) or ([] if anew else self._members.get(theme, []))
            changed[theme] = [*held, semantic]
        for theme, members in changed.items():
            self._regroup(theme, members)
        if anew:
            self._end(self._members.keys() - changed.keys())
            self._members = changed
        else:
            self._members.update(changed)
        self._loose = []
        self.state = replace(self.state, grouped=at, theme_cap=cap)

    def _anchored(self, members: Mapping[int, Sequence[int]]) -> tuple[list[int], Anchors]:
        """What of these themes was grouped as a whole, for those that join: themes by place, and means."""
        at = grouped_at(len(self.semantics))
        beyond = next(islice(self.semantics, at, None), self.state.next_semantic)  # ids rise
        themes = sorted(theme for theme in members if theme < beyond)
        means = np.zeros((len(themes), self.state.dimension), dtype=np.float32)
        for place, theme in enumerate(themes):
            means[place] = self._firsts([one for one in members[theme] if one < beyond]).mean(axis=0)
        return themes, Anchors(means, [len(members[theme]) for theme in themes])

    def name(self, theme: int, name: str, made_by: str) -> None:
        """What a model calls a theme."""
        self._names[theme] = (name, made_by)
        self._dirty_themes.add(theme)
        self._unnamed.discard(theme)

    def vector(self, semantic: int) -> Vectors:
        """(d,) of what it is known by."""
        return np.asarray(self._firsts([semantic])[0])

    def unnamed(self) -> dict[int, list[str]]:
        """What themes say whose name is no model's, or of other semantics than those they have."""
        return {
            theme: [self.semantics[number].text for number in members]
            for theme, members in sorted(self._members.items())
            if theme in self._unnamed or not self._names.get(theme, ("", ""))[1]
        }

    def take(self) -> Written:
        """What has changed since the last call."""
        held = self._members
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
            tuple(sorted(self._gone[1] - held.keys())),
            tuple(
                Move(number, self._theme[number], self._moved[number])
                for number in sorted(self._moved, key=lambda one: (self._theme[one], one))
                if number not in self._dirty_semantics
            ),
        )
        self._dirty_semantics, self._dirty_themes, self._unnamed = set(), set(), set()
        self._gone, self._moved = (set(), set()), {}
        return written

    def _plain_name(self, members: Sequence[int]) -> str:
        """What these semantics speak of most, without the names of those who say so."""
        texts = [self.semantics[number].text for number in members]
        speakers = {said.speaker for number in members for said in self.semantics[number].statements}
        parties = frozenset(word for speaker in speakers for word in words(speaker))
        return ", ".join(telling(texts, _NAME_WORDS, parties=parties)) or texts[0][:60]

    def _regroup(self, theme: int, members: Sequence[int]) -> None:
        """A model's name holds as long as all that it was given for is in the theme."""
        old = self._members.get(theme, ())
        if members == old:
            return
        if not (self._names.get(theme, ("", ""))[1] and set(old) <= set(members)):
            self._unnamed.add(theme)
        for semantic in members:
            if self._theme[semantic] != theme:
                self._moved.setdefault(semantic, self._theme[semantic])
                self._theme[semantic] = theme

    def _end(self, themes: AbstractSet[int]) -> None:
        self._gone[1].update(themes)
        for theme in themes:
            self._names.pop(theme, None)

    def _firsts(self, semantics: Sequence[int]) -> Vectors:
        """(n, d) of what they are known by."""
        length = self.state.dimension * dense.BYTES
        return dense.from_bytes([self._vectors[one][:length] for one in semantics], self.state.dimension)

    def _gridded(self) -> dense.WholeMatrix:
        if self._rows is None:
            self._rows, self._row_ids = dense.WholeMatrix(self.state.dimension), array("q", self.semantics)
            for some in in_chunks(list(self.semantics), _GRIDDED_AT_ONCE):
                self._rows.extend(_on_grid(self._firsts(some)))
        return self._rows

    def _gridded_ids(self) -> npt.NDArray[np.int64]:
        """(n,) the semantics of its rows, rising; not to be kept."""
        self._gridded()
        return np.frombuffer(self._row_ids, np.int64)

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
