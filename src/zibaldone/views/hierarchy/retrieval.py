"""Retrieval (section 3.3): themes and semantics by Stage I, episodes by Stage II, and what is new.

A fact is offered as the message that states it: torn out of it, it holds half as much of what is asked for
(docs/decisions.md). A fact that a model wrote stands for itself, and so does an episode that a model told,
unless Stage II opens it. What Stage II admits replaces the facts that were drawn from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.core import Message
from zibaldone.models.base import Tokenizer, Vectors
from zibaldone.search.clustering import unit
from zibaldone.search.lexical import Doubles, Ints
from zibaldone.search.question import Question
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.rendering import line
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.node_scores import Standing, plain_terms
from zibaldone.views.hierarchy.stage_one import Pick, knn, normalised, representatives
from zibaldone.views.hierarchy.stage_two import EpisodeText, Inclusion, RankedEpisode, candidates, include
from zibaldone.views.hierarchy.uncertainty import Signal, wanted_terms


@dataclass(frozen=True, slots=True)
class Descent:
    """One question's way from the semantics down to the messages: all that is read of the database for it."""

    question: Question
    config: XMemory
    standing: Standing
    picks: tuple[Pick, ...]  # semantics
    themes: tuple[str, ...]  # names of the guided themes that they were found in
    ranked: tuple[RankedEpisode, ...]  # candidate episodes
    wanted: Mapping[str, float]  # what is to be settled, see `wanted_terms`

    @staticmethod
    def of(question: Question, config: XMemory, standing: Standing, index: UnitIndex) -> Descent:
        """Stage I, and the candidates of Stage II; `index` has the units of `standing`."""
        picks, themes = _stage_one(standing, index.vectors.rows, question, config)
        # A theme's name may be of what may not be recalled.
        known = standing.levels.names if standing.inside.all() else {}
        names = [known[theme] for theme in themes if theme in known]
        ranked = _candidates(standing, picks, config)
        speakers = sorted({unit.speaker for unit in standing.units})
        stated = [(plain_terms(standing.text(pick.id), speakers), pick.relevance) for pick in picks]
        wanted = wanted_terms([term for _, term in question.terms], stated, index.lexical.idf)
        return Descent(question, config, standing, picks, tuple(names), ranked, wanted)

    def seqs(self) -> list[int]:
        """The messages that may be offered."""
        rows = [row for pick in self.picks for row in self.standing.stated_in(pick.id)]
        episodes = {one.episode for one in self.ranked}
        sources = [unit.sources for unit in self.standing.episodes if unit.part in episodes]
        return sorted({self.standing.units[row].seq for row in rows}.union(*sources))

    def stage_two(
        self, messages: Mapping[int, Message], signal: Signal, tokenizer: Tokenizer
    ) -> Inclusion | None:
        """Which episodes are worth their tokens; None where it is switched off. May ask a model."""
        if not self.config.include:
            return None
        facts = [self.standing.text(pick.id) for pick in self.picks]
        return include(
            self.question.text,
            tuple("\n".join(some) for some in (self.themes, facts) if some),
            self.ranked,
            self._episode_texts(messages, tokenizer),
            signal,
            self.question.budget_tokens,
            self.config.stage_two,
        )

    def _episode_texts(self, messages: Mapping[int, Message], tokenizer: Tokenizer) -> dict[int, EpisodeText]:
        """The candidates of Stage II: an episode told by no model is its messages already."""
        episode_units = {unit.part: unit for unit in self.standing.episodes}
        episodes = [episode_units[one.episode] for one in self.ranked]
        narratives = [unit.text.partition("\n")[2] for unit in episodes]
        lines = {seq: line(message.speaker, message.content) for seq, message in messages.items()}
        by_model = self.standing.levels.by_model
        by_words = [
            "\n".join(lines[seq] for seq in unit.sources if seq in lines and unit.part in by_model)
            for unit in episodes
        ]
        counts = tokenizer.count([*narratives, *by_words]) if episodes else []
        n = len(episodes)
        return {
            unit.part: EpisodeText(narratives[i], counts[i], by_words[i], counts[n + i] if by_words[i] else 0)
            for i, unit in enumerate(episodes)
        }


def _stage_one(
    standing: Standing, vectors: Vectors, question: Question, config: XMemory
) -> tuple[tuple[Pick, ...], tuple[int, ...]]:
    """(semantics, guided themes): S_q, Eq. 4; if guided, first on T_q. `vectors` (u, d): the units'."""
    stage, levels = config.stage_one, standing.levels
    rows = np.flatnonzero(standing.best_unit >= 0)
    ids, relevance = levels.ids[rows], standing.total[standing.best_unit[rows]]
    most = stage.pool if config.select else stage.semantics
    nearest = np.lexsort((ids, -relevance))[:most]  # of equals the lowest id
    if not config.select:
        relevances = normalised(relevance[nearest]).tolist()
        return tuple(map(Pick, ids[nearest].tolist(), relevances)), ()
    own = vectors[standing.best_unit[rows]].astype(np.float64)
    nodes, themes = nearest, tuple[int, ...]()
    if config.guided and len(nearest):
        nodes = np.arange(len(rows))
        of = levels.themes[rows]
        themes = _themes(own, of, np.unique(of[nearest]), question, config)
        nearest = nearest[np.isin(of[nearest], themes)]
    cosines = (own[nearest] @ own[nodes].T).round(6)
    places = nearest if config.guided else np.arange(len(nearest))
    weights = knn(cosines, places, stage.near)
    return representatives(ids[nearest], relevance[nearest], weights, stage.semantics, stage), themes


def _themes(
    semantics: Doubles, of: Ints, candidates: Ints, question: Question, config: XMemory
) -> tuple[int, ...]:
    """Representatives of the candidates T_q on the themes' kNN graph.

    `semantics` (n, d) are the vectors of all that may be recalled, `of` (n,) their themes.
    """
    ids, place = np.unique(of, return_inverse=True)
    sums = np.zeros((len(ids), semantics.shape[1]))
    np.add.at(sums, place, semantics)
    centroids, here = unit(sums), np.searchsorted(ids, candidates)
    weights = knn((centroids[here] @ centroids.T).round(6), here, config.stage_one.near)
    query = np.zeros(sums.shape[1]) if question.vector is None else question.vector
    relevance = (centroids[here] @ query).round(6)
    picks = representatives(candidates, relevance, weights, config.stage_one.themes, config.stage_one)
    return tuple(pick.id for pick in picks)


def _candidates(standing: Standing, picks: Sequence[Pick], config: XMemory) -> tuple[RankedEpisode, ...]:
    here = np.flatnonzero(standing.episode_inside)
    ids = np.array([standing.episodes[place].part for place in here], dtype=np.int64)
    levels = standing.levels
    source = {pick.id: levels.semantics[levels.row_of[pick.id]].episode for pick in picks}
    return candidates(ids, standing.episode_total[here], picks, source, config.stage_two)
