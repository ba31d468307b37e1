"""A user's semantics in memory while they are built (section 3.2), and forgetting in them.

Changes are collected, and `take` returns them as rows. The next step is a function of the rows alone: a
loaded structure goes on as the one that wrote them.

Forgetting a message unmakes its episode with all its statements; the episode's other messages are told anew
later. A later episode may have been distilled in view of the forgotten message, but its facts hold no word
that its own messages lack, and its narrative was written without it. So no word stays that
only the forgotten message had, and forgetting asks no model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.models.base import Vectors
from zibaldone.search import dense
from zibaldone.search.clustering import unit
from zibaldone.text.bounds import as_read
from zibaldone.text.words import terms
from zibaldone.views import units
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.guided import Guided, Themes
from zibaldone.views.hierarchy.nodes import MOST_KNOWN, Background, Distilled, Semantic, Statement
from zibaldone.views.hierarchy.table import SemanticRow, State, ThemeRow, Written
from zibaldone.views.hierarchy.themes import FETCH, common
from zibaldone.views.units import Key


@dataclass(frozen=True, slots=True)
class NewUnit:
    """A statement without a row yet; its vector is (d,)."""

    statement: Statement
    part: int
    vector: Vectors


class Structure:
    """Semantics of one generation of one user."""

    def __init__(self, state: State, config: XMemory) -> None:
        self.state = state
        self.semantics: dict[int, Semantic] = {}
        self.df: Counter[str] = Counter()  # statements by term
        self.statements = 0
        self.themes = Themes(config.guided, config.theme_cap, state.dimension) if config.guided else None
        self._vectors: dict[int, bytes] = {}  # of what each semantic is known by, as they are stored
        self._rows: dict[int, SemanticRow] = {}
        self._new: set[int] = set()
        self._gone: list[int] = []
        self._stored_themes: dict[int, tuple[ThemeRow, list[int]]] = {}  # with their semantics
        self._names: dict[int, ThemeRow] = {}  # that are not stored yet

    @staticmethod
    def load(connection: Connection, generation: Generation, state: State, config: XMemory) -> Structure:
        made = Structure(state, config)
        stated = table.statements(connection, generation)
        made._rows = table.semantics(connection, generation)
        for number, row in made._rows.items():
            made.semantics[number] = table.whole(row, stated)
            made._vectors[number] = stated[row.units[0]][1]
            made._count(made.semantics[number].statements, 1)
        named = table.themes(connection, generation)
        if made._rows and not named:  # made with other settings, and now something is forgotten
            made.themes = None
        elif made._rows:
            made.themes = Themes(config.guided or Guided(), config.theme_cap, state.dimension)
            of = {number: row.theme for number, row in made._rows.items()}
            vectors = dense.from_bytes(list(made._vectors.values()), state.dimension)
            made.themes.restore(of, dict(zip(of, vectors, strict=True)))
            made._stored_themes = {t: (named[t], members) for t, members in made.themes.members.items()}
        return made

    def background(self) -> Background:
        """Known semantics and term statistics that the next episode is read against."""
        return Background(
            self.state.next_episode, self.state.next_semantic, self.known, self.df, self.statements
        )

    def known(self, vector: Vectors) -> list[Semantic]:
        """Known semantics nearest to a text's vector (d,), above FETCH, nearest first."""
        if not self.semantics:
            return []
        ids = np.fromiter(self.semantics, np.int64, len(self.semantics))
        rows = dense.from_bytes(list(self._vectors.values()), self.state.dimension)
        shared = common(rows)
        near = (unit(rows - shared) @ unit(vector[None] - shared)[0]).round(4)
        best = np.lexsort((ids, -near))[:MOST_KNOWN]
        return [self.semantics[number] for number in ids[best[near[best] >= FETCH]].tolist()]

    def settle(self, distilled: Distilled, vectors: Sequence[Vectors]) -> list[NewUnit]:
        """Add the semantics of an episode; returns the units of their statements.

        `vectors`: (statements, d) of each new semantic.
        """
        new: list[NewUnit] = []
        for semantic, rows in zip(distilled.new, vectors, strict=True):
            made = [
                NewUnit(statement, self.state.next_unit + len(new) + place, row)
                for place, (statement, row) in enumerate(zip(semantic.statements, rows, strict=True))
            ]
            keys: tuple[Key, ...] = tuple((unit.statement.seq, unit.part) for unit in made)
            new += made
            self.semantics[semantic.id], self._vectors[semantic.id] = semantic, dense.to_bytes(rows[0])
            self._rows[semantic.id] = SemanticRow(semantic.id, semantic.episode, semantic.time, keys)
            self._new.add(semantic.id)
            self._count(semantic.statements, 1)
            if self.themes is not None:
                self.themes.add(semantic.id, rows[0])
        self.state = replace(
            self.state,
            next_episode=self.state.next_episode + 1,
            next_semantic=self.state.next_semantic + len(distilled.new),
            next_unit=self.state.next_unit + len(new),
        )
        return new

    def unsay(self, seqs: AbstractSet[int]) -> list[int]:
        """Remove the semantics that any of these messages states; returns their ids."""
        gone = [one for one in self.semantics.values() if not seqs.isdisjoint(one.seqs)] if seqs else []
        for semantic in gone:
            self._count(semantic.statements, -1)
            del self.semantics[semantic.id], self._vectors[semantic.id], self._rows[semantic.id]
            self._gone.append(semantic.id)
        if self.themes is not None:
            self.themes.remove({semantic.id for semantic in gone})
        return [semantic.id for semantic in gone]

    def unnamed(self) -> dict[int, list[str]]:
        """Texts of each guided theme that no model has named as it is now."""
        themes = self.themes.members if self.themes is not None else {}
        return {
            theme: [self.semantics[semantic].text for semantic in members]
            for theme, members in themes.items()
            if self._changed(theme) or not self._stored_themes[theme][0].made_by
        }

    def name(self, theme: int, name: str, made_by: str) -> None:
        self._names[theme] = ThemeRow(theme, name, made_by)

    def take(self) -> Written:
        """Changes since the last call."""
        if self.themes is None:
            written = Written(tuple(self._rows[number] for number in sorted(self._new)), tuple(self._gone))
        else:
            written = self._take_themed(self.themes)
        self._new, self._gone = set(), []
        return written

    def _take_themed(self, themes: Themes) -> Written:
        moved = {number for number, theme in themes.of.items() if self._rows[number].theme != theme}
        self._rows |= {number: replace(self._rows[number], theme=themes.of[number]) for number in moved}
        changed = {theme for theme in themes.members if self._changed(theme)} | self._names.keys()
        rows = {theme: self._names.get(theme, ThemeRow(theme)) for theme in sorted(changed)}
        gone = sorted(self._stored_themes.keys() - themes.members.keys())
        self._stored_themes = {
            theme: (rows.get(theme) or self._stored_themes[theme][0], members)
            for theme, members in themes.members.items()
        }
        self._names = {}
        semantics = tuple(self._rows[number] for number in sorted(moved | self._new))
        return Written(semantics, tuple(self._gone), tuple(rows.values()), tuple(gone))

    def _changed(self, theme: int) -> bool:
        """True if a guided theme has other semantics than are stored."""
        assert self.themes is not None
        stored = self._stored_themes.get(theme)
        return stored is None or stored[1] != self.themes.members[theme]

    def _count(self, statements: Sequence[Statement], sign: int) -> None:
        self.statements += sign * len(statements)
        for statement in statements:
            for term in set(terms(statement.text)):
                self.df[term] += sign
                if not self.df[term]:
                    del self.df[term]


