"""Scores of a user's nodes for a question, and the levels of the hierarchy that recall keeps in memory.

Every closed episode raises the ids that are given next, and every forgetting the user's counter of deletions:
levels are read again when any of these has changed. Messages that join an open episode change neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import ChannelScore
from zibaldone.search.lexical import Doubles, Ints
from zibaldone.search.question import Mask, Question
from zibaldone.search.ranker import Explanation, TalkWeights, Weights, score, standardised
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.words import terms, words
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.table import SemanticRow, State, ThemeRow
from zibaldone.views.units import Key
from zibaldone.views.user_cache import UserCache

Mark = tuple[int, int, State | None]  # generation, deletions, ids given next: equal marks mean equal rows


@dataclass(frozen=True, slots=True)
class Levels:
    """Semantics of a generation; immutable.

    Rows of arrays are as those of `semantics`. The texts are units, in the units' own cache.
    """

    mark: Mark | None
    semantics: tuple[SemanticRow, ...]  # ids rising
    by_model: frozenset[int]  # episodes that a model told
    ids: Ints  # (n,)
    row_of: Mapping[int, int]  # by semantic
    row_with: Mapping[Key, int]  # by unit of a statement
    themes: Ints  # (n,) guided ones
    names: Mapping[int, str]  # of guided themes that a model has named

    @staticmethod
    def of(
        mark: Mark | None = None,
        semantics: Mapping[int, SemanticRow] = MappingProxyType({}),
        by_model: frozenset[int] = frozenset(),
        themes: Mapping[int, ThemeRow] = MappingProxyType({}),
    ) -> Levels:
        """Build from rows, ids rising; by default those of a user without any episode."""
        rows = tuple(semantics.values())
        ids = np.array([row.id for row in rows], dtype=np.int64)
        of = np.array([row.theme for row in rows], dtype=np.int64)
        row_of = {row.id: place for place, row in enumerate(rows)}
        row_with = {key: place for place, row in enumerate(rows) for key in row.units}
        names = {number: row.name for number, row in themes.items() if row.made_by}
        return Levels(mark, rows, by_model, ids, row_of, row_with, of, names)


def levels_of(cache: UserCache[Levels], connection: Connection, generation: Generation) -> Levels:
    """Levels as of the connection's snapshot."""
    counters = log.state(connection, generation.user)
    mark = generation.number, counters.deletions, table.state(connection, generation)
    before = cache.get(generation.user)
    if before is not None and before.mark == mark:
        return before
    semantics = table.semantics(connection, generation)
    by_model, themes = table.told_by_model(connection, generation), table.themes(connection, generation)
    levels = Levels.of(mark, semantics, by_model, themes)
    cache.put(generation.user, levels, counters)
    return levels


# Episodes stand for themselves: no window, no speaker, no form of a turn.
EPISODE_WEIGHTS = TalkWeights.alike(Weights(lexical=0.3, dense=1.0))


@dataclass(frozen=True, slots=True)
class Standing:
    """A question's scores, in standard deviations or as cosines; later changes of indexes don't matter."""

    levels: Levels
    units: tuple[Unit, ...]  # statements, and messages that no episode has
    total: Doubles  # (u,)
    inside: Mask  # (u,) what may be recalled
    semantic_at: Ints  # (u,) rows of Levels; -1 for a message
    best_unit: Ints  # (n,) by rows of Levels, the unit that speaks most for a semantic; -1 for none inside
    episodes: tuple[Unit, ...]
    episode_total: Doubles  # (m,)
    episode_inside: Mask  # (m,) what may be recalled
    confidence: float  # the ranker's
    statement_explanation: Explanation
    episode_explanation: Explanation

    @staticmethod
    def of(
        levels: Levels,
        index: UnitIndex,
        episode_index: UnitIndex,
        question: Question,
        *,
        by_cosine: bool = False,
    ) -> Standing:
        """Score all of both indexes; what the question may not recall is outside.

        `by_cosine`: as in the paper, with no word, speaker or neighbour counted.
        """
        units, episodes = tuple(index.units), tuple(episode_index.units)
        inside, episode_inside = _recallable(question, index), _recallable(question, episode_index)
        scores = score(index, question, inside=inside)
        episode_total, episode_explanation = np.zeros(0), Explanation.of_nothing()
        if episodes:
            of_episodes = score(episode_index, question, EPISODE_WEIGHTS)
            episode_total = standardised(of_episodes.total.astype(np.float64))
            episode_explanation = Explanation.of(episode_index, of_episodes)
        semantic_at = np.array([levels.row_with.get(unit.key, -1) for unit in units], dtype=np.int64)
        stated = np.flatnonzero(semantic_at >= 0)
        total = standardised(scores.total.astype(np.float64))
        # A statement that these levels do not know is of a snapshot that is newer than theirs.
        inside &= (semantic_at >= 0) | np.array([unit.kind != "statement" for unit in units], dtype=np.bool_)
        best_unit = np.full(len(levels.semantics), -1, dtype=np.int64)
        if by_cosine:
            query = (
                np.zeros(index.vectors.dimension, dtype=np.float32)
                if question.vector is None
                else question.vector
            )
            total, episode_total = (
                one.vectors.products(query).astype(np.float64).round(6) for one in (index, episode_index)
            )
        falling = stated[np.argsort(total[stated], kind="stable")]
        falling = falling[inside[falling]]
        best_unit[semantic_at[falling]] = falling  # the last one put, and so the greatest, stays
        explanation = Explanation.of(index, replace(scores, total=total.astype(np.float32)))
        of_statements = units, total, inside, semantic_at, best_unit
        of_narratives = episodes, episode_total, episode_inside
        explanations = explanation, episode_explanation
        return Standing(levels, *of_statements, *of_narratives, scores.confidence, *explanations)

    def stated_in(self, semantic: int) -> list[int]:
        """The units of a semantic's statements that may be recalled, in their order."""
        place = self.levels.row_of[semantic]
        rows = np.flatnonzero((self.semantic_at == place) & self.inside).tolist()
        order = {key: nth for nth, key in enumerate(self.levels.semantics[place].units)}
        return sorted(rows, key=lambda row: order[self.units[row].key])

    def text(self, semantic: int) -> str:
        """The first of its statements that may be recalled."""
        return self.units[self.stated_in(semantic)[0]].text

    def value(self, semantic: int) -> float:
        """The score of the unit that speaks most for it."""
        return float(self.total[self.best_unit[self.levels.row_of[semantic]]])

    def explain(self, seq: int) -> tuple[ChannelScore, ...] | None:
        """Channels of a message: those of its best statement, or else of its episode."""
        return self.statement_explanation(seq) or self.episode_explanation(seq)


def _recallable(question: Question, index: UnitIndex) -> Mask:
    inside = question.recallable(index)
    return np.ones(len(index), dtype=np.bool_) if inside is None else inside


def plain_terms(text: str, speakers: Sequence[str]) -> list[str]:
    """Terms of a text without the speakers' names, which are in every other text."""
    names = {word for speaker in speakers for word in words(speaker)}
    return terms(" ".join(word for word in words(text) if word not in names))
