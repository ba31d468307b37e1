"""A user's semantics in memory while they are built (section 3.2), and forgetting in their rows.

`take` returns collected changes as rows; the next step is a function of the rows alone.

Forgetting a message unmakes its episode with all its statements; the episode's other messages are told anew
later. A later episode may have been distilled in view of it, but has no word that its own messages lack. So
no word stays that only the forgotten message had, and forgetting asks no model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.models.base import Tokenizer, Vectors
from zibaldone.search import dense
from zibaldone.search.clustering import unit
from zibaldone.text.bounds import as_read
from zibaldone.text.words import terms
from zibaldone.views import units
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.guided import Guided, GuidedThemes
from zibaldone.views.hierarchy.nodes import Semantic, Statement
from zibaldone.views.hierarchy.table import SemanticRow, State, ThemeRow, Written
from zibaldone.views.hierarchy.themes import FETCH, common
from zibaldone.views.toolkit import cut, days_named, texts_of, to_rows
from zibaldone.views.units import Key

_MOST_KNOWN = 10  # semantics that an episode is held against


class Structure:
    """Semantics of one generation of one user."""

    def __init__(self, state: State, config: XMemory) -> None:
        self.state = state
        self.semantics: dict[int, Semantic] = {}
        self.df: Counter[str] = Counter()  # statements by term
        self.statements = 0
        self.is_guided = config.guided is not None
        self.themes = GuidedThemes(config.guided or Guided(), config.theme_cap, state.dimension)  # if it is
        self._vectors: dict[int, bytes] = {}  # of what each semantic is known by, as they are stored
        self._rows: dict[int, SemanticRow] = {}
        self._new: set[int] = set()
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
            made._count(made.semantics[number].statements)
        named = table.themes(connection, generation)
        if made.is_guided:
            of = {number: row.theme for number, row in made._rows.items()}
            vectors = dense.from_bytes(list(made._vectors.values()), state.dimension)
            made.themes.restore(of, dict(zip(of, vectors, strict=True)))
            made._stored_themes = {t: (named[t], members) for t, members in made.themes.members.items()}
        return made

    def nearest(self, vector: Vectors) -> list[Semantic]:
        """Known semantics nearest to a text's vector (d,), above FETCH, nearest first."""
        if not self.semantics:
            return []
        ids = np.fromiter(self.semantics, np.int64, len(self.semantics))
        rows = dense.from_bytes(list(self._vectors.values()), self.state.dimension)
        shared = common(rows)
        near = (unit(rows - shared) @ unit(vector[None] - shared)[0]).round(4)
        best = np.lexsort((ids, -near))[:_MOST_KNOWN]
        return [self.semantics[number] for number in ids[best[near[best] >= FETCH]].tolist()]

    def settle(
        self, semantics: Sequence[Semantic], vectors: Vectors, messages: Mapping[int, Message]
    ) -> list[units.Row]:
        """Add the semantics of an episode; returns the units of their statements.

        `vectors`: (n, d) of all their statements; `messages` by seq.
        """
        new: list[units.Row] = []
        for semantic in semantics:
            first = vectors[len(new)]
            keys: list[Key] = []
            for statement in semantic.statements:
                keys.append((statement.seq, self.state.next_unit + len(new)))
                days = days_named(messages[statement.seq], statement.text)
                span = statement.start, statement.start + len(statement.verbatim)
                # No tokens: they are counted when it is offered.
                made = (statement.seq,), keys[-1][1], "statement", 0, vectors[len(new)]
                new.append(units.Row(*made, days, *span, statement.text))
            self.semantics[semantic.id], self._vectors[semantic.id] = semantic, dense.to_bytes(first)
            self._rows[semantic.id] = SemanticRow(semantic.id, semantic.episode, semantic.time, tuple(keys))
            self._new.add(semantic.id)
            self._count(semantic.statements)
            if self.is_guided:
                self.themes.add(semantic.id, first)
        self.state = replace(
            self.state,
            next_episode=self.state.next_episode + 1,
            next_semantic=self.state.next_semantic + len(semantics),
            next_unit=self.state.next_unit + len(new),
        )
        return new

    def unnamed(self) -> dict[int, list[str]]:
        """Texts of each guided theme that no model has named as it is now."""
        return {
            theme: [self.semantics[semantic].text for semantic in members]
            for theme, members in self.themes.members.items()
            if self._changed(theme) or not self._stored_themes[theme][0].made_by
        }

    def name(self, theme: int, name: str, made_by: str) -> None:
        self._names[theme] = ThemeRow(theme, name, made_by)

    def take(self) -> Written:
        """Changes since the last call."""
        of, themes = self.themes.of, self.themes.members
        moved = {number for number, theme in of.items() if self._rows[number].theme != theme}
        self._rows |= {number: replace(self._rows[number], theme=of[number]) for number in moved}
        changed = {theme for theme in themes if self._changed(theme)} | self._names.keys()
        rows = {theme: self._names.get(theme, ThemeRow(theme)) for theme in sorted(changed)}
        gone = sorted(self._stored_themes.keys() - themes.keys())
        self._stored_themes = {
            theme: (rows.get(theme) or self._stored_themes[theme][0], members)
            for theme, members in themes.items()
        }
        semantics = tuple(self._rows[number] for number in sorted(moved | self._new))
        self._names, self._new = {}, set()
        return Written(semantics, tuple(rows.values()), tuple(gone))

    def _changed(self, theme: int) -> bool:
        """True if a guided theme has other semantics than are stored."""
        stored = self._stored_themes.get(theme)
        return stored is None or stored[1] != self.themes.members[theme]

    def _count(self, statements: Sequence[Statement]) -> None:
        self.statements += len(statements)
        for statement in statements:
            self.df.update(set(terms(statement.text)))