OpenUnits = Callable[[Sequence[Message], int], list[units.Row]]


@dataclass(frozen=True, slots=True)
class Unmade:
    """Episodes of some messages, and the structure without their semantics; not stored yet."""

    episodes: Sequence[Key] = ()
    semantics: Sequence[int] = ()
    seqs: frozenset[int] = frozenset()  # of all messages of the episodes
    structure: Structure | None = None  # None where the messages are in no episode

    @property
    def counts(self) -> tuple[int, int]:
        """(episodes, semantics)."""
        return len(self.episodes), len(self.semantics)

    @staticmethod
    def of(connection: Connection, generation: Generation, seqs: Sequence[int], config: XMemory) -> Unmade:
        keys = units.made_from(connection, table.EPISODES, generation, seqs)
        state = table.state(connection, generation)
        if state is None or not keys:
            return Unmade()
        unsaid = frozenset(table.messages_of(connection, generation, keys))
        structure = Structure.load(connection, generation, state, config)
        return Unmade(keys, structure.unsay(unsaid), unsaid, structure)


def forget_messages(
    connection: Connection,
    generation: Generation,
    seqs: Sequence[int],
    config: XMemory,
    open_units: OpenUnits,
) -> Unmade:
    """Remove the messages from episodes and semantics; returns what was unmade.

    The episodes' other messages stay recallable: `open_units` makes rows of them, without vectors.
    """
    unmade = Unmade.of(connection, generation, seqs, config)
    gone = units.made_from(connection, table.NAME, generation, unmade.seqs | set(seqs))
    units.remove(connection, table.NAME, generation, gone)
    if unmade.structure is None:
        return unmade
    table.remove_episodes(connection, generation, unmade.episodes)
    table.write(connection, generation, unmade.structure.take())
    left = log.fetch(connection, generation.user, sorted(unmade.seqs - set(seqs)))
    rows = open_units([as_read(left[seq]) for seq in sorted(left)], unmade.structure.state.dimension)
    units.insert(connection, table.NAME, generation, rows)
    if rows or any(table.counts(connection, generation)):
        table.set_state(connection, generation, unmade.structure.state)
    else:
        table.drop(connection, generation)
    return unmade
