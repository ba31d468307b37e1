"""Retrieval from the top down (section 3.3): semantics by Stage I, episodes by Stage II, and what is new.

A fact is offered as the message that states it: torn out of it, it holds half as much of what is asked for
(docs/log.md). A fact that a model wrote stands for itself, and so does an episode that a model told, unless
Stage II opens it. What Stage II admits replaces the facts that were drawn from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.core import ChannelScore, Evidence, Message
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.models.logprobs import Drafter
from zibaldone.rendering import line
from zibaldone.views.base import Query, Retrieved
from zibaldone.views.hierarchy.cache import Shown
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.evidence import Gatherer, Key, Unit, said_in
from zibaldone.views.hierarchy.lexicon import plain_terms
from zibaldone.views.hierarchy.query import Asked, Scores, score, take_apart
from zibaldone.views.hierarchy.stage_one import Pick, normalised, select
from zibaldone.views.hierarchy.stage_two import Inclusion, Ranked, Text, candidates, include
from zibaldone.views.hierarchy.uncertainty import CoverageSignal, ReaderSignal, Signal, wanted_terms
from zibaldone.views.hierarchy.units import NAME, Fetch

__all__ = ["NAME", "offer", "offer_from"]

MakeSignal = Callable[[CoverageSignal], Signal]


def offer(
    shown: Shown | None,
    tail: Sequence[Message],
    query: Query,
    fetch: Fetch,
    *,
    embedder: Embedder,
    tokenizer: Tokenizer,
    config: XMemory,
    drafter: Drafter | None = None,
) -> Retrieved:
    """`shown` is the user's, or None before anything was made; `tail` has the messages without an episode.

    `tail` is of the session that the query asks for.
    """
    user = query.scope.user

    def signal(offline: CoverageSignal) -> Signal:
        return offline if drafter is None else ReaderSignal(drafter, offline, tokenizer, user)

    return offer_from(
        shown or Shown.nothing(embedder.dimension),
        tail,
        query,
        fetch,
        embedder=embedder,
        tokenizer=tokenizer,
        config=config,
        signal=signal,
    )


def offer_from(
    shown: Shown,
    tail: Sequence[Message],
    query: Query,
    fetch: Fetch,
    *,
    embedder: Embedder,
    tokenizer: Tokenizer,
    config: XMemory,
    signal: MakeSignal = lambda offline: offline,
) -> Retrieved:
    """As `offer`; `fetch` gives the messages of seqs, `signal` may put a reader before the offline signal."""
    asked = take_apart(query, shown, tail)
    scores = score(asked, shown, tail, query.scope.session, embedder)
    reading = _Reading(shown, tail, query, asked, scores, fetch, tokenizer, config)
    picks, themes = reading.stage_one()
    ranked = reading.candidates(picks)
    found: Inclusion | None = None
    if config.include:
        opening = reading.opening(picks, themes)
        found = reading.stage_two(picks, ranked, opening, signal)
    offered = reading.offered(picks, ranked, found)
    notes = [scores.note, found.degraded if found else ""]
    return Retrieved(
        offered,
        len(scores.total),
        scores.relevance,
        reading.explanation(),
        "; ".join(note for note in notes if note),
        model_calls=len(found.probes) if found else 0,
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """One question's way from the themes down to the messages."""

    shown: Shown
    tail: Sequence[Message]
    query: Query
    asked: Asked
    scores: Scores
    fetch: Fetch
    tokenizer: Tokenizer
    config: XMemory

    def stage_one(self) -> tuple[tuple[Pick, ...], tuple[int, ...]]:
        """The semantics, and the themes that they were found in."""
        shown, stage = self.shown, self.config.stage_one
        rows = np.flatnonzero(self.scores.inside[: len(shown.semantics)])
        ids, relevance = shown.ids[rows], self.scores.total[rows]
        if self.config.select:
            found = select(
                ids, relevance, shown.theme_of[rows], self._semantic_edges, self._theme_edges, stage
            )
            return found.semantics, tuple(pick.id for pick in found.themes)
        best = np.lexsort((ids, -relevance))[: stage.semantics]
        similar = normalised(relevance[best])
        picks = tuple(
            Pick(int(ids[row]), float(s), 0.0, float(s), ()) for row, s in zip(best, similar, strict=True)
        )
        return picks, tuple(dict.fromkeys(int(one) for one in shown.theme_of[rows[best]]))

    def candidates(self, picks: Sequence[Pick]) -> tuple[Ranked, ...]:
        """Stage II's, best first."""
        shown, session = self.shown, self.query.scope.session
        here = [
            row for row, one in enumerate(shown.episodes) if session is None or one.episode.session == session
        ]
        inside = {int(one) for one in shown.episode_ids[here]}
        source = {pick.id: int(shown.episode_of[shown.semantic_row[pick.id]]) for pick in picks}
        supporting = [pick for pick in picks if source[pick.id] in inside]
        return candidates(
            shown.episode_ids[here],
            self.scores.episodes[here],
            supporting,
            source,
            self.config.stage_two,
        )

    def opening(self, picks: Sequence[Pick], themes: Sequence[int]) -> tuple[str, ...]:
        """The coarse context: what a reader is told of the themes, and of their semantics.

        Where a session is asked for, what it says itself; a theme's name may be of what others say.
        """
        names = [self.shown.themes[one].name for one in themes if one in self.shown.themes]
        if self.query.scope.session is not None:
            names = []
        facts = [self._text(pick) for pick in picks]
        return tuple("\n".join(some) for some in (names, facts) if some)

    def stage_two(
        self,
        picks: Sequence[Pick],
        ranked: Sequence[Ranked],
        opening: Sequence[str],
        signal: MakeSignal,
    ) -> Inclusion:
        """Which episodes are worth their tokens."""
        names, lexicon = self.shown.lexicon.names, self.shown.lexicon
        told = [(plain_terms(self._text(pick), names), pick.relevance) for pick in picks]
        offline = CoverageSignal(wanted_terms(self.asked.terms, told, lexicon.idf))
        return include(
            self.query.text,
            opening,
            ranked,
            self._texts(ranked),
            signal(offline),
            self.query.budget_tokens,
            self.config.stage_two,
        )

    def offered(
        self, picks: Sequence[Pick], ranked: Sequence[Ranked], found: Inclusion | None
    ) -> tuple[Evidence, ...]:
        """Best first: facts and messages of what is admitted by their value, or sources behind all facts."""
        gather = Gatherer(self.shown, self.tail, self.query, self.scores, self.fetch, self.tokenizer)
        place_of = {one.episode: place for place, one in enumerate(ranked)}
        if found is not None:
            opened = {one.ranked.episode: one.expanded for one in found.decisions if one.admitted}
        else:
            opened = {one.episode: True for one in ranked if one.support > 0}
        units: dict[Key, Unit] = {}
        rows = [self.shown.semantic_row[pick.id] for pick in picks]
        if found is not None:
            rows = [row for row in rows if int(self.shown.episode_of[row]) not in opened]
        told = [row for row in rows if gather.by_model(row)]
        units |= {("semantic", row, 0): gather.fact(row) for row in told}
        units |= gather.sources([row for row in rows if row not in set(told)])
        units |= gather.newest(picks)
        tiers = dict.fromkeys(units, 0)
        best = max((one.score for one in ranked), default=0.0)
        for episode, expanded in opened.items():
            one = ranked[place_of[episode]]
            weight = one.score / best if best > 0 else 1.0
            more = gather.episode(one, weight, expanded=expanded)
            tiers |= dict.fromkeys(more.keys() - units.keys(), 0 if found else 1 + place_of[episode])
            units = more | units
        order = sorted(units, key=lambda key: (tiers[key], -round(units[key].value, 4), key))
        return gather.filled([units[key] for key in order])

    def explanation(self) -> Callable[[int], tuple[ChannelScore, ...] | None]:
        """Of a message: how the best fact that it states ranked, or else its episode."""
        shown, scores, n = self.shown, self.scores, len(self.shown.semantics)
        new = {message.seq: n + place for place, message in enumerate(self.tail)}

        def explain(seq: int) -> tuple[ChannelScore, ...] | None:
            rows = [*shown.semantics_with.get(seq, ()), *([new[seq]] if seq in new else [])]
            if rows:
                return min(scores.channels(rows), key=lambda channels: channels[0].rank)
            if seq not in shown.episode_with:
                return None
            mine = scores.episodes[shown.episode_with[seq]]
            return (ChannelScore("episode", 1 + int((scores.episodes > mine).sum()), round(float(mine), 6)),)

        return explain

    def _text(self, pick: Pick) -> str:
        """What the session says of a fact."""
        row = self.shown.semantic_row[pick.id]
        return said_in(self.shown, row, self.query.scope.session)[0].text

    def _semantic_edges(self, semantic: int) -> Iterable[tuple[int, float]]:
        near = self.shown.semantics[self.shown.semantic_row[semantic]].neighbours
        return zip(near.ids, near.similarities, strict=True)

    def _theme_edges(self, theme: int) -> Iterable[tuple[int, float]]:
        near = self.shown.themes[theme].neighbours
        return zip(near.ids, near.similarities, strict=True)

    def _texts(self, ranked: Sequence[Ranked]) -> dict[int, Text]:
        """What Stage II weighs: an episode told by no model is its messages already."""
        found: dict[int, Text] = {}
        rows = [self.shown.episode_row[one.episode] for one in ranked]
        episodes = [self.shown.episodes[row].episode for row in rows]
        counts = self.tokenizer.count([one.narrative for one in episodes]) if episodes else []
        for episode, tokens in zip(episodes, counts, strict=True):
            words = ""
            if episode.made_by:
                messages = self.fetch(episode.seqs)
                words = "\n".join(
                    line(messages[seq].speaker, messages[seq].content) for seq in sorted(messages)
                )
            more = self.tokenizer.count([words])[0] if words else 0
            found[episode.id] = Text(episode.narrative, tokens, words, more)
        return found