def open_units(
    messages: Sequence[Message], tokenizer: Tokenizer, embed: Callable[[Sequence[str]], Vectors]
) -> list[units.Row]:
    """Unit rows of messages without an episode, cut as in the messages view."""
    cuts = cut(messages, tokenizer)
    return list(to_rows([message.seq for message in messages], cuts, embed(texts_of(messages, cuts))))


def unmade_by(
    connection: Connection, generation: Generation, seqs: Sequence[int]
) -> tuple[list[Key], list[int]]:
    """(keys of the episodes that have these messages, ids of the semantics of these episodes)."""
    keys = units.made_from(connection, table.EPISODES, generation, seqs)
    return keys, table.semantics_of(connection, generation, [number for _, number in keys])


def forget_messages(
    connection: Connection, generation: Generation, seqs: Sequence[int], tokenizer: Tokenizer
) -> tuple[int, int]:
    """Remove the messages from episodes and semantics; returns how many (episodes, semantics) went.

    The episodes' other messages stay recallable: as units without vectors, so that no embedder is asked.
    """
    keys, gone = unmade_by(connection, generation, seqs)
    unsaid = table.messages_of(connection, generation, keys)
    stated = units.made_from(connection, table.NAME, generation, unsaid | set(seqs))
    units.remove(connection, table.NAME, generation, stated)
    state = table.state(connection, generation)
    if state is None or not keys:
        return 0, 0
    table.remove_episodes(connection, generation, keys)
    table.remove_semantics(connection, generation, gone)
    left = log.fetch(connection, generation.user, sorted(unsaid - set(seqs)))
    width = state.dimension
    rows = open_units(
        [as_read(left[seq]) for seq in sorted(left)],
        tokenizer,
        lambda texts: np.zeros((len(texts), width), dtype=np.float32),
    )
    units.insert(connection, table.NAME, generation, rows)
    if not rows and not any(table.counts(connection, generation)):
        table.drop(connection, generation)
    return len(keys), len(gone)
